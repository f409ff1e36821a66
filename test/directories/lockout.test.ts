/** Directories that lock accounts: guesses through the realm stop one attempt below, by the policy that holds for the user. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { change } from '../oidc/relying-party.ts'
import { anyBackend } from '../support/backends.ts'
import { type LdapEntry, type LdapServer, startLdap } from './ldap-server.ts'
import {
  base,
  bindUser,
  configFor,
  type DirectorySite,
  entryOf,
  openDirectorySite,
  realmOf,
  secretOf,
} from './people.ts'

/** Changes attributes of an entry. */
const set = (ldap: LdapServer, dn: string, attributes: LdapEntry['attributes']): void => {
  ldap.entries = ldap.entries.map((entry) =>
    entry.dn === dn ? { ...entry, attributes: { ...entry.attributes, ...attributes } } : entry,
  )
}

const findingsOf = async ({ site }: DirectorySite): Promise<string[]> => {
  const path = `/admin/realms/${realmOf(site)}/identity-providers/corp/check`
  const { body } = await site.server.admin.send('POST', path)
  return body.map(({ check, status }: Record<string, string>) => `${check} ${status}`)
}

describe.each(anyBackend)('a directory that locks accounts, on $name', (backend) => {
  let ldap: LdapServer
  let it_: DirectorySite
  let failures: string[] = []
  beforeAll(async () => {
    ldap = await startLdap([
      bindUser,
      { dn: '', attributes: { namingContexts: ['dc=corp,dc=example'] } },
      {
        dn: 'cn=policy,dc=corp,dc=example',
        attributes: {
          objectClass: ['pwdPolicy'],
          pwdLockout: ['TRUE'],
          pwdMaxFailure: ['4'],
          pwdFailureCountInterval: ['600'],
        },
      },
      entryOf('ada'),
    ])
    // As the ppolicy overlay of OpenLDAP counts.
    ldap.faults.bind = (dn, password) => {
      if (!dn.startsWith('uid=ada') || password === secretOf('ada')) return undefined
      const at = new Date().toISOString().replaceAll(/[-:T]|\..*/g, '')
      failures = [...failures, `${at}.${String(failures.length).padStart(6, '0')}Z`]
      ldap.entries = ldap.entries.map((entry) =>
        entry.dn === dn
          ? { ...entry, attributes: { ...entry.attributes, pwdFailureTime: failures } }
          : entry,
      )
      return { code: 49 }
    }
    it_ = await openDirectorySite(backend)
    await it_.provide(configFor(ldap.url))
  })
  afterAll(async () => {
    await it_?.close()
    await ldap?.close()
  })

  it('is not asked when failures elsewhere have brought the account close to its lock', async () => {
    const times = Array.from({ length: 3 }, (_, i) => {
      const at = new Date().toISOString().replaceAll(/[-:T]|\..*/g, '')
      return `${at}.${String(i).padStart(6, '0')}Z`
    })
    const eve = entryOf('eve', { pwdFailureTime: times })
    ldap.entries.push(eve)
    expect((await it_.grant('eve', secretOf('eve'))).status).toBe(400)
    expect(ldap.binds).not.toContain(eve.dn)
  })

  it('gets no more wrong passwords than leave the account open, one after the other or at once', async () => {
    await Promise.all(Array.from({ length: 12 }, (_, i) => it_.grant('ada', `wrong ${i}`)))
    await it_.grant('ada', 'wrong again')
    expect(failures.length).toBe(3)
    const [last] = await it_.site.events('LOGIN_FAILURE')
    expect(last?.detail).toBe('too-many-failures')
  })
})

