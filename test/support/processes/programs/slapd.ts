/** OpenLDAP's slapd, as a process on free ports in a folder of its own, filled by slapadd. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../ports.ts'
import { spawnScript } from '../processes.ts'
import { untilListens } from './answers.ts'
import { pathOf } from './programs.ts'

export interface Slapd {
  readonly url: string
  readonly secureUrl: string
  /** Operations that the server has logged (`loglevel stats`). */
  readonly log: () => string
  /** Runs a program of ldap-utils as the root of the directory. */
  readonly modify: (ldif: string) => Promise<void>
  readonly close: () => Promise<void>
}

export const suffix = 'dc=corp,dc=example'
export const rootDn = `cn=root,${suffix}`
export const rootPassword = 'the root of the directory'

export interface SlapdOptions {
  /** Before the database: modules. */
  readonly modules?: readonly string[]
  /** After the database: limits, overlays, access. */
  readonly lines?: readonly string[]
  readonly ldif: string
  /** PEM files. */
  readonly tls?: { readonly ca: string; readonly certificate: string; readonly key: string }
}

export const startSlapd = async ({
  modules = [],
  lines = [],
  ldif,
  tls,
}: SlapdOptions): Promise<Slapd> => {
  const program = pathOf('slapd')
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-slapd-'))
  mkdirSync(join(folder, 'db'))
  const configuration = join(folder, 'slapd.conf')
  const schema = (name: string): string => `include /etc/ldap/schema/${name}.schema`
  writeFileSync(
    configuration,
    [
      ...['core', 'cosine', 'nis', 'inetorgperson'].map(schema),
      'modulepath /usr/lib/ldap',
      ...['back_mdb', ...modules].map((name) => `moduleload ${name}`),
      `pidfile ${folder}/slapd.pid`,
      ...(tls
        ? [
            `TLSCACertificateFile ${tls.ca}`,
            `TLSCertificateFile ${tls.certificate}`,
            `TLSCertificateKeyFile ${tls.key}`,
          ]
        : []),
      'database mdb',
      'maxsize 1073741824',
      `suffix "${suffix}"`,
      `rootdn "${rootDn}"`,
      `rootpw "${rootPassword}"`,
      `directory ${folder}/db`,
      'index objectClass,uid,entryUUID,modifyTimestamp eq',
      ...lines,
      '',
    ].join('\n'),
  )
  writeFileSync(join(folder, 'data.ldif'), ldif)
  execFileSync(pathOf('slapadd'), ['-q', '-f', configuration, '-l', join(folder, 'data.ldif')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const port = await freePort()
  const securePort = await freePort()
  const url = `ldap://127.0.0.1:${port}`
  const secureUrl = `ldaps://127.0.0.1:${securePort}`
  const listen = tls ? `${url} ${secureUrl}` : url
  const slapd = spawnScript('-d', ['stats', '-f', configuration, '-h', listen], {
    runtime: [program],
  })
  await untilListens(port, slapd)
  return {
    url,
    secureUrl,
    log: () => slapd.stderr(),
    // Not synchronously: slapd would wait for this process to read its log.
    modify: async (changes) => {
      const args = ['-x', '-H', url, '-D', rootDn, '-w', rootPassword, '-e', 'relax']
      const child = spawn(pathOf('ldapmodify'), args, { stdio: ['pipe', 'ignore', 'inherit'] })
      child.stdin.end(changes)
      const [code] = await once(child, 'exit')
      if (code !== 0) throw new Error(`ldapmodify ended with ${code}`)
    },
    close: async () => {
      slapd.kill()
      await slapd.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export const userLdif = (uid: string, password?: string): string =>
  [
    `dn: uid=${uid},ou=people,${suffix}`,
    'objectClass: inetOrgPerson',
    `uid: ${uid}`,
    `cn: ${uid}`,
    'sn: Doe',
    `givenName: ${uid}`,
    `mail: ${uid}@corp.example`,
    ...(password === undefined ? [] : [`userPassword: ${password}`]),
    '',
    '',
  ].join('\n')

export const treeLdif = [
  `dn: ${suffix}`,
  'objectClass: domain',
  'dc: corp',
  '',
  ...['people', 'groups', 'policies'].flatMap((ou) => [
    `dn: ou=${ou},${suffix}`,
    'objectClass: organizationalUnit',
    `ou: ${ou}`,
    '',
  ]),
  `dn: cn=reader,${suffix}`,
  'objectClass: organizationalRole',
  'objectClass: simpleSecurityObject',
  'cn: reader',
  'userPassword: the password of the reader',
  '',
  '',
].join('\n')
