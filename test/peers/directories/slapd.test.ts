/**
 * OpenLDAP as the directory of a realm: StartTLS and LDAPS with an authority of its own, its password policy, its limits, an
 * access rule that hides a subtree, and a count of what it is asked.
 */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DirectorySite, openDirectorySite, realmOf } from '../../directories/people.ts'
import { change } from '../../oidc/relying-party.ts'
import { backends } from '../../support/backends.ts'
import { makeCertificates } from '../../support/processes/programs/directory-certificates.ts'
import {
  type Slapd,
  startSlapd,
  suffix,
  treeLdif,
  userLdif,
} from '../../support/processes/programs/slapd.ts'

/** One is enough: the software of others is what matters. */
const tried = backends.slice(-1)

const people = `ou=people,${suffix}`
const reader = `cn=reader,${suffix}`
const readerPassword = 'the password of the reader'
const secret = 'a secret of the user 1'

const policyLdif = [
  `dn: cn=default,ou=policies,${suffix}`,
  'objectClass: pwdPolicy',
  'objectClass: organizationalRole',
  'cn: default',
  'pwdAttribute: userPassword',
  'pwdLockout: TRUE',
  'pwdMaxFailure: 3',
  'pwdFailureCountInterval: 600',
  'pwdMustChange: TRUE',
  'pwdMaxAge: 864000',
  'pwdExpireWarning: 863999',
  '',
  '',
].join('\n')

const groupLdif = (cn: string, members: readonly string[]): string =>
  [
    `dn: cn=${cn},ou=groups,${suffix}`,
    'objectClass: groupOfNames',
    `cn: ${cn}`,
    ...members.map((member) => `member: ${member}`),
    '',
    '',
  ].join('\n')

const names = Array.from({ length: 700 }, (_, i) => `user${String(i).padStart(4, '0')}`)
const dnOf = (uid: string): string => `uid=${uid},${people}`

