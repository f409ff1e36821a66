/** SimpleSAMLphp as a service provider, behind PHP's own web server, in a folder of its own. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { freePort } from '../ports.ts'
import { spawnScript } from '../processes.ts'
import { endGroup, untilAnswers } from './answers.ts'
import { pathOf } from './programs.ts'

export interface SimpleSamlPhp {
  readonly url: string
  readonly log: () => string
  /** What its module metarefresh does on schedule: takes metadata of the identity provider through its own reader. */
  readonly readMetadata: (metadata: string) => Promise<void>
  readonly close: () => Promise<void>
}

export interface SimpleSamlPhpOptions {
  /** Entity ID and metadata of the identity provider. */
  readonly issuer: string
  readonly metadata: string
  /** In PEM. */
  readonly privateKey: string
  readonly certificate: string
}

const configOf = (url: string, folder: string): string => `<?php
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
];
`

const post = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST'
const artifact = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact'

/** Two sources of one application: they differ in how they want the answer. */
const sourcesOf = (url: string, issuer: string): string => {
  const source = (name: string, binding: string): string => `
  '${name}' => [
    'saml:SP',
    'entityID' => '${url}/${name}',
    'idp' => '${issuer}',
    'privatekey' => 'sp.key',
    'certificate' => 'sp.crt',
    'sign.authnrequest' => true,
    'sign.logout' => true,
    'validate.logout' => true,
    'redirect.sign' => true,
    'redirect.validate' => true,
    'WantAssertionsSigned' => true,
    'assertion.encryption' => true,
    'signature.algorithm' => 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    'acs.Bindings' => ['${post}', '${artifact}'],
    'ProtocolBinding' => '${binding}',
  ],`
  return `<?php\n$config = [${source('by-post', post)}${source('by-artifact', artifact)}\n];\n`
}

/** The application: /app.php?as=SOURCE shows its user, `&logout` signs out at the identity provider too. */
const application = `<?php
require '/usr/share/simplesamlphp/lib/_autoload.php';
$source = new \\SimpleSAML\\Auth\\Simple($_GET['as']);
if (isset($_GET['logout'])) $source->logout('/bye.php');
$source->requireAuth();
$nameId = $source->getAuthData('saml:sp:NameID');
header('content-type: application/json');
echo json_encode([
  'nameId' => $nameId->getValue(),
  'format' => $nameId->getFormat(),
  'attributes' => $source->getAttributes(),
  'idp' => $source->getAuthData('saml:sp:IdP'),
]);
`

/** Its own reader turns our metadata into its configuration. */
const converter = `<?php
require '/usr/share/simplesamlphp/lib/_autoload.php';
foreach (\\SimpleSAML\\Metadata\\SAMLParser::parseDescriptorsString(file_get_contents($argv[1])) as $id => $entity) {
  $metadata = $entity->getMetadata20IdP();
  unset($metadata['entityDescriptor'], $metadata['expire']);
  echo '<?php $metadata[', var_export($id, true), '] = ', var_export($metadata, true), ';';
}
`

export const startSimpleSamlPhp = async (options: SimpleSamlPhpOptions): Promise<SimpleSamlPhp> => {
  const program = pathOf('php')
  const pages = dirname(pathOf('simplesamlphp'))
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-simplesamlphp-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  for (const name of ['config', 'cert', 'log', 'data', 'tmp', 'metadata', 'www', 'sessions'])
    mkdirSync(join(folder, name))
  for (const name of readdirSync(pages)) symlinkSync(join(pages, name), join(folder, 'www', name))
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  file('config/config.php', configOf(url, folder))
  file('config/authsources.php', sourcesOf(url, options.issuer))
  file('cert/sp.key', options.privateKey)
  file('cert/sp.crt', options.certificate)
  file('www/app.php', application)
  file('www/bye.php', 'signed out of the application')
  const env = { SIMPLESAMLPHP_CONFIG_DIR: join(folder, 'config') }
  const quiet = [
    ...['-d', 'error_reporting=0', '-d', `session.save_path=${folder}/sessions`],
    // Its cache looks at a file every 2 s unless told: new metadata would not be read at once.
    ...['-d', 'opcache.revalidate_freq=0'],
  ]
  const readMetadata = async (metadata: string): Promise<void> => {
    const converted = spawnScript(file('convert.php', converter), [file('idp.xml', metadata)], {
      runtime: [program, ...quiet],
      env,
    })
    await converted.exited
    file('metadata/saml20-idp-remote.php', converted.stdout())
  }
  await readMetadata(options.metadata)
  const server = spawnScript('-S', [`127.0.0.1:${port}`, '-t', join(folder, 'www')], {
    runtime: [program, ...quiet],
    // A page of one request asks for another by SOAP.
    env: { ...env, PHP_CLI_SERVER_WORKERS: '3' },
  })
  await untilAnswers(url, server)
  return {
    url,
    log: server.stderr,
    readMetadata,
    close: async () => {
      await endGroup(server)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