describe.each(anyBackend)('389 Directory Server, which locks accounts, on $name', (backend) => {
  let ldap: LdapServer
  let it_: DirectorySite
  const global: LdapEntry = {
    dn: 'cn=config',
    attributes: {
      passwordLockout: ['on'],
      passwordMaxFailure: ['3'],
      passwordResetFailureCount: ['600'],
    },
  }
  const own: LdapEntry = {
    dn: `cn=of-ada,cn=nsPwPolicyContainer,${base}`,
    attributes: { objectClass: ['ldapsubentry', 'passwordpolicy'], passwordLockout: ['on'] },
  }
  const generalizedTime = (ms: number): string =>
    `${new Date(ms).toISOString().replaceAll(/[-:T]|\..*/g, '')}Z`
  beforeAll(async () => {
    const root = { namingContexts: ['dc=corp,dc=example'], vendorName: ['389 Project'] }
    ldap = await startLdap([bindUser, { dn: '', attributes: root }])
    ldap.faults.bind = (dn, password) => {
      const uid = /^uid=([^,]+)/.exec(dn)?.[1] ?? ''
      if (uid === '' || password === secretOf(uid)) return undefined
      const entry = ldap.entries.find((one) => one.dn === dn)
      set(ldap, dn, {
        passwordRetryCount: [String(Number(entry?.attributes['passwordRetryCount']?.[0] ?? 0) + 1)],
        retryCountResetTime: [generalizedTime(Date.now() + 600_000)],
      })
      return { code: 49 }
    }
    it_ = await openDirectorySite(backend)
  })
  afterAll(async () => {
    await it_?.close()
    await ldap?.close()
  })

  it.each([
    ['of the server', global, 'ada'],
    ['of a subtree or of a user', own, 'eve'],
  ])('gets no more wrong passwords than the policy %s leaves open', async (_whose, policy, uid) => {
    ldap.entries = [...ldap.entries.slice(0, 2), policy, entryOf(uid), entryOf('bob')]
    await it_.provide(configFor(ldap.url))
    ldap.forget()
    for (let i = 0; i < 4; i += 1) await it_.grant(uid, `wrong ${i}`)
    const before = { passwordRetryCount: ['2'], retryCountResetTime: [generalizedTime(0)] }
    set(ldap, `uid=bob,${base}`, before)
    expect((await it_.grant('bob', secretOf('bob'))).status).toBe(200)
    expect(ldap.binds.filter((dn) => dn === `uid=${uid},${base}`)).toHaveLength(2)
  })

  it('is reported by doctor where the bind user may not read its policy', async () => {
    ldap.entries = [...ldap.entries.slice(0, 2), entryOf('ada')]
    expect(await findingsOf(it_)).toContain('directory-lockout warning')
    ldap.entries.push(global)
    expect(await findingsOf(it_)).toContain('directory-lockout ok')
  })
})

describe.each(anyBackend)('a directory that locks by the first failure, on $name', (backend) => {
  let ldap: LdapServer
  let it_: DirectorySite
  beforeAll(async () => {
    ldap = await startLdap([
      bindUser,
      { dn: '', attributes: { namingContexts: ['dc=corp,dc=example'] } },
      {
        dn: 'cn=policy,dc=corp,dc=example',
        attributes: {
          objectClass: ['pwdPolicy'],
          pwdLockout: ['TRUE'],
          pwdMaxFailure: ['1'],
          pwdFailureCountInterval: ['600'],
        },
      },
      entryOf('ada'),
      entryOf('bob'),
    ])
    it_ = await openDirectorySite(backend)
    await it_.provide(configFor(ldap.url))
  })
  afterAll(async () => {
    await it_?.close()
    await ldap?.close()
  })

  it('lets users in, and is asked no more after one wrong password', async () => {
    for (const _ of [1, 2]) expect((await it_.grant('ada', secretOf('ada'))).status).toBe(200)
    ldap.forget()
    for (let i = 0; i < 3; i += 1) expect((await it_.grant('bob', `wrong ${i}`)).status).toBe(400)
    expect(ldap.binds.filter((dn) => dn.startsWith('uid=bob'))).toHaveLength(1)
  })

  it('is reported by doctor', async () => {
    expect(await findingsOf(it_)).toContain('directory-lockout warning')
  })
})