describe.each(tried)('OpenLDAP, and the realm on $name', (backend) => {
  let folder: string
  let slapd: Slapd
  let it_: DirectorySite
  let ca: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'iamctl-ldap-tls-'))
    const tls = makeCertificates(folder)
    ca = readFileSync(tls.ca, 'utf8')
    slapd = await startSlapd({
      modules: ['ppolicy'],
      tls,
      lines: [
        // A bound user needs pages: 500 entries at once and no more.
        'limits users size.soft=500 size.hard=500 size.pr=500 size.prtotal=unlimited',
        `access to dn.subtree="ou=hidden,${people}" by * none`,
        'access to attrs=userPassword by anonymous auth by * none',
        `access to * by dn.exact="${reader}" read by anonymous auth`,
        'overlay ppolicy',
        `ppolicy_default cn=default,ou=policies,${suffix}`,
        'ppolicy_use_lockout',
      ],
      ldif: [
        treeLdif,
        policyLdif,
        ...['ada', 'bob', 'carl', 'dora'].map((uid) => userLdif(uid, secret)),
        ...names.map((uid) => userLdif(uid)),
        groupLdif('staff', [dnOf('ada'), `cn=devs,ou=groups,${suffix}`]),
        groupLdif('devs', [dnOf('bob'), `cn=staff,ou=groups,${suffix}`, ...names.map(dnOf)]),
      ].join(''),
    })
    it_ = await openDirectorySite(backend)
    await change(it_.site, '/settings', { addressFailureFactor: 1000 })
    await provide()
  })
  afterAll(async () => {
    await it_?.close()
    await slapd?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const config = (): Record<string, unknown> => ({
    url: slapd.url,
    startTls: true,
    caCertificate: ca,
    bindDn: reader,
    bindPassword: readerPassword,
    userSearchBase: people,
  })
  const provide = (more: object = {}) => it_.provide({ ...config(), ...more })
  const sync = (query = '') =>
    it_.site.server.admin.send(
      'POST',
      `/admin/realms/${realmOf(it_.site)}/user-federation/corp/sync${query}`,
    )
  const lastEvent = async (type: string): Promise<string | null> =>
    (await it_.site.events(type))[0]?.detail ?? null

  it('signs users in over StartTLS and over LDAPS, and trusts no other authority', async () => {
    const first = await it_.grant('ada', secret)
    expect([first.status, first.body]).toEqual([200, expect.anything()])
    await provide({ url: slapd.secureUrl, startTls: false })
    expect((await it_.grant('bob', secret)).status).toBe(200)
    await provide({ caCertificate: undefined })
    expect((await it_.grant('bob', secret)).status).toBe(503)
    await provide()
  })

  it('finds nobody by a name that is a filter', async () => {
    for (const name of ['*', '*)(uid=*', 'ada)(uid=*', '(uid=ada)'])
      expect((await it_.grant(name, secret)).status, name).toBe(400)
  })

  it('records the warning of the password policy', async () => {
    const hourAgo = new Date(Date.now() - 3_600_000)
    const changed = hourAgo.toISOString().replaceAll(/[-:T]|\..*/g, '')
    await slapd.modify(
      `dn: ${dnOf('ada')}\nchangetype: modify\nreplace: pwdChangedTime\npwdChangedTime: ${changed}Z\n`,
    )
    await it_.grant('ada', secret)
    expect(await lastEvent('IDENTITY_PROVIDER_LOGIN')).toMatch(
      /^corp: the password expires in \d days$/,
    )
  })

  it('stops one attempt below the lock-out of the directory, which stays open', async () => {
    for (let i = 0; i < 6; i += 1) expect((await it_.grant('carl', `wrong ${i}`)).status).toBe(400)
    expect(await lastEvent('LOGIN_FAILURE')).toBe('too-many-failures')
    const found = execFileSync(
      'ldapwhoami',
      ['-x', '-H', slapd.url, '-D', dnOf('carl'), '-w', secret],
      { encoding: 'utf8' },
    )
    expect(found).toContain(dnOf('carl'))
  })

  it('tells a user whose password was reset to change it first', async () => {
    await slapd.modify(
      `dn: ${dnOf('dora')}\nchangetype: modify\nreplace: pwdReset\npwdReset: TRUE\n`,
    )
    const page = await it_.page('dora', secret)
    expect(page.status).toBe(403)
    expect(page.body).toContain('Change your password first')
    expect(await lastEvent('LOGIN_FAILURE')).toBe('password-must-change')
  })

  it('syncs more users than the directory gives at once, and its groups, which contain each other', async () => {
    await provide({ groupSearchBase: `ou=groups,${suffix}` })
    const { status, body } = await sync()
    expect([status, body.failed]).toEqual([200, 0])
    // Two of them have signed in before.
    expect(body).toMatchObject({ added: 702, mode: 'full' })
    expect(body.groups).toEqual({ added: 2, updated: 0, removed: 0, joined: 1404, left: 0 })
    const again = await sync()
    expect(again.body).toMatchObject({
      added: 0,
      updated: 0,
      removed: 0,
      failed: 0,
      mode: 'changes',
    })
  })

  it('keeps the account of an entry that is renamed and moved, and follows a change', async () => {
    const user = (await it_.site.admin('GET', '/users?search=user0001')).body[0]
    await slapd.modify(
      [
        `dn: ou=sales,${people}`,
        'changetype: add',
        'objectClass: organizationalUnit',
        'ou: sales',
        '',
        `dn: ${dnOf('user0001')}`,
        'changetype: modrdn',
        'newrdn: uid=renamed',
        'deleteoldrdn: 1',
        `newsuperior: ou=sales,${people}`,
        '',
        `dn: ${dnOf('user0002')}`,
        'changetype: modify',
        'replace: sn',
        'sn: Changed',
        '',
      ].join('\n'),
    )
    const { body } = await sync()
    expect(body).toMatchObject({ added: 0, updated: 2, removed: 0, failed: 0 })
    expect((await it_.site.admin('GET', `/users/${user.userId}`)).body).toMatchObject({
      username: 'renamed',
    })
  })

  it('asks the directory nothing for lists, searches and reads of its users', async () => {
    const before = slapd.log().length
    await it_.site.admin('GET', '/users?max=1000')
    await it_.site.admin('GET', '/users?search=user')
    expect(slapd.log().slice(before)).not.toMatch(/SRCH|BIND/)
  })

  it('changes nothing when the bind user may no longer see the users, or the base is wrong', async () => {
    const users = async (): Promise<string> =>
      JSON.stringify(
        await it_.site.server.areas.storage.db
          .selectFrom('users')
          .selectAll()
          .orderBy('id')
          .execute(),
      )
    const before = await users()
    await provide({ userSearchBase: `ou=nowhere,${suffix}` })
    expect((await sync()).status).toBe(503)
    await slapd.modify(
      [
        `dn: ou=hidden,${people}`,
        'changetype: add',
        'objectClass: organizationalUnit',
        'ou: hidden',
        '',
        `dn: uid=ghost,ou=hidden,${people}`,
        'changetype: add',
        'objectClass: inetOrgPerson',
        'uid: ghost',
        'cn: ghost',
        'sn: ghost',
        '',
      ].join('\n'),
    )
    // A hidden subtree is answered like an empty one: result 0 without an entry.
    await provide({ userSearchBase: `ou=hidden,${people}` })
    expect((await sync()).status).toBe(503)
    await provide()
    expect(await users()).toBe(before)
  })
})
