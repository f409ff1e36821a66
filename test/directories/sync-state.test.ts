/** What a sync remembers, what it never does to administrators, and how far it says it is. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { put, remove, senderTo } from '../realm/changesets/changeset.ts'
import { anyBackend, backends } from '../support/backends.ts'
import { signIn } from '../support/processes/browserless.ts'
import { configFor, realmOf, secretOf } from './people.ts'
import {
  counts,
  dnOf,
  isUsers,
  many,
  openSyncWorld,
  person,
  type SyncWorld,
  stamp,
} from './sync-world.ts'

describe.each(backends)('a sync of changes on $name', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
  })
  afterAll(() => world?.close())
  beforeEach(() => world.next())

  const numbered = (uid: string, n: number, attributes = {}) =>
    person(world.named(uid), {
      entryCSN: [`20261101100000.${String(n).padStart(6, '0')}Z#000000#000#000000`],
      ...attributes,
    })
  const change = (uid: string, n: number, attributes = {}): void => {
    world.ldap.entries = world.ldap.entries.map((entry) =>
      entry.dn === dnOf(world.named(uid)) ? numbered(uid, n, attributes) : entry,
    )
  }
  /** Entries that were read whole since the last call. */
  const wholeReads = (): number => {
    const reads = world.ldap.searches.filter(
      (call) => isUsers(call) && call.attributes.includes('sn'),
    ).length
    world.ldap.forget()
    return reads
  }

  it('reads no entry again whose change has a number that it has read', async () => {
    world.ldap.entries.push(...many.map((uid, n) => numbered(uid, n)))
    await world.provide()
    expect(counts(await world.sync())).toEqual([30, 0, 0, 0])
    wholeReads()
    expect(counts(await world.sync())).toEqual([0, 0, 0, 0])
    expect(wholeReads()).toBe(0)
    // In the same second as the change before.
    change('user-07', 90, { sn: ['First'] })
    expect(counts(await world.sync())).toEqual([0, 1, 0, 0])
    change('user-07', 91, { sn: ['Second'] })
    expect(counts(await world.sync())).toEqual([0, 1, 0, 0])
    expect(await world.user('user-07')).toMatchObject({ lastName: 'Second' })
    wholeReads()
    expect(counts(await world.sync())).toEqual([0, 0, 0, 0])
    expect(wholeReads()).toBe(0)
    // By a server whose clock is minutes behind, and by one whose clock is too far behind for a sync of changes.
    change('user-08', 92, { sn: ['Late'], modifyTimestamp: ['20261101095700Z'] })
    change('user-09', 93, { sn: ['Too late'], modifyTimestamp: ['20261101090000Z'] })
    expect(counts(await world.sync())).toEqual([0, 1, 0, 0])
    expect(counts(await world.sync('?full=true'))).toEqual([0, 1, 0, 0])
  })

  it('reads entries again that could not be written, until they can', async () => {
    world.ldap.entries.push(...many.map((uid, n) => numbered(uid, n)))
    await world.provide()
    await world.sync()
    const local = await world.admin('POST', '/users', { username: world.named('local') })
    change('user-01', 80, { uid: [world.named('local')] })
    expect(counts(await world.sync())).toEqual([0, 0, 0, 1])
    expect(counts(await world.sync())).toEqual([0, 0, 0, 1])
    await world.admin('DELETE', `/users/${local.body.userId}`)
    expect(counts(await world.sync())).toEqual([0, 1, 0, 0])
  })

  it('reads entries of Active Directory again that could not be written, until they can', async () => {
    const changed = (uid: string, n: number, attributes = {}) =>
      person(world.named(uid), {
        objectGUID: [Buffer.alloc(16, uid.charCodeAt(0))],
        uSNChanged: [String(n)],
        ...attributes,
      })
    const domainOf = (usn: number, ...people: (typeof world.ldap.entries)[number][]): void => {
      const others = world.ldap.entries.filter(({ dn }) => dn !== '' && !dn.startsWith('uid='))
      const root = { dn: '', attributes: { highestCommittedUSN: [String(usn)] } }
      world.ldap.entries = [...others, root, ...people]
    }
    domainOf(20, changed('ada', 11), changed('bob', 12))
    await world.provide({}, { protocol: 'ad' })
    expect(counts(await world.sync())).toEqual([2, 0, 0, 0])
    const local = await world.admin('POST', '/users', { username: world.named('local') })
    domainOf(30, changed('ada', 25, { uid: [world.named('local')] }), changed('bob', 12))
    expect(counts(await world.sync())).toEqual([0, 0, 0, 1])
    domainOf(40, changed('ada', 25, { uid: [world.named('local')] }), changed('bob', 12))
    expect(counts(await world.sync())).toEqual([0, 0, 0, 1])
    await world.admin('DELETE', `/users/${local.body.userId}`)
    const { body } = await world.sync()
    expect([body.mode, ...counts({ body })]).toEqual(['changes', 0, 1, 0, 0])
    expect(await world.user('local')).toMatchObject({ enabled: true })
  })

  it('decides who has a name when it knows who left, whatever page the names are on', async () => {
    world.add(...many)
    await world.provide({ onMissing: 'delete' })
    await world.sync()
    // The first entry takes the name of the last, whose entry is gone.
    const [first = '', last = ''] = [many[0], many.at(-1)]
    world.remove(last)
    world.ldap.entries = world.ldap.entries.map((entry) =>
      entry.dn === dnOf(world.named(first))
        ? {
            ...entry,
            attributes: {
              ...entry.attributes,
              uid: [world.named(last)],
              mail: [`${world.named(last)}@corp.example`],
              modifyTimestamp: [stamp(5)],
            },
          }
        : entry,
    )
    const { userId } = await world.user(first)
    expect(counts(await world.sync())).toEqual([0, 1, 1, 0])
    expect((await world.user(last)).userId).toBe(userId)
  })
})

