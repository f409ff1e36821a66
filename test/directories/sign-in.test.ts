/**
 * Sign-in with passwords that a directory keeps, against a server in this process: what is sent to it, and what comes of answers
 * that a real one does not give. Real servers are asked in test/peers/directories.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { claimsOf } from '../oidc/fixture.ts'
import { addPerson, change, password as localPassword } from '../oidc/relying-party.ts'
import { backends } from '../support/backends.ts'
import { freePort } from '../support/processes/ports.ts'
import { type LdapServer, startLdap } from './ldap-server.ts'
import {
  base,
  bindDn,
  bindUser,
  configFor,
  type DirectorySite,
  entryOf,
  openDirectorySite,
  realmOf,
  secretOf,
} from './people.ts'

describe.each(backends)('users of a directory on $name', (backend) => {
  let ldap: LdapServer
  let it_: DirectorySite
  beforeAll(async () => {
    ldap = await startLdap()
    it_ = await openDirectorySite(backend)
    // Many wrong passwords come from one address here.
    await change(it_.site, '/settings', { bruteForceProtected: false })
    await it_.provide(configFor(ldap.url))
  })
  afterAll(async () => {
    await it_?.close()
    await ldap?.close()
  })
  beforeEach(() => {
    ldap.faults = {}
    ldap.entries = [bindUser, ...['ada', 'bob', 'carl'].map((uid) => entryOf(uid))]
    ldap.forget()
  })

  const userNamed = async (username: string) => {
    const { body } = await it_.site.admin('GET', `/users?search=${username}`)
    return body.find((one: { username: string }) => one.username === username)
  }
  const lastFailure = async (): Promise<string | null> =>
    (await it_.site.events('LOGIN_FAILURE'))[0]?.detail ?? null

  it('makes the user at the first sign-in, with the profile of the entry, the default role and a link', async () => {
    const { status, body } = await it_.grant('ada', secretOf('ada'))
    expect(status).toBe(200)
    const ada = await userNamed('ada')
    expect(ada).toMatchObject({
      email: 'ada@corp.example',
      emailVerified: false,
      firstName: 'Ada',
      lastName: 'Doe',
      managed: false,
    })
    expect(ada.roles).not.toEqual([])
    expect(claimsOf(body.access_token)).toMatchObject({ sub: ada.userId })
    const events = await it_.site.events('IDENTITY_PROVIDER_FIRST_LOGIN')
    expect(events[0]).toMatchObject({ actor: ada.userId, detail: 'corp' })

    expect((await it_.grant('ADA', secretOf('ada'))).status).toBe(200)
    expect((await it_.site.events('IDENTITY_PROVIDER_FIRST_LOGIN')).length).toBe(1)
    const [login] = await it_.site.events('IDENTITY_PROVIDER_LOGIN')
    expect(login).toMatchObject({ actor: ada.userId, detail: 'corp' })
  })

  it('signs in through the page of the realm', async () => {
    const { status, headers } = await it_.page('bob', secretOf('bob'))
    expect(status).toBe(303)
    expect(headers['location']).toBe(`/realms/${realmOf(it_.site)}/login`)
  })

  it('refuses a wrong password as it refuses an unknown name, and makes no user', async () => {
    const wrong = await it_.grant('carl', 'wrong')
    expect(await lastFailure()).toBe('wrong-password')
    const unknown = await it_.grant('nobody', 'wrong')
    expect(await lastFailure()).toBe('unknown-user')
    expect(wrong.status).toBe(400)
    expect(wrong.body).toEqual(unknown.body)
    expect(await userNamed('carl')).toBeUndefined()
    // An unknown name costs a bind too.
    expect(ldap.binds.filter((dn) => dn !== bindDn).length).toBe(2)
  })

  it('never sends an empty password, which a directory takes for an anonymous bind (RFC 4513 §5.1.2)', async () => {
    ldap.faults.bind = (_dn, password) => (password === '' ? { code: 0 } : undefined)
    expect((await it_.grant('carl', '')).status).toBe(400)
    const page = await it_.page('carl', '')
    expect(page.status).toBe(401)
    expect(ldap.binds).not.toContain(`uid=carl,${base}`)
  })

  it('takes no character of a name for a part of the filter', async () => {
    for (const name of [
      '*',
      'a*',
      '*)(uid=*',
      'ada)(|(uid=*',
      'ada)(objectClass=*',
      '\\2a',
      'ada\u0000',
    ])
      expect((await it_.grant(name, secretOf('ada'))).status, name).toBe(400)
    expect(ldap.binds.filter((dn) => /^uid=/.test(dn))).toEqual([])
  })

  it('refuses an entry that is not below the base, whatever the directory answers (CVE-2026-16071)', async () => {
    const foreign = { ...entryOf('dora'), dn: 'uid=dora,ou=partners,dc=corp,dc=example' }
    ldap.entries.push(foreign)
    ldap.faults.search = ({ base: asked }) => (asked === base ? { entries: [foreign] } : undefined)
    expect((await it_.grant('dora', secretOf('dora'))).status).toBe(400)
    expect(ldap.binds).not.toContain(foreign.dn)
    // Only the form differs: the same base.
    ldap.faults.search = ({ base: asked }) =>
      asked === base
        ? { entries: [{ ...foreign, dn: 'UID=dora, OU=People,DC=Corp ,dc=\\65xample' }] }
        : undefined
    ldap.faults.bind = () => ({ code: 0 })
    expect((await it_.grant('dora', secretOf('dora'))).status).toBe(200)
  })

  it('refuses a name that two entries have', async () => {
    ldap.entries.push({ ...entryOf('carl'), dn: `cn=other,${base}` })
    expect((await it_.grant('carl', secretOf('carl'))).status).toBe(400)
    expect(await lastFailure()).toBe('unknown-user')
  })

  it('never links an entry to a user who has its name or address already', async () => {
    const erin = await addPerson(it_.site, 'erin')
    ldap.entries.push(entryOf('erin'), entryOf('eve', { mail: ['erin@example.org'] }))
    await it_.site.admin('PUT', `/users/${erin}`, {
      ...(await it_.site.admin('GET', `/users/${erin}`)).body,
      email: 'erin@example.org',
    })
    // The local user is asked for the local password, and the directory is not asked at all.
    ldap.forget()
    expect((await it_.grant('erin', secretOf('erin'))).status).toBe(400)
    expect(ldap.searches.filter(({ base: asked }) => asked === base)).toEqual([])
    expect((await it_.grant('erin', localPassword)).status).toBe(200)
    expect((await it_.grant('eve', secretOf('eve'))).status).toBe(400)
    expect(await lastFailure()).toBe('name-taken')
    expect(await userNamed('eve')).toBeUndefined()
  })

  it('knows a renamed user by the id of the entry', async () => {
    ldap.entries.push(entryOf('fay'))
    expect((await it_.grant('fay', secretOf('fay'))).status).toBe(200)
    const fay = await userNamed('fay')
    ldap.entries = ldap.entries.filter(({ dn }) => !dn.startsWith('uid=fay'))
    const renamed = entryOf('fay-lee', { entryUUID: entryOf('fay').attributes['entryUUID'] ?? [] })
    ldap.entries.push(renamed)
    const { status, body } = await it_.grant('fay-lee', secretOf('fay-lee'))
    expect(status).toBe(200)
    expect(claimsOf(body.access_token)).toMatchObject({ sub: fay.userId })
    // The old name still finds the user, whose entry is found by its id.
    expect((await it_.grant('fay', secretOf('fay-lee'))).status).toBe(200)
  })

  it('takes an entry with the same name and another id for another person', async () => {
    ldap.entries.push(entryOf('gus'))
    expect((await it_.grant('gus', secretOf('gus'))).status).toBe(200)
    ldap.entries = ldap.entries.filter(({ dn }) => !dn.startsWith('uid=gus'))
    ldap.entries.push(entryOf('gus', { entryUUID: ['00000000-0000-4000-8000-000000000001'] }))
    expect((await it_.grant('gus', secretOf('gus'))).status).toBe(400)
  })

  describe('that answers a bind with more than yes or no', () => {
    const answerOf = (code: number, message: string) => {
      ldap.faults.bind = (dn) => (dn.startsWith('uid=ada') ? { code, message } : undefined)
    }
    const adMessage = (data: string): string =>
      `80090308: LdapErr: DSID-0C090449, comment: AcceptSecurityContext error, data ${data}, v4563`

    it.each([
      ['52e', 'wrong-password'],
      ['525', 'unknown-user'],
      ['533', 'user-disabled'],
      ['701', 'user-expired'],
      ['775', 'user-locked'],
    ])('Active Directory says %s: %s, and the page tells nothing', async (data, reason) => {
      answerOf(49, adMessage(data))
      const { status, body } = await it_.page('ada', 'x')
      expect(status).toBe(401)
      expect(body).not.toContain('Corp Directory')
      expect(await lastFailure()).toBe(reason)
    })

    it.each([
      ['532', 'password-expired'],
      ['773', 'password-must-change'],
    ])(
      'Active Directory says %s: %s, and the page says where to change it',
      async (data, reason) => {
        answerOf(49, adMessage(data))
        const { status, body } = await it_.page('ada', secretOf('ada'))
        expect(status).toBe(403)
        expect(body).toContain('Change your password first')
        expect(body).toContain('Corp Directory')
        expect(await lastFailure()).toBe(reason)
        expect((await it_.grant('ada', secretOf('ada'))).status).toBe(400)
      },
    )

    it('lets nobody in who has to change the password after a reset (draft-behera §6.2)', async () => {
      const policy = Buffer.from([0x30, 3, 0x81, 1, 2])
      ldap.faults.bind = (dn) => (dn.startsWith('uid=ada') ? { code: 0, policy } : undefined)
      expect((await it_.page('ada', secretOf('ada'))).status).toBe(403)
      expect(await lastFailure()).toBe('password-must-change')
    })

    it('records a warning of the password policy with the sign-in', async () => {
      // timeBeforeExpiration: 172800 seconds.
      const policy = Buffer.from([0x30, 7, 0xa0, 5, 0x80, 3, 0x02, 0xa3, 0x00])
      ldap.faults.bind = (dn) => (dn.startsWith('uid=ada') ? { code: 0, policy } : undefined)
      expect((await it_.grant('ada', secretOf('ada'))).status).toBe(200)
      const [login] = await it_.site.events('IDENTITY_PROVIDER_LOGIN')
      expect(login?.detail).toBe('corp: the password expires in 2 days')
    })
  })

  it('refuses to change a password here that the directory keeps', async () => {
    const ada = await userNamed('ada')
    const { server, issuer } = it_.site
    const realm = realmOf({ issuer })
    const set = await server.admin.send(
      'PUT',
      `/admin/realms/${realm}/users/${ada.userId}/password`,
      {
        newPassword: 'a long enough passphrase 8',
      },
    )
    expect(set.status).toBe(400)
    expect(JSON.stringify(set.body)).toContain(
      'is kept in the directory \\"Corp Directory\\": change it there',
    )
  })

  it('asks no directory that is disabled, and its users cannot sign in', async () => {
    await it_.provide(configFor(ldap.url), { enabled: false })
    expect((await it_.grant('ada', secretOf('ada'))).status).toBe(400)
    expect(ldap.searches).toEqual([])
    await it_.provide(configFor(ldap.url))
    expect((await it_.grant('ada', secretOf('ada'))).status).toBe(200)
  })

  it('keeps the users of a directory whose document is replaced under its alias', async () => {
    const ada = await userNamed('ada')
    await it_.site.admin('DELETE', '/identity-providers/corp')
    expect((await it_.grant('ada', secretOf('ada'))).status).toBe(400)
    expect(await userNamed('ada')).toMatchObject({ userId: ada.userId, enabled: true })
    await it_.provide(configFor(ldap.url))
    const { status, body } = await it_.grant('ada', secretOf('ada'))
    expect(status).toBe(200)
    expect(claimsOf(body.access_token)).toMatchObject({ sub: ada.userId })
  })

  describe('that cannot be asked', () => {
    const expectAway = async (): Promise<void> => {
      const page = await it_.page('ada', secretOf('ada'))
      expect(page.status).toBe(503)
      expect(page.body).toContain('Corp Directory')
      expect(page.body).toContain('does not answer')
      expect(page.body).not.toContain('password is wrong')
      const grant = await it_.grant('ada', secretOf('ada'))
      expect([grant.status, grant.body.error]).toEqual([503, 'temporarily_unavailable'])
      expect(grant.body.error_description).toContain('Corp Directory')
      expect(await lastFailure()).toBe('directory-unavailable')
    }
    let pageSize = 100
    const provideUrl = (url: string) => it_.provide({ ...configFor(url) })

    it('is named on the page, and a local user still signs in', async () => {
      await provideUrl(`ldap://127.0.0.1:${await freePort()}`)
      await expectAway()
      expect((await it_.grant('erin', localPassword)).status).toBe(200)
    })

    it('is not counted as a wrong password', async () => {
      await provideUrl(`ldap://127.0.0.1:${await freePort()}`)
      for (let i = 0; i < 15; i += 1)
        expect((await it_.grant('ada', secretOf('ada'))).status).toBe(503)
      await provideUrl(ldap.url)
      expect((await it_.grant('ada', secretOf('ada'))).status).toBe(200)
    })

    it('gives way to the next address', async () => {
      await provideUrl(`ldap://127.0.0.1:${await freePort()} ${ldap.url}`)
      expect((await it_.grant('ada', secretOf('ada'))).status).toBe(200)
    })

    it.each([
      ['hangs up in the middle of a search', { search: () => 'hang-up' as const }],
      [
        'answers something that is not LDAP',
        { search: () => Buffer.from([0x30, 5, 2, 1, 2, 0xff, 0]) },
      ],
      ['refuses the search', { search: () => ({ entries: [], code: 50 }) }],
      ['is busy', { search: () => ({ entries: [], code: 51 }) }],
      [
        'refuses the bind user',
        { bind: (dn: string) => (dn === bindDn ? { code: 49 } : undefined) },
      ],
    ])('%s', async (_name, faults) => {
      await provideUrl(ldap.url)
      // A changed document gets new connections: those that are bound already would be used.
      pageSize += 1
      await it_.provide({ ...configFor(ldap.url), pageSize })
      ldap.faults = faults
      await expectAway()
    })

    it('is an address that the server must not call', async () => {
      for (const url of [
        'ldap://169.254.169.254',
        'ldap://10.1.2.3',
        'ldaps://[::1]',
        'ldap://2130706434',
      ]) {
        await provideUrl(url)
        await expectAway()
      }
    })
  })
})