describe.each(anyBackend)('fine-grained policies of Active Directory, on $name', (backend) => {
  const domain = 'dc=corp,dc=example'
  const container = `CN=Password Settings Container,CN=System,${domain}`
  const minutes = (n: number): string => String(-n * 60 * 10_000_000)
  const policy = (name: string, threshold: string): LdapEntry => ({
    dn: `CN=${name},${container}`,
    attributes: {
      objectClass: ['msDS-PasswordSettings'],
      'msDS-LockoutThreshold': [threshold],
      'msDS-LockoutObservationWindow': [minutes(30)],
    },
  })
  const account = (uid: string, applied?: string): LdapEntry =>
    entryOf(uid, {
      objectGUID: [Buffer.from(uid.padEnd(16, '-'))],
      userAccountControl: ['512'],
      ...(applied === undefined ? {} : { 'msDS-ResultantPSO': [`cn=${applied}, ${container}`] }),
    })
  let ldap: LdapServer
  let it_: DirectorySite
  let count = true
  beforeAll(async () => {
    ldap = await startLdap([
      bindUser,
      {
        dn: '',
        attributes: {
          defaultNamingContext: [domain],
          configurationNamingContext: [`CN=Configuration,${domain}`],
        },
      },
      {
        dn: domain,
        attributes: {
          objectClass: ['domain'],
          lockoutThreshold: ['8'],
          lockOutObservationWindow: [minutes(30)],
        },
      },
      policy('admins', '4'),
      policy('robots', '0'),
      account('ada', 'admins'),
      account('bob'),
      account('carl', 'unknown'),
      account('dora', 'robots'),
      account('eve', 'admins'),
    ])
    // As a domain controller counts.
    ldap.faults.bind = (dn, password) => {
      const uid = /^uid=([^,]+)/.exec(dn)?.[1] ?? ''
      if (uid === '' || password === secretOf(uid)) return undefined
      const entry = ldap.entries.find((one) => one.dn === dn)
      if (count)
        set(ldap, dn, {
          badPwdCount: [String(Number(entry?.attributes['badPwdCount']?.[0] ?? 0) + 1)],
          badPasswordTime: [String((BigInt(Date.now()) + 11_644_473_600_000n) * 10_000n)],
        })
      return { code: 49, message: 'AcceptSecurityContext error, data 52e, v4563' }
    }
    it_ = await openDirectorySite(backend)
    await it_.provide(configFor(ldap.url), { protocol: 'ad' })
  })
  afterAll(async () => {
    await it_?.close()
    await ldap?.close()
  })

  const guesses = async (uid: string, times: number): Promise<number> => {
    ldap.forget()
    for (let i = 0; i < times; i += 1) await it_.grant(uid, `wrong ${i}`)
    return ldap.binds.filter((dn) => dn === `uid=${uid},${base}`).length
  }

  it.each([
    ['ada', 'whose policy is stricter than the domain', 3],
    ['bob', 'whose policy is that of the domain', 7],
    ['carl', 'whose policy cannot be read', 3],
    ['dora', 'whose policy locks nobody', 9],
  ])('leave the account of %s open, %s', async (uid, _whose, most) => {
    expect((await it_.grant(uid, secretOf(uid))).status).toBe(200)
    expect(await guesses(uid, 9)).toBe(most)
  })

  it('hold for the counter of the realm too, where each domain controller counts for itself', async () => {
    expect((await it_.grant('eve', secretOf('eve'))).status).toBe(200)
    count = false
    expect(await guesses('eve', 9)).toBe(3)
  })

  it('that the bind user may not read are reported by doctor', async () => {
    expect(await findingsOf(it_)).toContain('directory-lockout ok')
    ldap.entries = ldap.entries.filter(({ dn }) => !dn.endsWith(container))
    set(ldap, `uid=ada,${base}`, { 'msDS-PSOApplied': [`CN=admins,${container}`] })
    expect(await findingsOf(it_)).toContain('directory-lockout warning')
  })
})

describe.each(anyBackend)('guesses at one entry by all its names, on $name', (backend) => {
  let ldap: LdapServer
  let it_: DirectorySite
  beforeAll(async () => {
    const names = (uid: string) => ({ cn: Array.from({ length: 8 }, (_, i) => `${uid}-${i}`) })
    const people = ['ada', 'bob', 'cy'].map((uid) => entryOf(uid, names(uid)))
    ldap = await startLdap([bindUser, ...people])
    it_ = await openDirectorySite(backend)
    await it_.provide({ ...configFor(ldap.url), userSearchFilter: '(|(uid={0})(cn={0}))' })
    await change(it_.site, '/settings', { failureFactor: 3, addressFailureFactor: 100 })
  })
  afterAll(async () => {
    await it_?.close()
    await ldap?.close()
  })
  const guesses = async (uid: string): Promise<number> => {
    ldap.forget()
    for (let i = 0; i < 8; i += 1) await it_.grant(`${uid}-${i}`, `wrong ${i}`)
    return ldap.binds.filter((dn) => dn.startsWith(`uid=${uid}`)).length
  }

  it('count together for a user, who is told', async () => {
    expect((await it_.grant('ada', secretOf('ada'))).status).toBe(200)
    expect(await guesses('ada')).toBe(3)
    const { body } = await it_.site.admin('GET', '/users?search=ada')
    const [locked] = await it_.site.events('USER_LOCKED')
    expect(locked?.actor).toBe(body[0].userId)
    // Neither by the username nor by any other name.
    for (const name of ['ada', 'ada-0', 'ada-7'])
      expect((await it_.grant(name, secretOf('ada'))).status, name).toBe(400)
    expect((await it_.site.events('LOGIN_FAILURE'))[0]?.detail).toBe('too-many-failures')
  })

  it('count together for an entry that has no user yet', async () => {
    expect(await guesses('bob')).toBe(3)
    expect((await it_.grant('bob', secretOf('bob'))).status).toBe(400)
  })

  it('leave no failure behind where the sign-in succeeds', async () => {
    for (let i = 0; i < 6; i += 1) {
      expect((await it_.grant('cy-1', 'wrong')).status).toBe(400)
      expect((await it_.grant('cy-2', secretOf('cy'))).status).toBe(200)
    }
  })
})
