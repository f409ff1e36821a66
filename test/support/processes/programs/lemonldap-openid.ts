/** LemonLDAP::NG as an OpenID provider: its portal behind plackup, in a folder of its own, with the users of its demonstration. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../ports.ts'
import { spawnScript } from '../processes.ts'
import { endGroup, untilAnswers } from './answers.ts'
import { pathOf } from './programs.ts'

export interface LemonLdap {
  /** As its metadata spells it, with a slash at the end. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly log: () => string
  readonly close: () => Promise<void>
}

/** Nothing in it is encoded: LemonLDAP::NG does not decode what RFC 6749 §2.3.1 encodes. */
const clientSecret = 'a-secret-of-the-realm-at-LemonLDAP'

const keys = () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    // The form that its library reads.
    oidcServicePrivateKeySig: privateKey.export({ format: 'pem', type: 'pkcs1' }),
    oidcServicePublicKeySig: publicKey.export({ format: 'pem', type: 'spki' }),
    oidcServiceKeyIdSig: 'one',
  }
}

const sessionsIn = (folder: string) => ({
  Directory: join(folder, 'sessions'),
  LockDirectory: join(folder, 'lock'),
  generateModule: 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256',
})

const configOf = (folder: string, portal: string, redirectUri: string) => ({
  cfgNum: 1,
  cfgAuthor: 'tests',
  cfgDate: 1,
  key: 'a key of the tests',
  portal,
  domain: '127.0.0.1',
  cookieName: 'lemonldap',
  securedCookie: 0,
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
  globalStorageOptions: sessionsIn(folder),
  persistentStorage: 'Apache::Session::File',
  persistentStorageOptions: sessionsIn(folder),
  issuerDBOpenIDConnectActivation: 1,
  issuerDBOpenIDConnectPath: '^/oauth2/',
  issuerDBOpenIDConnectRule: 1,
  oidcServiceMetaDataIssuer: portal,
  oidcServiceAllowAuthorizationCodeFlow: 1,
  ...keys(),
  oidcRPMetaDataOptions: {
    realm: {
      oidcRPMetaDataOptionsClientID: 'realm',
      oidcRPMetaDataOptionsClientSecret: clientSecret,
      oidcRPMetaDataOptionsRedirectUris: redirectUri,
      oidcRPMetaDataOptionsIDTokenSignAlg: 'RS256',
      oidcRPMetaDataOptionsBypassConsent: 1,
      oidcRPMetaDataOptionsRequirePKCE: 1,
      oidcRPMetaDataOptionsUserIDAttr: 'uid',
    },
  },
  oidcRPMetaDataExportedVars: {
    realm: { email: 'mail', preferred_username: 'uid', name: 'cn' },
  },
})

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

const portalApp = `use Lemonldap::NG::Portal::Main;
Lemonldap::NG::Portal::Main->run({});
`

export const startLemonLdap = async (redirectUri: string): Promise<LemonLdap> => {
  const program = pathOf('plackup')
  pathOf('lemonldap')
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-lemonldap-'))
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}/`
  for (const name of ['conf', 'sessions', 'lock']) mkdirSync(join(folder, name))
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  file('conf/lmConf-1.json', JSON.stringify(configOf(folder, issuer, redirectUri)))
  const server = spawnScript(file('portal.psgi', portalApp), ['-l', `127.0.0.1:${port}`], {
    runtime: [program],
    env: { LLNG_DEFAULTCONFFILE: file('lemonldap-ng.ini', iniOf(folder)) },
  })
  await untilAnswers(issuer, server)
  return {
    issuer,
    clientId: 'realm',
    clientSecret,
    log: server.stderr,
    close: async () => {
      await endGroup(server)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
