/**
 * Samba as a domain of Active Directory: names of users, reasons of refusals, ids that outlast renames and moves, changes by
 * their number, and groups in groups.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DirectorySite, openDirectorySite, realmOf } from '../../directories/people.ts'
import { change } from '../../oidc/relying-party.ts'
import { backends } from '../../support/backends.ts'
import {
  administrator,
  administratorPassword,
  domain,
  netbiosName,
  type Samba,
  startSamba,
  unicodePwd,
} from '../../support/processes/programs/samba.ts'
import { startValueRange } from './value-range.ts'

/** One is enough: the software of others is what matters. */
const tried = backends.slice(-1)

const people = `OU=People,${domain}`
const teams = `OU=Teams,${domain}`
const secret = 'A-secret-of-the-user-1'
/** NORMAL_ACCOUNT with DONT_EXPIRE_PASSWORD, and the same with ACCOUNTDISABLE. */
const lasting = 66_048
const disabled = lasting + 2
const ordinary = 512

const unit = (dn: string): string =>
  `dn: ${dn}\nchangetype: add\nobjectClass: organizationalUnit\n\n`

const dnOf = (name: string): string => `CN=${name},${people}`

const userLdif = (name: string, control = lasting, ...lines: string[]): string =>
  [
    `dn: ${dnOf(name)}`,
    'changetype: add',
    'objectClass: user',
    `sAMAccountName: ${name}`,
    `userPrincipalName: ${name}@corp.example`,
    `mail: ${name}@mail.example`,
    `givenName: ${name}`,
    'sn: Doe',
    unicodePwd(secret),
    `userAccountControl: ${control}`,
    ...lines,
    '',
    '',
  ].join('\n')

const teamLdif = (name: string, members: readonly string[]): string =>
  [
    `dn: CN=${name},${teams}`,
    'changetype: add',
    'objectClass: group',
    `sAMAccountName: ${name}`,
    ...members.map((member) => `member: ${member}`),
    '',
    '',
  ].join('\n')

const replaced = (dn: string, attribute: string, value: string): string =>
  `dn: ${dn}\nchangetype: modify\nreplace: ${attribute}\n${attribute}: ${value}\n\n`

const crowd = Array.from({ length: 60 }, (_, i) => `user${String(i).padStart(2, '0')}`)

