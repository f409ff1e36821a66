/** SimpleSAMLphp behind PHP's own web server, in a folder of its own: what its two sides have in common. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { freePort } from '../ports.ts'
import { spawnScript } from '../processes.ts'
import { endGroup, untilAnswers } from './answers.ts'
import { pathOf } from './programs.ts'

export interface SimpleSamlPhpFolder {
  readonly url: string
  /** Writes a file below the folder, and returns its path. */
  readonly file: (name: string, text: string) => string
  /** Takes metadata of the other side through its own reader, as its module metarefresh does on schedule; PHP. */
  readonly converted: (metadata: string, role: 'IdP' | 'SP') => Promise<string>
  readonly start: () => Promise<{ readonly log: () => string; readonly close: () => Promise<void> }>
}

const configOf = (url: string, folder: string, more: string): string => `<?php
$config = [
  'baseurlpath' => '${url}/',
  'certdir' => '${folder}/cert/',
  'loggingdir' => '${folder}/log/',
  'datadir' => '${folder}/data/',
  'tempdir' => '${folder}/tmp/',
  'metadatadir' => '${folder}/metadata/',
  'secretsalt' => 'a salt of the tests',
  'auth.adminpassword' => 'a password of the tests',
  'logging.handler' => 'errorlog',
  'store.type' => 'sql',
  'store.sql.dsn' => 'sqlite:${folder}/data/store.sqlite',
  'session.cookie.secure' => false,
  'session.cookie.samesite' => null,
  'language.cookie.secure' => false,
  'language.cookie.samesite' => null,
  'trusted.url.domains' => ['${new URL(url).host}'],
  'enable.http_post' => true,
  'admin.checkforupdates' => false,
  ${more}
];
`

const converter = `<?php
require '/usr/share/simplesamlphp/lib/_autoload.php';
foreach (\\SimpleSAML\\Metadata\\SAMLParser::parseDescriptorsString(file_get_contents($argv[1])) as $id => $entity) {
  $metadata = $argv[2] === 'IdP' ? $entity->getMetadata20IdP() : $entity->getMetadata20SP();
  unset($metadata['entityDescriptor'], $metadata['expire']);
  echo '$metadata[', var_export($id, true), '] = ', var_export($metadata, true), ';';
}
`

export const openSimpleSamlPhp = async (
  host: '127.0.0.1' | 'localhost',
  config = '',
): Promise<SimpleSamlPhpFolder> => {
  const program = pathOf('php')
  const pages = dirname(pathOf('simplesamlphp'))
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-simplesamlphp-'))
  const port = await freePort()
  const url = `http://${host}:${port}`
  for (const name of ['config', 'cert', 'log', 'data', 'tmp', 'metadata', 'www', 'sessions'])
    mkdirSync(join(folder, name))
  for (const name of readdirSync(pages)) symlinkSync(join(pages, name), join(folder, 'www', name))
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  file('config/config.php', configOf(url, folder, config))
  const env = { SIMPLESAMLPHP_CONFIG_DIR: join(folder, 'config') }
  const runtime = [
    program,
    ...['-d', 'error_reporting=0', '-d', `session.save_path=${folder}/sessions`],
    // Its cache looks at a file every 2 s unless told: new metadata would not be read at once.
    ...['-d', 'opcache.revalidate_freq=0'],
  ] as const
  return {
    url,
    file,
    converted: async (metadata, role) => {
      const script = file('convert.php', converter)
      const converting = spawnScript(script, [file('other.xml', metadata), role], { runtime, env })
      await converting.exited
      return converting.stdout()
    },
    start: async () => {
      const server = spawnScript('-S', [`127.0.0.1:${port}`, '-t', join(folder, 'www')], {
        runtime,
        // A page of one request asks for another by SOAP.
        env: { ...env, PHP_CLI_SERVER_WORKERS: '3' },
      })
      await untilAnswers(`http://127.0.0.1:${port}`, server)
      return {
        log: server.stderr,
        close: async () => {
          await endGroup(server)
          rmSync(folder, { recursive: true, force: true })
        },
      }
    },
  }
}
