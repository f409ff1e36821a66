/** A sync of a directory: what it makes, changes and removes, and what stops it before it changes anything. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { backends } from '../support/backends.ts'
import type { LdapEntry, SearchCall } from './ldap-server.ts'
import { base, realmOf, secretOf } from './people.ts'
import {
  counts,
  dnOf,
  group,
  groupBase,
  isUsers,
  many,
  openSyncWorld,
  person,
  type SyncWorld,
  stamp,
} from './sync-world.ts'

describe.each(backends)('a sync of a directory on $name', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
  })
  afterAll(() => world?.close())
  beforeEach(() => world.next())

  it('makes users page by page, and writes nothing when nothing has changed', async () => {
    world.add(...many)
    await world.provide()
    const first = await world.sync()
    expect(first.status).toBe(200)
    expect(first.body).toMatchObject({
      ignored: false,
      added: 30,
      updated: 0,
      removed: 0,
      failed: 0,
      synced: 30,
      status: '30 added, 0 updated, 0 removed, 0 failed',
      mode: 'full',
    })
    expect(await world.user('user-07')).toMatchObject({
      email: `${world.named('user-07')}@corp.example`,
      enabled: true,
    })
    expect(
      (await world.site.grant(world.named('user-07'), secretOf(world.named('user-07')))).status,
    ).toBe(200)
    const before = await world.stored()
    expect(counts(await world.sync('?full=true'))).toEqual([0, 0, 0, 0])
    const again = await world.sync()
    expect(counts(again)).toEqual([0, 0, 0, 0])
    expect(again.body.mode).toBe('changes')
    expect(await world.stored()).toBe(before)
  })

  it('makes a user of whom the directory knows names that no database stores', async () => {
    world.add('bob')
    world.ldap.entries.push(
      person(world.named('ada'), {
        givenName: ['A\u0000da'],
        sn: [`Lee${'\u{1f600}'.repeat(200)}`],
      }),
    )
    await world.provide()
    expect(counts(await world.sync())).toEqual([2, 0, 0, 0])
    const { firstName, lastName } = await world.user('ada')
    expect(firstName).toBe('A\ufffdda')
    expect(lastName).toMatch(/^Lee(\u{1f600})+$/u)
    expect(counts(await world.sync('?full=true'))).toEqual([0, 0, 0, 0])
  })

  it('makes a user without an address where that of the entry is too long, and cuts none', async () => {
    const start = `ada@${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.`
    const kept = `${start}${'d'.repeat(255 - start.length - '.example'.length)}.example`
    world.ldap.entries.push(
      person(world.named('ada'), { mail: [`${kept}.attacker.org`] }),
      person(world.named('bob'), { mail: [kept.replace('ada@', 'bob@')] }),
    )
    await world.provide()
    expect(counts(await world.sync())).toEqual([2, 0, 0, 0])
    expect((await world.user('ada')).email).toBeNull()
    expect((await world.user('bob')).email).toBe(kept.replace('ada@', 'bob@'))
  })

  it('shows with dryRun every field that would change, and changes none', async () => {
    world.add('ada', 'bob', ...many)
    await world.provide()
    await world.sync()
    world.ldap.entries = world.ldap.entries.map((entry) =>
      entry.dn === dnOf(world.named('ada'))
        ? person(world.named('ada'), { sn: ['Lovelace'], modifyTimestamp: [stamp(1)] })
        : entry,
    )
    world.remove('bob')
    world.add('carl')
    const before = await world.stored()
    const { body } = await world.sync('?dryRun=true')
    expect(body).toMatchObject({ added: 1, updated: 1, removed: 1, dryRun: true })
    expect(body.changes).toEqual(
      expect.arrayContaining([
        {
          op: 'disable',
          username: world.named('bob'),
          fields: [{ field: 'enabled', before: true, after: false }],
        },
        {
          op: 'update',
          username: world.named('ada'),
          fields: [{ field: 'lastName', before: 'Doe', after: 'Lovelace' }],
        },
        expect.objectContaining({ op: 'add', username: world.named('carl') }),
      ]),
    )
    expect(await world.stored()).toBe(before)
    expect(counts(await world.sync())).toEqual([1, 1, 1, 0])
    expect(await world.user('ada')).toMatchObject({ lastName: 'Lovelace' })
    expect(await world.user('bob')).toMatchObject({ enabled: false })
  })

  it('reads only entries that changed, and the ids of all', async () => {
    world.add(...many)
    await world.provide()
    await world.sync()
    world.ldap.forget()
    await world.sync()
    const wanted = world.ldap.searches.filter(
      ({ base: asked, scope }) => asked === base && scope === 2,
    )
    expect(wanted.filter(({ attributes }) => attributes.includes('sn')).length).toBe(3)
    // What changed within the overlap is all that was made at the same time: nothing but a change is read later.
    world.ldap.entries = world.ldap.entries.map((entry) =>
      entry.dn === dnOf(world.named('user-03'))
        ? person(world.named('user-03'), { sn: ['Changed'], modifyTimestamp: ['20261105120000Z'] })
        : entry,
    )
    expect(counts(await world.sync())).toEqual([0, 1, 0, 0])
    world.ldap.forget()
    expect(counts(await world.sync())).toEqual([0, 0, 0, 0])
    const pages = world.ldap.searches.filter(({ attributes }) => attributes.includes('sn'))
    expect(pages.length).toBe(1)
  })

  it('keeps the account of a renamed and of a moved entry', async () => {
    world.add('ada', 'bob', ...many)
    await world.provide()
    await world.sync()
    const before = [await world.user('ada'), await world.user('bob')]
    world.ldap.entries = world.ldap.entries.map((entry) => {
      if (entry.dn === dnOf(world.named('ada')))
        return {
          ...person(world.named('ada-lee'), { modifyTimestamp: [stamp(2)] }),
          attributes: {
            ...person(world.named('ada-lee'), { modifyTimestamp: [stamp(2)] }).attributes,
            entryUUID: entry.attributes['entryUUID'] ?? [],
          },
        }
      return entry.dn === dnOf(world.named('bob'))
        ? { ...entry, dn: `uid=${world.named('bob')},ou=sub,${base}` }
        : entry
    })
    expect(counts(await world.sync())).toEqual([0, 1, 0, 0])
    expect((await world.user('ada-lee')).userId).toBe(before[0].userId)
    expect((await world.user('bob')).userId).toBe(before[1].userId)
  })

  it('takes a new entry with the name of one that is gone for another person, and reports it', async () => {
    world.add('ada', ...many)
    await world.provide()
    await world.sync()
    const { userId } = await world.user('ada')
    world.remove('ada')
    world.ldap.entries.push(
      person(world.named('ada'), {
        entryUUID: [`new-${world.named('')}`],
        modifyTimestamp: [stamp(3)],
      }),
    )
    const { body } = await world.sync()
    expect([body.added, body.removed, body.failed]).toEqual([0, 1, 1])
    expect(body.failures[0]).toMatchObject({ name: world.named('ada') })
    expect(body.failures[0].problem).toContain('it is another person')
    expect(await world.user('ada')).toMatchObject({ userId, enabled: false })
  })

  it('replaces the person at once where users who left are deleted', async () => {
    world.add('ada', ...many)
    await world.provide({ onMissing: 'delete' })
    await world.sync()
    const { userId } = await world.user('ada')
    world.remove('ada')
    world.ldap.entries.push(
      person(world.named('ada'), {
        entryUUID: [`new-${world.named('')}`],
        modifyTimestamp: [stamp(3)],
      }),
    )
    expect(counts(await world.sync())).toEqual([1, 0, 1, 0])
    expect((await world.user('ada')).userId).not.toBe(userId)
  })

  it('ends the access of users who leave, which does not begin again when they come back', async () => {
    world.add('ada', 'bob')
    await world.provide()
    await world.sync()
    const { storage, sessions } = world.site.site.server.areas
    const realm = realmOf(world.site.site)
    const { userId } = await world.user('ada')
    const settings = (await world.site.site.server.areas.realm.settingsOf(realm)) as SettingsDoc
    const opened = sessions.openStatements({
      realm,
      userId,
      ip: '127.0.0.1',
      userAgent: undefined,
      rememberMe: false,
      settings,
    })
    await storage.commit(opened.statements)
    const granted = await world.site.grant(world.named('ada'), secretOf(world.named('ada')))
    const isActive = async (): Promise<boolean> => {
      const { clientId, secret } = world.site.client
      const asked = { token: granted.body.access_token, client_id: clientId, client_secret: secret }
      return (await world.site.site.post('/introspect', asked)).body.active
    }
    const isSignedIn = async () =>
      (await sessions.find(realm, opened.cookieValue, settings)) !== undefined
    expect([await isSignedIn(), await isActive()]).toEqual([true, true])

    world.remove('ada')
    expect(counts(await world.sync())).toEqual([0, 0, 1, 0])
    world.add('ada')
    expect(counts(await world.sync())).toEqual([0, 1, 0, 0])
    expect((await world.user('ada')).enabled).toBe(true)
    expect([await isSignedIn(), await isActive()]).toEqual([false, false])
  })

  it('enables a user who comes back, and no user whom an administrator has disabled', async () => {
    world.add('ada', 'bob', ...many)
    await world.provide()
    await world.sync()
    world.remove('ada')
    await world.sync()
    const bob = await world.user('bob')
    await world.admin('PUT', `/users/${bob.userId}`, { ...bob, enabled: false })
    world.add('ada')
    expect(counts(await world.sync())).toEqual([0, 1, 0, 0])
    expect(await world.user('ada')).toMatchObject({ enabled: true })
    expect(counts(await world.sync('?full=true'))).toEqual([0, 0, 0, 0])
    expect(await world.user('bob')).toMatchObject({ enabled: false })
  })

  it('keeps users who left where the directory says so', async () => {
    world.add('ada', ...many)
    await world.provide({ onMissing: 'keep' })
    await world.sync()
    world.remove('ada')
    expect(counts(await world.sync())).toEqual([0, 0, 0, 0])
    expect(await world.user('ada')).toMatchObject({ enabled: true })
  })

  it('never takes over a user who has the name or the address of an entry', async () => {
    const made = await world.admin('POST', '/users', {
      username: world.named('ada'),
      email: 'taken@corp.example',
    })
    world.add('ada', ...many)
    world.ldap.entries.push(person(world.named('eve'), { mail: ['taken@corp.example'] }))
    await world.provide()
    const { body } = await world.sync()
    expect([body.added, body.failed]).toEqual([30, 2])
    expect((await world.user('ada')).userId).toBe(made.body.userId)
    const links = await world.site.site.server.areas.users.links.ofUser(made.body.userId)
    expect(links).toEqual([])
  })

  it('stops before it removes more than a tenth of the users, and says whom', async () => {
    world.add(...many)
    await world.provide()
    await world.sync()
    for (const uid of many.slice(0, 4)) world.remove(uid)
    const before = await world.stored()
    const stopped = await world.sync()
    expect(stopped.status).toBe(409)
    expect(stopped.body).toMatchObject({ code: 'removals' })
    expect(stopped.body.detail).toContain(
      'would disable 4 and delete 0 of 30 users, and 3 are allowed',
    )
    expect(stopped.body.users).toContain(world.named('user-00'))
    expect((await world.sync('?dryRun=true')).status).toBe(409)
    expect(await world.stored()).toBe(before)
    expect(counts(await world.sync('?allowRemovals=4'))).toEqual([0, 0, 4, 0])
  })

  it('stops before it removes the addresses of more than a tenth of the users, whose attribute is hidden', async () => {
    world.add(...many)
    await world.provide()
    await world.sync()
    const before = await world.stored()
    world.ldap.faults.search = (call, found) =>
      isUsers(call)
        ? { entries: found.map((one) => ({ ...one, attributes: { ...one.attributes, mail: [] } })) }
        : undefined
    const { status, body } = await world.sync('?full=true')
    expect([status, body.code]).toEqual([409, 'removals'])
    expect(body.detail).toContain('would remove the addresses of 30 of 30 users')
    expect(await world.stored()).toBe(before)
    expect(counts(await world.sync('?full=true&allowRemovals=30'))).toEqual([0, 30, 0, 0])
  })

  describe('with an answer that cannot be trusted changes nothing:', () => {
    it.each([
      [
        'no entry at all',
        { search: (call: SearchCall) => (isUsers(call) ? { entries: [] } : undefined) },
      ],
      [
        'the size limit',
        {
          search: (call: SearchCall, found: readonly LdapEntry[]) =>
            isUsers(call) ? { entries: found, code: 4 } : undefined,
        },
      ],
      [
        'an administrative limit',
        {
          search: (call: SearchCall, found: readonly LdapEntry[]) =>
            isUsers(call) ? { entries: found, code: 11 } : undefined,
        },
      ],
      [
        'the time limit',
        {
          search: (call: SearchCall, found: readonly LdapEntry[]) =>
            isUsers(call) ? { entries: found, code: 3 } : undefined,
        },
      ],
      [
        'a referral',
        { search: (call: SearchCall) => (isUsers(call) ? { entries: [], code: 10 } : undefined) },
      ],
      [
        'a lost right',
        { search: (call: SearchCall) => (isUsers(call) ? { entries: [], code: 50 } : undefined) },
      ],
      ['a base that is not there', { search: () => ({ entries: [], code: 32 }) }],
      [
        'half of the pages, then an end',
        {
          search: (call: SearchCall) =>
            isUsers(call) && call.cookie === '20' ? ('hang-up' as const) : undefined,
        },
      ],
      [
        'a page without its control',
        {
          search: (call: SearchCall, found: readonly LdapEntry[]) =>
            isUsers(call) ? { entries: found, withoutControl: true } : undefined,
        },
      ],
      [
        'bytes that are not LDAP',
        {
          search: (call: SearchCall) =>
            isUsers(call) ? Buffer.from([0x30, 5, 2, 1, 2, 0xff, 0]) : undefined,
        },
      ],
      [
        'an entry that is longer than its message',
        {
          search: (call: SearchCall) =>
            isUsers(call) ? Buffer.from([0x30, 7, 2, 1, 2, 0x64, 9, 4, 0]) : undefined,
        },
      ],
      [
        'an entry of another tree',
        {
          search: (call: SearchCall) =>
            isUsers(call) ? { entries: [{ ...person('x'), dn: 'uid=x,dc=evil' }] } : undefined,
        },
      ],
    ])('%s', async (_name, faults) => {
      world.add(...many)
      await world.provide()
      await world.sync()
      const before = await world.stored()
      world.ldap.faults = faults as typeof world.ldap.faults
      const full = await world.sync('?full=true')
      expect(full.status).toBe(503)
      expect((await world.sync()).status).toBe(503)
      world.ldap.faults = {}
      expect(await world.stored()).toBe(before)
    })

    it('an empty page with a cookie is not the last (RFC 2696 §3)', async () => {
      world.add(...many)
      await world.provide()
      world.ldap.faults.search = (call, found) =>
        isUsers(call) && call.cookie === ''
          ? { entries: [], cookie: '00' }
          : { entries: found, ...(call.cookie === '00' ? { cookie: '10' } : {}) }
      expect((await world.sync()).body.added).toBe(30)
    })
  })

  it('runs once at a time: a second one is ignored', async () => {
    world.add(...many)
    await world.provide()
    const all = await Promise.all([world.sync(), world.sync(), world.sync()])
    expect(all.map(({ body }) => body.ignored).sort()).toEqual([false, true, true])
    expect(all.reduce((sum, { body }) => sum + body.added, 0)).toBe(30)
  })

  it('keeps users and groups of a directory whose document is replaced under its alias', async () => {
    world.add('ada', ...many)
    world.ldap.entries.push(group(`team-${world.named('')}`, [dnOf(world.named('ada'))]))
    await world.provide({ groupSearchBase: groupBase })
    await world.sync()
    const { userId } = await world.user('ada')
    expect(
      (await world.admin('DELETE', `/identity-providers/${world.alias()}`)).status,
    ).toBeLessThan(300)
    expect(await world.user('ada')).toMatchObject({ userId, enabled: true })
    await world.provide({ groupSearchBase: groupBase })
    const { body } = await world.sync()
    expect(counts({ body })).toEqual([0, 0, 0, 0])
    expect(body.groups).toEqual({ added: 0, updated: 0, removed: 0, joined: 0, left: 0 })
    expect((await world.site.grant(world.named('ada'), secretOf(world.named('ada')))).status).toBe(
      200,
    )
  })

  it('asks the directory nothing for a list, a search or one of its users', async () => {
    world.add(...many)
    await world.provide()
    await world.sync()
    await world.site.grant(world.named('user-01'), secretOf(world.named('user-01')))
    world.ldap.forget()
    await world.admin('GET', '/users?max=100')
    await world.admin('GET', `/users?search=${world.named('user')}`)
    const { userId } = await world.user('user-01')
    await world.admin('GET', `/users/${userId}`)
    expect([world.ldap.searches.length, world.ldap.binds.length]).toEqual([0, 0])
  })

  it('is refused without the permission, for an unknown directory, and for a token that may only plan', async () => {
    world.add('ada')
    await world.provide()
    const realm = realmOf(world.site.site)
    const other = await world.site.site.server.userWith(realm, ['manage-users'])
    expect(
      (await other.send('POST', `/admin/realms/${realm}/user-federation/${world.alias()}/sync`))
        .status,
    ).toBe(403)
    expect((await world.admin('POST', '/user-federation/none/sync')).status).toBe(404)
  })
})
