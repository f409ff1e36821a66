/** Groups of a directory as groups of the realm: nested ones, those of Active Directory, and whose members a sync may change. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import type { LdapEntry } from './ldap-server.ts'
import { dnOf, group, groupBase, many, openSyncWorld, type SyncWorld } from './sync-world.ts'

describe.each(backends)('groups of a directory on $name', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
  })
  afterAll(() => world?.close())
  beforeEach(() => world.next())

  it('makes groups, nested ones too, however they go round, and follows them', async () => {
    world.add('ada', 'bob', 'carl', ...many)
    const name = (cn: string): string => `${cn}-${world.named('')}`
    const dn = (cn: string): string => `cn=${name(cn)},${groupBase}`
    const groups = (inner: readonly string[]): LdapEntry[] => [
      group(name('staff'), [dnOf(world.named('ada')).toUpperCase(), dn('devs')]),
      group(name('devs'), [dnOf(world.named('bob')), dn('ring'), ...inner]),
      group(name('ring'), [dnOf(world.named('carl')), dn('devs'), 'uid=stranger,dc=elsewhere']),
    ]
    world.ldap.entries.push(...groups([]))
    await world.provide({ groupSearchBase: groupBase })
    const first = await world.sync()
    expect(first.body.groups).toEqual({ added: 3, updated: 0, removed: 0, joined: 7, left: 0 })
    const all = (await world.admin('GET', '/groups')).body
    const staff = all.find((one: { name: string }) => one.name === name('staff'))
    expect(staff.memberCount).toBe(3)
    expect((await world.sync()).body.groups).toMatchObject({ joined: 0, left: 0 })

    world.ldap.entries = [
      ...world.ldap.entries.filter((one) => !one.dn.includes('ou=groups') || one.dn === groupBase),
      ...groups([dnOf(world.named('user-01'))]),
    ]
    expect((await world.sync()).body.groups).toEqual({
      added: 0,
      updated: 0,
      removed: 0,
      joined: 3,
      left: 0,
    })
    // A member who is no user of the directory stays.
    const local = await world.admin('POST', '/users', { username: world.named('local') })
    await world.admin('PUT', `/groups/${staff.groupId}/members/${local.body.userId}`)
    world.ldap.entries = [
      ...world.ldap.entries.filter((one) => !one.dn.includes('ou=groups') || one.dn === groupBase),
      ...groups([]),
    ]
    expect((await world.sync()).body.groups).toMatchObject({ joined: 0, left: 3 })

    // Renamed: the same group.
    world.ldap.entries = world.ldap.entries.map((one) =>
      one.dn === dn('staff')
        ? { ...one, dn: dn('crew'), attributes: { ...one.attributes, cn: [name('crew')] } }
        : one,
    )
    expect((await world.sync()).body.groups).toMatchObject({ added: 0, updated: 1, removed: 0 })
    const renamed = (await world.admin('GET', '/groups')).body
    expect(renamed.find((one: { groupId: string }) => one.groupId === staff.groupId).name).toBe(
      name('crew'),
    )

    world.ldap.entries = world.ldap.entries.filter((one) => one.dn !== dn('crew'))
    expect((await world.sync()).body.groups).toMatchObject({ removed: 1 })
    // No group at all is more likely a lost right than the end of all groups.
    world.ldap.entries = world.ldap.entries.filter((one) => !one.dn.endsWith(`,${groupBase}`))
    expect((await world.sync()).status).toBe(503)
  })

  it('finds members in another spelling of their DN, and by username where members are named so', async () => {
    world.add('ada', 'bob', ...many)
    const [ada, bob] = [world.named('ada'), world.named('bob')]
    const spelled = `UID = "${ada}" , OU=\\50eople;dc=corp,dc=example`
    const name = `posix-${world.named('')}`
    world.ldap.entries.push(group(name, [spelled], { memberUid: [bob.toUpperCase(), 'stranger'] }))
    await world.provide({ groupSearchBase: groupBase })
    expect((await world.sync()).body.groups).toMatchObject({ added: 1, joined: 1 })
    expect((await world.sync()).body).toMatchObject({ mode: 'changes', groups: { left: 0 } })
    await world.provide({ groupSearchBase: groupBase, membershipAttribute: 'memberUid' })
    expect((await world.sync()).body.groups).toMatchObject({ joined: 1, left: 1 })
    const again = await world.sync()
    expect(again.body).toMatchObject({ mode: 'changes', groups: { joined: 0, left: 0 } })
  })

  describe('that the bind user may no longer read change nothing, not even users:', () => {
    const team = (n: number): string => `team-${n}-${world.named('')}`
    const prepare = async (): Promise<string> => {
      world.add('ada', 'bob')
      const members = ['ada', 'bob'].map((uid) => dnOf(world.named(uid)))
      world.ldap.entries.push(...[1, 2, 3].map((n) => group(team(n), members)))
      await world.provide({ groupSearchBase: groupBase })
      expect((await world.sync()).body.groups).toMatchObject({ added: 3, joined: 6 })
      const before = await world.stored()
      world.add('carl')
      return before
    }

    it('all entries are hidden', async () => {
      const before = await prepare()
      world.ldap.faults.search = ({ base }) => (base === groupBase ? { entries: [] } : undefined)
      expect((await world.sync()).status).toBe(503)
      expect(await world.stored()).toBe(before)
    })

    it('some entries are hidden, until the removals are allowed', async () => {
      const before = await prepare()
      world.ldap.faults.search = ({ base }, found) =>
        base === groupBase ? { entries: found.filter(({ dn }) => dn.includes(team(1))) } : undefined
      const { status, body } = await world.sync()
      expect([status, body.code]).toEqual([409, 'removals'])
      expect(body.detail).toContain(`would delete 2 of 3 groups (${team(2)}, ${team(3)})`)
      expect(await world.stored()).toBe(before)
      expect((await world.sync('?allowRemovals=2')).body).toMatchObject({
        added: 1,
        groups: { removed: 2 },
      })
    })

    it('their members are hidden, until the removals are allowed', async () => {
      const before = await prepare()
      world.ldap.faults.search = ({ base }, found) =>
        base === groupBase
          ? {
              entries: found.map((one) => ({
                ...one,
                attributes: { ...one.attributes, member: [] },
              })),
            }
          : undefined
      const { status, body } = await world.sync()
      expect([status, body.code]).toEqual([409, 'removals'])
      expect(body.detail).toContain('would end all 6 memberships in groups')
      expect(await world.stored()).toBe(before)
      expect((await world.sync('?allowRemovals=6')).body).toMatchObject({
        added: 1,
        groups: { left: 6 },
      })
    })
  })

  it('never fills a group that it did not make, whose roles would go to members of the directory', async () => {
    world.add('ada', ...many)
    const name = `admins-${world.named('')}`
    await world.admin('POST', '/groups', { name })
    world.ldap.entries.push(group(name, [dnOf(world.named('ada'))]))
    await world.provide({ groupSearchBase: groupBase })
    const { body } = await world.sync()
    expect(body.groups).toMatchObject({ added: 0, joined: 0 })
    expect(body.failures).toEqual([
      { name, problem: 'there is a group of this name that is not of the directory' },
    ])
  })

  it.each([
    ['by the rule of the domain', undefined, 1],
    ['name by name, where the domain refuses the rule', { entries: [], code: 18 }, 2],
    ['name by name, where the domain finds nothing by the rule', { entries: [] }, 2],
  ])(
    'follows groups of Active Directory that the filter leaves out %s, and asks for them only where there can be one',
    async (_how, answered, requests) => {
      world.ldap.faults.search = ({ filter }) =>
        JSON.stringify(filter).includes('1.2.840.113556.1.4.1941') ? answered : undefined
      world.add('ada', 'bob', 'carl')
      const guid = (n: number): Buffer => Buffer.alloc(16, n)
      world.ldap.entries = world.ldap.entries.map((entry, i) =>
        entry.dn.startsWith('uid=')
          ? { ...entry, attributes: { ...entry.attributes, objectGUID: [guid(100 + i)] } }
          : entry,
      )
      const root = 'dc=corp,dc=example'
      const name = (cn: string): string => `${cn}-${world.named('')}`
      const team = (cn: string, n: number, below: string, members: readonly string[]) => ({
        dn: `cn=${name(cn)},${below}`,
        attributes: {
          objectClass: ['group'],
          cn: [name(cn)],
          objectGUID: [guid(n)],
          member: members,
        },
      })
      const [ada, bob, carl] = ['ada', 'bob', 'carl'].map((uid) => dnOf(world.named(uid)))
      world.ldap.entries.push(
        { dn: '', attributes: { defaultNamingContext: [root] } },
        team('staff', 1, groupBase, [ada ?? '', `cn=${name('hidden')},${root}`]),
        // Outside of groupSearchBase, and around a group that contains it.
        team('hidden', 2, root, [bob ?? '', `cn=${name('deeper')},${root}`]),
        team('deeper', 3, root, [carl ?? '', `cn=${name('hidden')},${root}`]),
        team('alone', 4, groupBase, [ada ?? '']),
      )
      await world.provide({ groupSearchBase: groupBase }, { protocol: 'ad' })
      const { body } = await world.sync()
      expect([body.added, body.failures]).toEqual([3, []])
      expect(body.groups).toMatchObject({ added: 2, joined: 4 })
      const between = world.ldap.searches.filter((call) => call.base === root)
      expect(between).toHaveLength(requests)

      world.ldap.entries = world.ldap.entries.filter(({ dn }) => !dn.includes(name('deeper')))
      expect((await world.sync()).body.groups).toMatchObject({ joined: 0, left: 1 })
    },
  )

  it('reads a group of Active Directory in ranges, and the primary group, which lists no members', async () => {
    world.add('ada', 'bob', 'carl')
    const sid = (rid: number): Buffer => {
      const bytes = Buffer.from('010500000000000515000000000000000000000000000000', 'hex')
      return Buffer.concat([bytes, Buffer.from([rid & 255, rid >> 8, 0, 0])])
    }
    const guid = (n: number): Buffer =>
      Buffer.from(
        `${world.named('').slice(1).padStart(2, '0')}${String(n).padStart(2, '0')}`.repeat(8),
        'hex',
      )
    world.ldap.entries = world.ldap.entries.map((entry, i) =>
      entry.dn.startsWith('uid=')
        ? {
            ...entry,
            attributes: { ...entry.attributes, objectGUID: [guid(i)], primaryGroupID: ['513'] },
          }
        : entry,
    )
    const big = `big-${world.named('')}`
    const bigDn = `cn=${big},${groupBase}`
    world.ldap.entries.push(
      {
        dn: bigDn,
        attributes: {
          objectClass: ['group'],
          cn: [big],
          objectGUID: [guid(90)],
          objectSid: [sid(1200)],
        },
      },
      {
        dn: `cn=all-${world.named('')},${groupBase}`,
        attributes: {
          objectClass: ['group'],
          cn: [`all-${world.named('')}`],
          objectGUID: [guid(91)],
          objectSid: [sid(513)],
        },
      },
    )
    const members = ['ada', 'bob', 'carl'].map((uid) => dnOf(world.named(uid)))
    world.ldap.faults.search = (call, found) => {
      const asked = call.attributes.find((one) => one.startsWith('member;range='))
      if (call.base === bigDn && asked)
        return { entries: [{ dn: bigDn, attributes: { 'member;range=2-*': members.slice(2) } }] }
      if (call.base !== groupBase || call.scope !== 2) return undefined
      return {
        entries: found.map((one) =>
          one.dn === bigDn
            ? { ...one, attributes: { ...one.attributes, 'member;range=0-1': members.slice(0, 2) } }
            : one,
        ),
      }
    }
    await world.provide({ groupSearchBase: groupBase }, { protocol: 'ad' })
    const { body } = await world.sync()
    expect(body).toMatchObject({ added: 3, failed: 0 })
    expect(body.groups).toMatchObject({ added: 2, joined: 6 })
    const { body: groups } = await world.admin('GET', '/groups')
    const sizeOf = (name: string): number =>
      groups.find((one: { name: string }) => one.name === name).memberCount
    expect([sizeOf(big), sizeOf(`all-${world.named('')}`)]).toEqual([3, 3])
  })
})
