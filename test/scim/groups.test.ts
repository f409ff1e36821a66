/** Groups by SCIM: members join and leave one by one, groups nest, and nothing loads members that nobody asked for. */

import { describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { insertRows } from '#server/storage/statements.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { groupSchema, openSite } from './sender.ts'

const site = openSite()

const valuesOf = ({ members = [] }: { members?: { value: string }[] }): string[] =>
  members.map(({ value }) => value).sort()

const read = async (id: string, query = '') =>
  (await site.scim.send('GET', `/Groups/${id}${query}`)).body

describe('a group', () => {
  it('is a group of the realm, with Location, ETag and members with their addresses', async () => {
    const user = await site.scim.user('amy')
    const answer = await site.scim.send('POST', '/Groups', {
      schemas: [groupSchema],
      displayName: 'Tour Guides',
      externalId: 'g-1',
      members: [{ value: user.id, $ref: 'https://elsewhere.example/', display: 'not Amy' }],
    })
    expect(answer.status).toBe(201)
    expect(answer.headers['location']).toBe(answer.body.meta.location)
    expect(answer.body).toMatchObject({
      displayName: 'Tour Guides',
      externalId: 'g-1',
      members: [{ value: user.id, $ref: user.meta.location, type: 'User' }],
      meta: { resourceType: 'Group', version: answer.headers['etag'] },
    })
    const shown = await site.world.admin('GET', `/groups/${answer.body.id}`)
    expect(shown.body).toMatchObject({ name: 'Tour Guides', memberCount: 1 })
    const { groups } = (await site.scim.send('GET', `/Users/${user.id}`)).body
    expect(groups).toEqual([
      {
        value: answer.body.id,
        $ref: answer.body.meta.location,
        display: 'Tour Guides',
        type: 'direct',
      },
    ])
  })

  it('has its name once, whatever the case, and any name that SCIM allows', async () => {
    await site.scim.group('Once')
    const again = await site.scim.send('POST', '/Groups', {
      schemas: [groupSchema],
      displayName: 'ONCE',
    })
    expect(again.body).toMatchObject({ status: '409', scimType: 'uniqueness' })
    for (const displayName of [
      'Sales/EMEA',
      '2819c223-7f76-453a-919d-413861904646',
      'Ümläute & Co',
    ]) {
      const group = await site.scim.group(displayName)
      expect(group.displayName).toBe(displayName)
      const filter = encodeURIComponent(`displayName eq "${displayName}"`)
      expect((await site.scim.send('GET', `/Groups?filter=${filter}`)).body.totalResults).toBe(1)
    }
  })

  it.each([
    ['g'.repeat(256), 'displayName has more than 255 characters'],
    ['tab\there', 'displayName must have no control characters, and not be "." or ".."'],
    ['..', 'displayName must have no control characters, and not be "." or ".."'],
  ])('is told why %j is no displayName', async (displayName, detail) => {
    const refused = { scimType: 'invalidValue', detail }
    const resource = { schemas: [groupSchema], displayName }
    expect((await site.scim.send('POST', '/Groups', resource)).body).toMatchObject(refused)
    const { id } = await site.scim.group(`told ${detail.length} ${displayName.length}`)
    const change = { op: 'replace', path: 'displayName', value: displayName }
    expect((await site.scim.patch(`/Groups/${id}`, change)).body).toMatchObject(refused)
  })

  it('keeps what an administrator gave it when a sender renames it', async () => {
    const role = await site.world.admin('POST', '/roles', { name: 'reader' })
    const made = await site.world.admin('POST', '/groups', {
      name: 'Readers',
      description: 'by hand',
    })
    const id = made.body.groupId
    await site.world.admin('PUT', `/groups/${id}/roles/${role.body.roleId}`)
    await site.scim.patch(`/Groups/${id}`, {
      op: 'replace',
      path: 'displayName',
      value: 'Book Readers',
    })
    expect((await site.world.admin('GET', `/groups/${id}`)).body).toMatchObject({
      name: 'Book Readers',
      description: 'by hand',
      roleNames: ['reader'],
    })
  })

  it('goes with DELETE; members and groups in it stay', async () => {
    const user = await site.scim.user('ben')
    const inner = await site.scim.group('Inner', { members: [{ value: user.id }] })
    const outer = await site.scim.group('Outer', {
      members: [{ value: inner.id }, { value: user.id }],
    })
    expect((await site.scim.send('DELETE', `/Groups/${outer.id}`)).status).toBe(204)
    expect((await site.scim.send('GET', `/Groups/${outer.id}`)).status).toBe(404)
    expect(valuesOf(await read(inner.id))).toEqual([user.id])
  })
})

describe('members', () => {
  it('join and leave by every spelling, once each, and no change is no event', async () => {
    const [a, b] = [(await site.scim.user('m-a')).id, (await site.scim.user('m-b')).id]
    const { id } = await site.scim.group('Members')
    const path = `/Groups/${id}`
    const add = { op: 'add', path: 'members', value: [{ value: a }, { value: a }, { value: b }] }
    const first = await site.scim.patch(path, add)
    expect(valuesOf(first.body)).toEqual([a, b].sort())
    const events = (await site.world.events()).length
    const second = await site.scim.patch(path, add)
    expect(second.body).toEqual(first.body)
    expect((await site.world.events()).length).toBe(events)
    await site.scim.patch(path, { op: 'remove', path: `members[value eq "${a}"]` })
    expect(valuesOf(await read(id))).toEqual([b])
    await site.scim.patch(path, { op: 'add', value: { members: [{ value: a }] } })
    await site.scim.patch(path, { op: 'remove', path: 'members', value: [{ value: b }] })
    expect(valuesOf(await read(id))).toEqual([a])
    await site.scim.patch(path, { op: 'remove', path: 'members' })
    expect(valuesOf(await read(id))).toEqual([])
  })

  it('change the version, so that a stale If-Match gets 412', async () => {
    const user = await site.scim.user('version')
    const group = await site.scim.group('Versions')
    const path = `/Groups/${group.id}`
    const stale = { 'if-match': group.meta.version }
    const body = {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [{ op: 'add', path: 'members', value: [{ value: user.id }] }],
    }
    const changed = await site.scim.send('PATCH', path, body, stale)
    expect(changed.status).toBe(200)
    expect(changed.headers['etag']).not.toBe(group.meta.version)
    expect((await site.scim.send('DELETE', path, undefined, stale)).status).toBe(412)
    const remove = { ...body, Operations: [{ op: 'remove', path: 'members' }] }
    expect((await site.scim.send('PATCH', path, remove, stale)).status).toBe(412)
    const current = { 'if-match': String(changed.headers['etag']) }
    expect((await site.scim.send('PATCH', path, remove, current)).status).toBe(200)
  })

  it('with unknown ids are left out, and the others join', async () => {
    const user = await site.scim.user('known')
    const { id } = await site.scim.group('Strangers')
    const strangers = ['00000000-0000-4000-8000-000000000000', 'nobody']
    const answer = await site.scim.patch(`/Groups/${id}`, {
      op: 'add',
      path: 'members',
      value: [{ value: user.id }, ...strangers.map((value) => ({ value }))],
    })
    expect([answer.status, valuesOf(answer.body)]).toEqual([200, [user.id]])
    for (const stranger of strangers) {
      const gone = { op: 'remove', path: `members[value eq "${stranger}"]` }
      expect(valuesOf((await site.scim.patch(`/Groups/${id}`, gone)).body)).toEqual([user.id])
    }
    for (const value of [7, [{ value: '\u0000' }], [{ value: 7 }]]) {
      const bad = { op: 'add', path: 'members', value }
      expect((await site.scim.patch(`/Groups/${id}`, bad)).status).toBe(400)
    }
  })

  it('cannot be changed in part, only as a whole (immutable, RFC 7643 §8.7.1)', async () => {
    const user = await site.scim.user('part')
    const { id } = await site.scim.group('Parts', { members: [{ value: user.id }] })
    const answer = await site.scim.patch(`/Groups/${id}`, {
      op: 'replace',
      path: `members[value eq "${user.id}"].value`,
      value: 'x',
    })
    expect(answer.body).toMatchObject({ status: '400', scimType: 'mutability' })
  })

  it('may be groups: a group in another one, never in two or in itself', async () => {
    const [team, part, other] = [
      await site.scim.group('Team'),
      await site.scim.group('Part'),
      await site.scim.group('Other Team'),
    ]
    const into = (id: string, member: string) =>
      site.scim.patch(`/Groups/${id}`, { op: 'add', path: 'members', value: [{ value: member }] })
    expect((await into(team.id, part.id)).body.members).toMatchObject([
      { value: part.id, type: 'Group' },
    ])
    expect((await into(other.id, part.id)).status).toBe(400)
    expect((await into(part.id, team.id)).status).toBe(400)
    expect((await into(team.id, team.id)).status).toBe(400)
    await site.scim.patch(`/Groups/${team.id}`, {
      op: 'remove',
      path: `members[value eq "${part.id}"]`,
    })
    expect((await into(other.id, part.id)).status).toBe(200)
    expect(valuesOf(await read(team.id))).toEqual([])
  })

  it('stay when the group goes, also one that has the name of the group', async () => {
    const child = await site.scim.group('Twins')
    const parent = await site.scim.group('Twin Parents', { members: [{ value: child.id }] })
    // An administrator gives two groups of the tree one name, a sender cannot.
    const renamed = await site.world.admin('PUT', `/groups/${parent.id}`, { name: 'Twins' })
    expect(renamed.status).toBeLessThan(300)
    expect((await site.scim.send('DELETE', `/Groups/${parent.id}`)).status).toBe(204)
    expect((await site.scim.send('GET', `/Groups/${parent.id}`)).status).toBe(404)
    const { displayName } = await read(child.id)
    expect(displayName).toBe('Twins')
    expect((await site.world.admin('GET', `/groups/${child.id}`)).body.parentId ?? null).toBeNull()
  })

  it('join or leave a group of thousands without a read of the other members', async () => {
    const { id } = await site.scim.group('Everybody')
    const { storage, users } = site.world.server.areas
    const rows = Array.from({ length: 10_000 }, (_, n) =>
      newUserRow({ username: `crowd-${n}` }, { id: newId(), realm: 'acme', now: 1 }),
    )
    await storage.commit([
      ...users.store.saveStatements(rows.map((after) => ({ before: undefined, after }))),
      ...insertRows(
        storage.db,
        'user_groups',
        rows.map(({ id: user_id }) => ({ user_id, group_id: id })),
      ),
    ])
    const one = await site.scim.user('ten-thousand-first')
    const joined = await site.scim.patch(`/Groups/${id}`, {
      op: 'add',
      path: 'members',
      value: [{ value: one.id }],
    })
    expect([joined.status, joined.body]).toEqual([204, ''])
    expect((await read(id)).members).toHaveLength(10_001)
    expect(await read(id, '?excludedAttributes=members')).not.toHaveProperty('members')
    const left = await site.scim.patch(`/Groups/${id}`, {
      op: 'remove',
      path: `members[value eq "${one.id}"]`,
    })
    expect(left.status).toBe(204)
    const filter = encodeURIComponent(`members.value eq "${rows[0]?.id}"`)
    const found = await site.scim.send('GET', `/Groups?filter=${filter}&excludedAttributes=members`)
    expect(found.body.Resources).toMatchObject([{ id, displayName: 'Everybody' }])
  })
})
