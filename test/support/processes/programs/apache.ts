/** Apache with the module that a test is about, as a process on a free port in a folder of its own. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { freePort } from '../ports.ts'
import { spawnScript } from '../processes.ts'
import { untilAnswers } from './answers.ts'
import { pathOf } from './programs.ts'

const modules = [
  'mpm_event',
  'authn_core',
  'authz_core',
  'authz_user',
  'headers',
  'dir',
  'proxy',
  'proxy_http',
  'setenvif',
]

export interface Apache {
  readonly url: string
  readonly errorLog: () => string
  readonly close: () => Promise<void>
}

export interface ApacheOptions {
  /** The module of the test. */
  readonly module: 'mod_auth_openidc' | 'mod_auth_mellon' | 'mod_shib'
  /** Gets the address that Apache will listen at and a folder for files, and gives the lines that are special to the test. */
  readonly configure: (
    url: string,
    folder: string,
  ) => readonly string[] | Promise<readonly string[]>
}

/** mod_shib names itself after its file; the others leave the prefix out. */
const loadLine = (file: string): string => {
  const name = basename(file, '.so')
  return `LoadModule ${name === 'mod_shib' ? name : `${name.slice('mod_'.length)}_module`} ${file}`
}

export const startApache = async ({ module, configure }: ApacheOptions): Promise<Apache> => {
  const program = pathOf('apache')
  const own = pathOf(module)
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-apache-'))
  // Workers run as www-data where Apache is started by root.
  chmodSync(folder, 0o755)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const errorLog = join(folder, 'error.log')
  const lines = [
    `ServerRoot ${folder}`,
    `PidFile ${folder}/apache.pid`,
    `Mutex file:${folder} default`,
    `ErrorLog ${errorLog}`,
    'LogLevel warn',
    'ServerName 127.0.0.1',
    'User www-data',
    'Group www-data',
    `Listen 127.0.0.1:${port}`,
    ...modules.map((name) => loadLine(join(dirname(own), `mod_${name}.so`))),
    loadLine(own),
    ...(await configure(url, folder)),
    '',
  ]
  writeFileSync(join(folder, 'apache.conf'), lines.join('\n'))
  const apache = spawnScript('-DFOREGROUND', ['-f', join(folder, 'apache.conf')], {
    runtime: [program],
  })
  const readLog = (): string => {
    try {
      return readFileSync(errorLog, 'utf8')
    } catch {
      return ''
    }
  }
  await untilAnswers(url, apache, readLog)
  return {
    url,
    errorLog: readLog,
    close: async () => {
      apache.kill('SIGTERM')
      await apache.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