describe.each(tried)('Active Directory, and the realm on $name', (backend) => {
  let samba: Samba
  let it_: DirectorySite
  beforeAll(async () => {
    samba = await startSamba()
    await samba.modify(
      [
        unit(people),
        unit(`OU=Sales,${people}`),
        unit(teams),
        ...['ada', 'bob', 'carl', 'dora', 'eve', ...crowd].map((name) => userLdif(name)),
        userLdif('away', disabled),
        // 1 January 2020, in units of 100 ns since 1601.
        userLdif('expired', lasting, 'accountExpires: 132223104000000000'),
        userLdif('fresh', ordinary, 'pwdLastSet: 0'),
        userLdif('stale', ordinary),
        teamLdif('devs', [dnOf('bob'), ...crowd.map(dnOf)]),
        teamLdif('staff', [dnOf('ada'), `CN=devs,${teams}`]),
        // Groups that contain each other.
        `dn: CN=devs,${teams}\nchangetype: modify\nadd: member\nmember: CN=staff,${teams}\n\n`,
      ].join(''),
    )
    it_ = await openDirectorySite(backend)
    await change(it_.site, '/settings', { addressFailureFactor: 1000 })
    const made = await provide()
    expect(made.status).toBe(201)
  }, 180_000)
  afterAll(async () => {
    await it_?.close()
    await samba?.close()
  })

  const provide = (more: object = {}) =>
    it_.provide(
      {
        url: samba.secureUrl,
        caCertificate: samba.ca,
        bindDn: administrator,
        bindPassword: administratorPassword,
        userSearchBase: people,
        userSearchFilter:
          '(&(objectCategory=person)(|(sAMAccountName={0})(userPrincipalName={0})))',
        uidAttribute: 'sAMAccountName',
        groupSearchBase: domain,
        groupFilter: `(&(objectClass=group)(|(cn=staff)(cn=devs)(cn=Domain Users)))`,
        ...more,
      },
      { protocol: 'ad' },
    )
  const admin = (method: string, path: string) =>
    it_.site.server.admin.send(method, `/admin/realms/${realmOf(it_.site)}${path}`)
  const sync = (query = '') => admin('POST', `/user-federation/corp/sync${query}`)
  const user = async (name: string) =>
    (await admin('GET', `/users?search=${name}`)).body.find(
      ({ username }: { username: string }) => username === name,
    )
  const refusalOf = async (name: string, password = secret): Promise<string | null> => {
    expect((await it_.grant(name, password)).status).toBe(400)
    return (await it_.site.events('LOGIN_FAILURE'))[0]?.detail ?? null
  }

  it('signs users in by sAMAccountName, as DOMAIN\\user and by UPN, over LDAPS and StartTLS', async () => {
    for (const name of ['ada', `${netbiosName}\\ada`, 'corp\\ada', 'ada@corp.example'])
      expect((await it_.grant(name, secret)).status, name).toBe(200)
    expect((await it_.grant('OTHER\\ada', secret)).status).toBe(400)
    for (const bindDn of ['administrator@corp.example', `${netbiosName}\\Administrator`]) {
      await provide({ bindDn })
      expect((await it_.grant('ada', secret)).status, bindDn).toBe(200)
    }
    await provide({ url: samba.url, startTls: true })
    expect((await it_.grant('bob', secret)).status).toBe(200)
    // A domain controller refuses a password that is not encrypted on the way.
    await provide({ url: samba.url, startTls: false })
    expect((await it_.grant('bob', secret)).status).toBe(503)
    await provide({ caCertificate: undefined })
    expect((await it_.grant('bob', secret)).status).toBe(503)
    await provide()
  })

  it('tells why a user is refused: wrong, disabled, expired, must change', async () => {
    expect(await refusalOf('carl', 'wrong')).toBe('wrong-password')
    expect(await refusalOf('away')).toBe('user-disabled')
    expect(await refusalOf('expired')).toBe('user-expired')
    expect(await refusalOf('fresh')).toBe('password-must-change')
    expect((await it_.grant('stale', secret)).status).toBe(200)
    await samba.agePassword(dnOf('stale'))
    expect(await refusalOf('stale')).toBe('password-expired')
  })

  it('stops one attempt below the lock-out of the domain, and tells a user who is locked there', async () => {
    // The settings of the domain are read again only with a changed document: this one does not know of a lock-out.
    await samba.modify(replaced(domain, 'lockoutThreshold', '3'))
    for (let i = 0; i < 3; i += 1) await samba.bind(dnOf('dora'), `wrong ${i}`)
    expect(await refusalOf('dora')).toBe('user-locked')
    await provide({ pageSize: 20 })
    for (let i = 0; i < 5; i += 1) await it_.grant('eve', `wrong ${i}`)
    expect((await it_.site.events('LOGIN_FAILURE'))[0]?.detail).toBe('too-many-failures')
    expect(await samba.bind(dnOf('eve'), secret)).toBe(true)
    const findings = (await admin('POST', '/identity-providers/corp/check')).body
    expect(
      findings.map(({ check, status }: Record<string, string>) => `${check} ${status}`),
    ).toEqual([
      'directory-tls ok',
      'directory-bind ok',
      'directory-search ok',
      'directory-groups ok',
      'directory-lockout ok',
    ])
    await samba.modify(replaced(domain, 'lockoutThreshold', '0'))
  })

  it('stops one attempt below the lock-out of the fine-grained policy of a user', async () => {
    const days = (n: number): string => String(-n * 24 * 3_600 * 10_000_000)
    await samba.modify(
      [
        `dn: CN=strict,CN=Password Settings Container,CN=System,${domain}`,
        'changetype: add',
        'objectClass: msDS-PasswordSettings',
        'msDS-PasswordSettingsPrecedence: 1',
        'msDS-PasswordReversibleEncryptionEnabled: FALSE',
        'msDS-PasswordHistoryLength: 0',
        'msDS-PasswordComplexityEnabled: FALSE',
        'msDS-MinimumPasswordLength: 0',
        `msDS-MinimumPasswordAge: 0`,
        `msDS-MaximumPasswordAge: ${days(42)}`,
        'msDS-LockoutThreshold: 4',
        `msDS-LockoutObservationWindow: ${days(1)}`,
        `msDS-LockoutDuration: ${days(1)}`,
        `msDS-PSOAppliesTo: ${dnOf('user10')}`,
        '',
        '',
      ].join('\n'),
    )
    await provide({ pageSize: 30 })
    for (let i = 0; i < 6; i += 1) await it_.grant('user10', `wrong ${i}`)
    const counted = await samba.search(people, '(sAMAccountName=user10)', 'badPwdCount')
    expect(counted).toMatch(/^badPwdCount: 3$/m)
    expect(await samba.bind(dnOf('user10'), secret)).toBe(true)
    expect((await it_.grant('user10', secret)).status).toBe(400)
  })

  it('syncs users in pages, groups in groups that contain each other, and the primary group', async () => {
    const { status, body } = await sync()
    expect([status, body.failed, body.failures]).toEqual([200, 0, []])
    expect(body).toMatchObject({ mode: 'full', removed: 0 })
    expect(await user('away')).toMatchObject({ enabled: false })
    const groups: { name: string; memberCount: number }[] = (await admin('GET', '/groups')).body
    const sizeOf = (name: string) => groups.find((one) => one.name === name)?.memberCount
    const everyone = crowd.length + 9
    expect([sizeOf('staff'), sizeOf('devs'), sizeOf('Domain Users')]).toEqual([
      crowd.length + 2,
      crowd.length + 2,
      everyone,
    ])
    // By name, as groups are read where the domain does not follow them.
    const named = `(&(objectClass=group)(|(distinguishedName=cn=STAFF,${teams})(distinguishedName=${dnOf('ada')})))`
    expect((await samba.search(domain, named, 'cn')).match(/^dn: /gm)).toHaveLength(1)
    // As the domain itself follows groups in groups (LDAP_MATCHING_RULE_IN_CHAIN).
    const chain = `(memberOf:1.2.840.113556.1.4.1941:=CN=staff,${teams})`
    const found = await samba.search(people, `(&(objectCategory=person)${chain})`, 'cn')
    expect(found.match(/^dn: /gm)).toHaveLength(crowd.length + 2)
    expect((await sync()).body).toMatchObject({
      mode: 'changes',
      added: 0,
      updated: 0,
      removed: 0,
      groups: { joined: 0, left: 0 },
    })
  })

  it('reads a group whose members come in ranges', async () => {
    const range = await startValueRange({ port: 636, ca: samba.ca }, 25)
    try {
      await provide({ url: range.url, caCertificate: undefined })
      const { body } = await sync('?full=true')
      expect([body.failed, body.groups]).toEqual([
        0,
        { added: 0, updated: 0, removed: 0, joined: 0, left: 0 },
      ])
      expect(new Set(range.asked)).toEqual(
        new Set(['member;range=0-24', 'member;range=25-49', 'member;range=50-74']),
      )
    } finally {
      await range.close()
      await provide()
    }
  })

  it('follows groups in groups that the filter leaves out, as the domain does', async () => {
    await provide({ groupFilter: '(&(objectClass=group)(cn=crew))' })
    await samba.modify(
      [
        teamLdif('core', [dnOf('carl'), `CN=devs,${teams}`]),
        teamLdif('crew', [`CN=core,${teams}`]),
      ].join(''),
    )
    // The three groups of the filter before are gone.
    expect((await sync('?full=true')).status).toBe(409)
    const { body } = await sync('?full=true&allowRemovals=3')
    // carl of core, ada of staff, bob and the crowd of devs.
    expect(body.groups).toMatchObject({ added: 1, joined: crowd.length + 3 })
    await provide()
    expect((await sync()).body).toMatchObject({ mode: 'full', failed: 0 })
  })

  it('reads by uSNChanged what changed, and keeps the account of an entry that is renamed and moved', async () => {
    const before = await user('user07')
    await samba.modify(
      [
        replaced(dnOf('user08'), 'sn', 'Changed'),
        `dn: ${dnOf('user07')}`,
        'changetype: modrdn',
        'newrdn: CN=Renamed',
        'deleteoldrdn: 1',
        `newsuperior: OU=Sales,${people}`,
        '',
        replaced(`CN=Renamed,OU=Sales,${people}`, 'sAMAccountName', 'renamed'),
      ].join('\n'),
    )
    expect((await sync()).body).toMatchObject({ mode: 'changes', added: 0, updated: 2, failed: 0 })
    expect((await admin('GET', `/users/${before.userId}`)).body.username).toBe('renamed')
    expect(await user('user08')).toMatchObject({ lastName: 'Changed' })
  })

  it('disables a deleted user, and takes a new one with the same name for another person', async () => {
    const { userId } = await user('user09')
    await samba.modify(`dn: ${dnOf('user09')}\nchangetype: delete\n\n`)
    expect((await sync()).body).toMatchObject({ removed: 1, failed: 0 })
    expect(await user('user09')).toMatchObject({ userId, enabled: false })
    await samba.modify(userLdif('user09'))
    const { body } = await sync()
    expect(body).toMatchObject({ added: 0, updated: 0, removed: 0, failed: 1 })
    expect(body.failures[0]).toMatchObject({ name: 'user09' })
    expect(body.failures[0].problem).toContain('it is another person')
    expect((await it_.grant('user09', secret)).status).toBe(400)
    expect(await user('user09')).toMatchObject({ userId, enabled: false })
  })
})
