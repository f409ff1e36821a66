/** Apache with mod_auth_openidc, a certified relying party, as a process on a free port in a folder of its own. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from './ports.ts'
import { spawnScript } from './processes.ts'
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
  'auth_openidc',
]

export interface Apache {
  readonly url: string
  readonly errorLog: () => string
  readonly close: () => Promise<void>
}

/** `configure` gets the address that it will listen at, and gives the lines that are special to the test. */
export const startApache = async (
  configure: (url: string) => readonly string[],
): Promise<Apache> => {
  const program = pathOf('apache')
  const folderOfModules = dirname(pathOf('mod_auth_openidc'))
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
    'LogLevel warn auth_openidc:info',
    'ServerName 127.0.0.1',
    'User www-data',
    'Group www-data',
    `Listen 127.0.0.1:${port}`,
    ...modules.map((name) => `LoadModule ${name}_module ${folderOfModules}/mod_${name}.so`),
    ...configure(url),
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
  const answers = async (): Promise<boolean> => {
    try {
      await fetch(url, { redirect: 'manual' })
      return true
    } catch {
      return false
    }
  }
  while (!(await answers())) {
    if (apache.child.exitCode !== null)
      throw new Error(`Apache ended: ${apache.stderr()}${readLog()}`)
    await setTimeout(50)
  }
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
