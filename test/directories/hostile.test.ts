/** Directories that try to use up the memory, the processor or the time of a server that other realms share. */

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { anyBackend } from '../support/backends.ts'
import { entryMessage, type LdapEntry, type LdapServer, startLdap } from './ldap-server.ts'
import { base, bindUser, configFor, secretOf } from './people.ts'
import {
  dnOf,
  group,
  groupBase,
  isUsers,
  openSyncWorld,
  person,
  type SyncWorld,
} from './sync-world.ts'

describe.each(anyBackend)('a hostile directory on $name', (backend) => {
  let world: SyncWorld
  let late = 0
  const clock: Clock = { now: () => Date.now() + late }
  beforeAll(async () => {
    world = await openSyncWorld(backend, { clock })
  })
  afterAll(() => world?.close())
  beforeEach(() => {
    late = 0
    world.next()
  })

  /** A sync that changes nothing; why it stopped. */
  const refused = async (query = ''): Promise<string> => {
    const before = await world.stored()
    const { status, body } = await world.sync(query)
    expect([status, body.code]).toEqual([503, 'unavailable'])
    const { db } = world.site.site.server.areas.storage
    const users = await db.selectFrom('users').select('id').execute()
    expect(users).toHaveLength(JSON.parse(before)[0].length)
    return body.detail
  }

  it('with a name of any length is given up, by a sync and by a sign-in', async () => {
    world.add('ada')
    await world.provide()
    const endless = (entry: LdapEntry): LdapEntry => ({
      ...entry,
      dn: entry.dn.replace('uid=', `uid=${'\\,'.repeat(5000)}`),
    })
    world.ldap.faults.search = (call, found) =>
      isUsers(call) ? { entries: found.map(endless) } : undefined
    expect(await refused()).toContain('more than 8192 characters')
    const name = world.named('ada')
    expect((await world.site.grant(name, secretOf(name))).status).not.toBe(200)
  })

  it('with a member of any length is given up', async () => {
    world.add('ada')
    await world.provide({ groupSearchBase: groupBase })
    world.ldap.entries.push(group(world.named('staff'), [`uid=${'\\,'.repeat(5000)},${base}`]))
    expect(await refused()).toContain('more than 8192 characters')
  })

  it('whose pages never end is given up (RFC 2696 §3)', { timeout: 60_000 }, async () => {
    world.add('ada')
    await world.provide()
    world.ldap.faults.search = (call) =>
      isUsers(call) ? { entries: [], cookie: 'again' } : undefined
    expect(await refused()).toContain('the pages of the directory do not end')
  })

  it('with more entries than a sync holds in memory is given up', {
    timeout: 120_000,
  }, async () => {
    await world.provide()
    const crowd = (id: number): Buffer =>
      Buffer.concat(new Array(500_001).fill(entryMessage(id, { dn: base, attributes: {} }, [])))
    world.ldap.faults.search = (call) => (isUsers(call) ? crowd(call.id) : undefined)
    expect(await refused()).toContain('more than 500000 entries')
  })

  it('that makes up a group within every group is given up', { timeout: 60_000 }, async () => {
    world.add('ada')
    const guid = (n: number): Buffer => Buffer.from(String(n).padStart(32, '0'), 'hex')
    world.ldap.entries = world.ldap.entries.map((entry) =>
      entry.dn.startsWith('uid=')
        ? { ...entry, attributes: { ...entry.attributes, objectGUID: [guid(1)] } }
        : entry,
    )
    const root = 'dc=corp,dc=example'
    const team = (n: number, below: string) => ({
      dn: `cn=${world.named('team')}-${n},${below}`,
      attributes: {
        objectClass: ['group'],
        cn: [`${world.named('team')}-${n}`],
        objectGUID: [guid(100 + n)],
        member: [`cn=${world.named('team')}-${n + 1},${root}`],
      },
    })
    world.ldap.entries.push(
      { dn: '', attributes: { defaultNamingContext: [root] } },
      team(0, groupBase),
    )
    let made = 0
    world.ldap.faults.search = (call) => {
      if (JSON.stringify(call.filter).includes('1.2.840.113556.1.4.1941')) return { entries: [] }
      if (call.base !== root) return undefined
      made += 1
      // Ends all the same, for a server that would go on.
      return { entries: made > 2000 ? [] : [team(made, root)] }
    }
    await world.provide({ groupSearchBase: groupBase }, { protocol: 'ad' })
    expect(await refused()).toContain('nested more than 100 deep')
  })

  it('whose groups multiply their members is given up', { timeout: 120_000 }, async () => {
    const size = 2300
    world.add(...Array.from({ length: size }, (_, i) => `u${i}`))
    const name = (i: number): string => `${world.named('ring')}-${i}`
    const users = Array.from({ length: size }, (_, i) => dnOf(world.named(`u${i}`)))
    // Each group has the next one in it, and the last one all users.
    for (let i = 0; i < size; i += 1)
      world.ldap.entries.push(
        group(name(i), i === size - 1 ? users : [`cn=${name(i + 1)},${groupBase}`]),
      )
    await world.provide({ groupSearchBase: groupBase, pageSize: 1000 })
    expect(await refused('?dryRun=true')).toContain('more than 5000000 members')
  })

  describe('that answers slowly', () => {
    let other: LdapServer
    beforeAll(async () => {
      other = await startLdap([
        bindUser,
        { dn: base, attributes: { objectClass: ['organizationalUnit'] } },
        person('zoe'),
      ])
      const { server } = world.site.site
      const path = await server.createRealm('zebra')
      const document = { alias: 'zoo', protocol: 'ldap' }
      const config = { ...configFor(other.url), syncSchedule: '15m' }
      await server.admin.send('POST', `${path}/identity-providers`, { ...document, config })
    })
    afterAll(() => other.close())

    const isThere = async (): Promise<boolean> => {
      const { admin } = world.site.site.server
      const { body } = await admin.send('GET', '/admin/realms/zebra/users?search=zoe')
      return body.length === 1
    }

    it('keeps the scheduled syncs of its own realm waiting alone, and for an hour at most', {
      timeout: 60_000,
    }, async () => {
      world.add('ada')
      await world.provide({ syncSchedule: '15m' })
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      world.ldap.faults.wait = (call) => (isUsers(call) ? released : Promise.resolve())
      const { scheduledSyncs } = world.site.site.server.areas
      const round = scheduledSyncs(new AbortController().signal)
      try {
        await vi.waitFor(async () => expect(await isThere()).toBe(true), { timeout: 20_000 })
        late = 3_601_000
      } finally {
        release()
        await round
      }
      late = 0
      const [event] = await world.site.site.events('ADMIN_ACTION')
      expect(event).toMatchObject({ outcome: 'FAILURE', actor: 'system' })
      expect(event?.detail).toContain('was not read within 60 minutes')
      expect(await world.user('ada')).toBeUndefined()
    })
  })
})
