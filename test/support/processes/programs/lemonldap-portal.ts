/** The portal of LemonLDAP::NG behind plackup, in a folder of its own, with the users of its demonstration. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../ports.ts'
import { type CliProcess, spawnScript } from '../processes.ts'
import { endGroup, untilAnswers } from './answers.ts'
import { pathOf } from './programs.ts'

export interface LemonLdapPortal {
  /** With a slash at the end. */
  readonly url: string
  /** Starts with these settings beside the common ones. */
  readonly start: (settings: Readonly<Record<string, unknown>>) => Promise<void>
  readonly log: () => string
  readonly close: () => Promise<void>
}

const commonSettings = (folder: string, portal: string) => {
  const sessions = {
    Directory: join(folder, 'sessions'),
    LockDirectory: join(folder, 'lock'),
    generateModule: 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256',
  }
  return {
    cfgNum: 1,
    cfgAuthor: 'tests',
    cfgDate: 1,
    key: 'a key of the tests',
    portal,
    domain: '127.0.0.1',
    cookieName: 'lemonldap',
    securedCookie: 0,
    // Without TLS Chromium takes no cookie with SameSite=None, its default where it speaks SAML.
    sameSite: 'Lax',
    authentication: 'Demo',
    userDB: 'Same',
    passwordDB: 'Demo',
    demoExportedVars: { cn: 'cn', mail: 'mail', uid: 'uid' },
    whatToTrace: 'uid',
    locationRules: { '127.0.0.1': { default: 'accept' } },
    exportedHeaders: {},
    exportedVars: {},
    groups: {},
    macros: {},
    globalStorage: 'Apache::Session::File',
    globalStorageOptions: sessions,
    persistentStorage: 'Apache::Session::File',
    persistentStorageOptions: sessions,
  }
}

const iniOf = (folder: string): string => `[all]
logger = Lemonldap::NG::Common::Logger::Std
logLevel = warn
[configuration]
type = File
dirName = ${folder}/conf
[portal]
templateDir = /usr/share/lemonldap-ng/portal/templates
staticPrefix = /static
`

/** Every address that the portal itself answers may change its cookies: files are answered before it. */
const portalApp = `use Lemonldap::NG::Portal::Main;
use Plack::Builder;
my $portal = Lemonldap::NG::Portal::Main->run({});
builder {
  enable 'Static', path => qr{^/static/}, root => '/usr/share/lemonldap-ng/portal/htdocs';
  enable 'Static', path => qr{^/javascript/}, root => '/usr/share';
  $portal;
};
`

export const openLemonLdapPortal = async (): Promise<LemonLdapPortal> => {
  const program = pathOf('plackup')
  pathOf('lemonldap')
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-lemonldap-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  let server: CliProcess | undefined
  for (const name of ['conf', 'sessions', 'lock']) mkdirSync(join(folder, name))
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  return {
    url,
    start: async (settings) => {
      file('conf/lmConf-1.json', JSON.stringify({ ...commonSettings(folder, url), ...settings }))
      // In development it refuses headers of the portal that have no value.
      const options = ['-E', 'deployment', '-l', `127.0.0.1:${port}`]
      server = spawnScript(file('portal.psgi', portalApp), options, {
        runtime: [program],
        env: { LLNG_DEFAULTCONFFILE: file('lemonldap-ng.ini', iniOf(folder)) },
      })
      await untilAnswers(url, server)
    },
    log: () => server?.stderr() ?? '',
    close: async () => {
      if (server) await endGroup(server)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
