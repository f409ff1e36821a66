/**
 * Samba as a domain controller of Active Directory, in a folder of its own. Its ports are fixed (389, 636, 88, 3268), so that
 * one runs at a time, and they are below 1024: only root can start it.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnScript } from '../processes.ts'
import { endGroup, untilListens } from './answers.ts'
import { makeCertificates } from './directory-certificates.ts'
import { pathOf } from './programs.ts'

export interface Samba {
  readonly url: string
  readonly secureUrl: string
  /** The certificate of the authority, as PEM. */
  readonly ca: string
  /** Runs ldapmodify as the administrator of the domain. */
  readonly modify: (ldif: string) => Promise<void>
  /** What ldapsearch prints as the administrator of the domain. */
  readonly search: (base: string, filter: string, ...attributes: string[]) => Promise<string>
  /** Whether a bind with this name and password succeeds. */
  readonly bind: (name: string, password: string) => Promise<boolean>
  /** Makes the password of a user one of the year 2020, which a domain lets nobody do over LDAP. */
  readonly agePassword: (dn: string) => Promise<void>
  readonly close: () => Promise<void>
}

export const domain = 'DC=corp,DC=example'
export const netbiosName = 'CORP'
export const administrator = `CN=Administrator,CN=Users,${domain}`
export const administratorPassword = 'Adm1n-of-the-domain'

const url = 'ldap://127.0.0.1:389'
const secureUrl = 'ldaps://127.0.0.1:636'

/** A password as Active Directory takes it: in quotes, UTF-16LE (MS-ADTS §3.1.1.3.1.5). */
export const unicodePwd = (password: string): string =>
  `unicodePwd:: ${Buffer.from(`"${password}"`, 'utf16le').toString('base64')}`

/** By the control DSDB_CONTROL_PASSWORD_BYPASS_LAST_SET, which works on the files alone. */
const aging = `
import sys, ldb
from samba.auth import system_session
from samba.param import LoadParm
from samba.samdb import SamDB
lp = LoadParm()
lp.load(sys.argv[1])
db = SamDB(session_info=system_session(lp), lp=lp)
change = ldb.Message(ldb.Dn(db, sys.argv[2]))
change['pwdLastSet'] = ldb.MessageElement('132223104000000000', ldb.FLAG_MOD_REPLACE, 'pwdLastSet')
db.modify(change, controls=['local_oid:1.3.6.1.4.1.7165.4.3.20:0'])
`

const provision = (folder: string): string => {
  const target = join(folder, 'domain')
  mkdirSync(target)
  execFileSync(
    pathOf('samba_tool'),
    [
      'domain',
      'provision',
      '--realm=CORP.EXAMPLE',
      `--domain=${netbiosName}`,
      '--host-name=dc',
      '--server-role=dc',
      '--dns-backend=NONE',
      `--adminpass=${administratorPassword}`,
      `--targetdir=${target}`,
      '--option=interfaces=127.0.0.1/8',
      '--option=bind interfaces only=yes',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const configuration = join(target, 'etc/smb.conf')
  const tls = makeCertificates(folder)
  chmodSync(tls.key, 0o600)
  const lines = [
    // No file server and no name service: the directory alone.
    'server services = ldap cldap kdc',
    `tls keyfile = ${tls.key}`,
    `tls certfile = ${tls.certificate}`,
    `tls cafile = ${tls.ca}`,
    `pid directory = ${folder}`,
  ]
  const written = readFileSync(configuration, 'utf8')
    .replaceAll(/^\s*server services = .*\n/gm, '')
    .replace('[global]\n', `[global]\n${lines.map((line) => `\t${line}\n`).join('')}`)
  writeFileSync(configuration, written)
  return configuration
}

export const startSamba = async (): Promise<Samba> => {
  const program = pathOf('samba')
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-samba-'))
  const configuration = provision(folder)
  const samba = spawnScript('-i', ['-M', 'single', '-s', configuration], { runtime: [program] })
  await untilListens(636, samba)
  const env = { ...process.env, LDAPTLS_CACERT: join(folder, 'ca.pem') }
  const run = async (
    name: 'ldapmodify' | 'ldapsearch',
    args: readonly string[],
    input = '',
    as = [administrator, administratorPassword],
  ): Promise<{ code: number; out: string }> => {
    const [user = '', password = ''] = as
    const child = spawn(
      pathOf(name),
      ['-x', '-H', secureUrl, '-D', user, '-w', password, ...args],
      {
        env,
        // A search reads nothing, and may end before anything is written to it.
        stdio: name === 'ldapmodify' ? ['pipe', 'pipe', 'inherit'] : ['ignore', 'pipe', 'ignore'],
      },
    )
    let out = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    child.stdin?.end(input)
    const [code] = await once(child, 'close')
    return { code, out }
  }
  return {
    url,
    secureUrl,
    ca: readFileSync(join(folder, 'ca.pem'), 'utf8'),
    modify: async (ldif) => {
      const { code } = await run('ldapmodify', [], ldif)
      if (code !== 0) throw new Error(`ldapmodify ended with ${code}`)
    },
    search: async (base, filter, ...attributes) => {
      const args = ['-LLL', '-o', 'ldif-wrap=no', '-b', base, filter, ...attributes]
      const { code, out } = await run('ldapsearch', args)
      if (code !== 0) throw new Error(`ldapsearch ended with ${code}`)
      return out
    },
    bind: async (name, password) =>
      (await run('ldapsearch', ['-s', 'base', '-b', '', '1.1'], '', [name, password])).code === 0,
    agePassword: async (dn) => {
      const child = spawn(pathOf('python'), ['-c', aging, configuration, dn], { stdio: 'inherit' })
      const [code] = await once(child, 'close')
      if (code !== 0) throw new Error(`the password of ${dn} stays as it is`)
    },
    close: async () => {
      await endGroup(samba)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