describe.each(anyBackend)('the document of a directory on $name', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
  })
  afterAll(() => world?.close())
  beforeEach(() => world.next())

  it('keeps its users when it is renamed; the plan of its deletion, and of what shuts it, counts who loses the way in', async () => {
    world.add(...many)
    await world.provide()
    expect(counts(await world.sync())).toEqual([30, 0, 0, 0])
    const { server } = world.site.site
    const changesets = senderTo(server, realmOf(world.site.site))
    const config = configFor(world.ldap.url)
    const { bindPassword, ...plain } = config
    const doc = { alias: 'renamed', protocol: 'ldap', config: plain }
    const renamed = await changesets.apply([
      {
        ...put('identity-provider', 'renamed', doc),
        op: 'rename',
        from: world.alias(),
        secrets: { '/config/bindPassword': String(bindPassword) },
      },
    ])
    expect([renamed.status, renamed.body]).toEqual([200, expect.anything()])
    const path = '/user-federation/renamed/sync?full=true'
    expect(counts(await world.admin('POST', path))).toEqual([0, 0, 0, 0])
    const name = world.named('user-01')
    expect((await world.site.grant(name, secretOf(name))).status).toBe(200)

    for (const operation of [
      remove('identity-provider', 'renamed'),
      put('identity-provider', 'renamed', { ...doc, enabled: false }),
      put('identity-provider', 'renamed', { ...doc, linkOnly: true }),
    ]) {
      const planned = await changesets.apply([operation], { dryRun: true })
      expect(planned.body.impacts).toEqual([
        expect.objectContaining({
          kind: 'identity-provider',
          key: 'renamed',
          members: 30,
          users: 30,
        }),
      ])
    }
    expect((await world.admin('DELETE', '/identity-providers/renamed')).status).toBe(204)
    expect(await world.user('user-01')).toMatchObject({ enabled: true })
  })
})

describe.each(anyBackend)('a directory that replaces another on $name', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
    world.next()
  })
  afterAll(() => world?.close())

  it('enables the user whom the other one had disabled, once the entry is back', async () => {
    world.add('ada', 'bob')
    await world.provide()
    await world.sync()
    world.remove('ada')
    expect(counts(await world.sync())).toEqual([0, 0, 1, 0])
    await world.admin('DELETE', `/identity-providers/${world.alias()}`)
    await world.provide()
    world.add('ada')
    expect(counts(await world.sync())).toEqual([0, 1, 0, 0])
    expect(await world.user('ada')).toMatchObject({ enabled: true })
  })
})

describe.each(anyBackend)('a directory of the master realm on $name', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
    world.next()
  })
  afterAll(() => world?.close())

  it('never disables the last administrator, whose entry is gone, and reports it', async () => {
    const { server } = world.site.site
    const master = '/admin/realms/master'
    const config = configFor(world.ldap.url)
    world.add('chief', ...many)
    const doc = { alias: 'corp', protocol: 'ldap', config }
    expect((await server.admin.send('POST', `${master}/identity-providers`, doc)).status).toBe(201)
    const path = `${master}/user-federation/corp/sync`
    expect(counts(await server.admin.send('POST', path))).toEqual([31, 0, 0, 0])
    const name = world.named('chief')
    const [{ userId }] = (await server.admin.send('GET', `${master}/users?search=${name}`)).body
    // Before the role: a password of the directory alone admits no administrator.
    const chief = await signIn(server.baseUrl, 'master', name, secretOf(name))
    const given = await server.admin.send('POST', `${master}/users/${userId}/roles`, {
      name: 'admin',
    })
    expect(given.status).toBeLessThan(300)
    const first = `${master}/users/${server.admin.userId}`
    expect((await chief.send('PUT', first, { username: 'admin', enabled: false })).status).toBe(200)

    world.remove('chief')
    world.remove('user-00')
    const { body } = await chief.send('POST', path)
    expect(body).toMatchObject({ removed: 1, failed: 1 })
    expect(body.failures).toEqual([
      { name, problem: expect.stringContaining('would have no administrator who can sign in') },
    ])
    expect((await chief.send('GET', `${master}/users/${userId}`)).body.enabled).toBe(true)
    const again = await chief.send('PUT', first, { username: 'admin', enabled: true })
    expect(again.status).toBe(200)
    expect(counts(await chief.send('POST', path))).toEqual([0, 0, 1, 0])
  })
})

describe.each(anyBackend)('the standing of a sync on $name', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
  })
  afterAll(() => world?.close())
  beforeEach(() => world.next())

  const standing = async () =>
    (await world.admin('GET', `/user-federation/${world.alias()}/sync`)).body

  it('says how far it is while it runs, and what came of it', async () => {
    world.add(...many)
    await world.provide()
    expect(await standing()).toEqual({
      running: false,
      progress: null,
      finishedAt: null,
      outcome: null,
    })
    // Slower than what is told of a short sync.
    const { promise, resolve } = Promise.withResolvers<void>()
    let pages = 0
    world.ldap.faults.wait = async (call) => {
      if (!isUsers(call)) return
      pages += 1
      if (pages === 2) await new Promise((ended) => setTimeout(ended, 600))
      if (pages === 3) await promise
    }
    const syncing = world.sync()
    await expect
      .poll(standing)
      .toMatchObject({ running: true, progress: { phase: 'read', done: 20, total: null } })
    resolve()
    expect(counts(await syncing)).toEqual([30, 0, 0, 0])
    expect(await standing()).toEqual({
      running: false,
      progress: null,
      finishedAt: expect.any(Number),
      outcome: '30 added, 0 updated, 0 removed, 0 failed',
    })
    world.ldap.faults.search = (call) => (isUsers(call) ? { entries: [], code: 50 } : undefined)
    expect((await world.sync()).status).toBe(503)
    expect((await standing()).outcome).toContain('failed: search below')
  })
})
