/** The version of a group follows its members however they change, and a stale If-Match never writes (RFC 7644 §3.14). */

import { describe, expect, it } from 'vitest'
import { openSite, patchSchema, userSchema } from './sender.ts'

const site = openSite()

const etagOf = async (id: string): Promise<string> =>
  (await site.scim.send('GET', `/Groups/${id}?excludedAttributes=members`)).body.meta.version

interface Declared {
  readonly username: string
  readonly groups?: readonly string[]
  readonly firstName?: string
}

const applied = async (doc: Declared): Promise<void> => {
  const { status, body } = await site.world.admin('POST', '/changesets', {
    baseRevision: (await site.world.admin('GET', '/export')).body.revision,
    source: 'estate',
    operations: [{ op: 'put', kind: 'user', key: doc.username, doc }],
  })
  if (status !== 200) throw new Error(JSON.stringify(body))
}

describe('the version of a group', () => {
  it('changes when the admin API adds or removes a member, and stays when it changes nothing', async () => {
    const { id } = await site.scim.group('By Admin')
    const member = `/groups/${id}/members/${(await site.scim.user('by-admin')).id}`
    const versions = [await etagOf(id)]
    for (const method of ['PUT', 'PUT', 'DELETE', 'DELETE']) {
      expect((await site.world.admin(method, member)).status).toBe(204)
      versions.push(await etagOf(id))
    }
    const [first, joined, again, left, gone] = versions
    expect([again, gone]).toEqual([joined, left])
    expect(new Set([first, joined, left]).size).toBe(3)
  })

  it('changes with the externalId of its sender, and a stale one is refused', async () => {
    const group = await site.scim.group('Named By Sender')
    const path = `/Groups/${group.id}`
    const first = group.meta.version
    const change = { op: 'add', path: 'externalId', value: 'sender-1' }
    const { body } = await site.scim.patch(path, change)
    expect(body.externalId).toBe('sender-1')
    expect(body.meta.version).not.toBe(first)
    expect((await site.scim.send('GET', path)).body.meta).toEqual(body.meta)
    const again = await site.scim.send('GET', path, undefined, { 'if-none-match': first })
    expect([again.status, again.body.externalId]).toEqual([200, 'sender-1'])
    const stale = await site.scim.send('DELETE', path, undefined, { 'if-match': first })
    expect(stale.status).toBe(412)
    const same = await site.scim.patch(path, change)
    expect(same.body.meta.version).toBe(body.meta.version)
  })

  it('changes when a member is deleted', async () => {
    const user = await site.scim.user('leaver')
    const { id, meta } = await site.scim.group('Left', { members: [{ value: user.id }] })
    expect((await site.world.admin('DELETE', `/users/${user.id}`)).status).toBe(204)
    expect(await etagOf(id)).not.toBe(meta.version)
  })

  it('changes when an apply declares the groups of a user, and stays when it declares something else', async () => {
    const { id, meta } = await site.scim.group('Declared')
    const declared = { username: 'declared', groups: ['/Declared'] }
    await applied(declared)
    const joined = await etagOf(id)
    expect(joined).not.toBe(meta.version)
    await applied({ ...declared, firstName: 'Dee' })
    expect(await etagOf(id)).toBe(joined)
    await applied({ ...declared, groups: [] })
    expect(await etagOf(id)).not.toBe(joined)
  })

  it('changes when the admin API makes, moves or deletes a group below it', async () => {
    const { id } = await site.scim.group('Above')
    const versions = [await etagOf(id)]
    const child = await site.world.admin('POST', '/groups', { name: 'Child', parentId: id })
    versions.push(await etagOf(id))
    const path = `/groups/${child.body.groupId}`
    const renamed = await site.world.admin('PUT', path, { name: 'Children', parentId: id })
    expect(renamed.status).toBe(200)
    expect(await etagOf(id)).toBe(versions[1])
    expect((await site.world.admin('DELETE', path)).status).toBe(204)
    versions.push(await etagOf(id))
    expect(new Set(versions).size).toBe(3)
  })

  it('gets 304 with If-None-Match until a member joins', async () => {
    const { id, meta } = await site.scim.group('Known')
    const ask = () =>
      site.scim.send('GET', `/Groups/${id}`, undefined, { 'if-none-match': meta.version })
    expect((await ask()).status).toBe(304)
    await site.world.admin('PUT', `/groups/${id}/members/${(await site.scim.user('newcomer')).id}`)
    expect((await ask()).status).toBe(200)
  })
})

describe('the version of a user', () => {
  it('changes when the user joins or leaves a group and when the group is renamed (RFC 7644 §3.14)', async () => {
    const user = await site.scim.user('joiner')
    const group = await site.scim.group('Joined')
    const path = `/Users/${user.id}`
    const read = async (query = '') => (await site.scim.send('GET', `${path}${query}`)).body.meta
    const patch = async (...operations: readonly object[]) =>
      expect((await site.scim.patch(`/Groups/${group.id}`, ...operations)).status).toBeLessThan(300)
    const versions = [user.meta.version]
    const known = { 'if-none-match': user.meta.version }
    expect((await site.scim.send('GET', path, undefined, known)).status).toBe(304)
    await patch({ op: 'add', path: 'members', value: [{ value: user.id }] })
    const fresh = await site.scim.send('GET', path, undefined, known)
    expect([fresh.status, fresh.body.groups[0].display]).toEqual([200, 'Joined'])
    expect(fresh.headers['etag']).toBe(fresh.body.meta.version)
    versions.push(fresh.body.meta.version)
    expect((await read('?excludedAttributes=groups')).version).toBe(versions[1])
    const listed = await site.scim.send('GET', `/Users?filter=id%20eq%20%22${user.id}%22`)
    expect(listed.body.Resources[0].meta.version).toBe(versions[1])
    await patch({ op: 'replace', path: 'displayName', value: 'Renamed' })
    versions.push((await read()).version)
    await patch({ op: 'remove', path: `members[value eq "${user.id}"]` })
    expect(new Set(versions).size).toBe(3)
    expect((await read()).version).toBe(versions[0])
  })

  it('of a member matches If-Match, and an older version gets 412', async () => {
    const user = await site.scim.user('member-match')
    await site.scim.group('Match', { members: [{ value: user.id }] })
    const path = `/Users/${user.id}`
    const put = (version: string) =>
      site.scim.send(
        'PUT',
        path,
        { schemas: [userSchema], userName: 'member-match', title: 'x' },
        { 'if-match': version },
      )
    expect((await put(user.meta.version)).status).toBe(412)
    const { version } = (await site.scim.send('GET', path)).body.meta
    expect((await put(version)).status).toBe(200)
  })
})

describe('a stale If-Match', () => {
  it('of a group is refused after a change by the admin API', async () => {
    const { id, meta } = await site.scim.group('Stale')
    await site.world.admin('PUT', `/groups/${id}/members/${(await site.scim.user('stale')).id}`)
    const stale = { 'if-match': meta.version }
    const body = {
      schemas: [patchSchema],
      Operations: [{ op: 'replace', path: 'displayName', value: 'Fresh' }],
    }
    expect((await site.scim.send('PATCH', `/Groups/${id}`, body, stale)).status).toBe(412)
    expect((await site.scim.send('DELETE', `/Groups/${id}`, undefined, stale)).status).toBe(412)
  })

  it('never deletes a resource that was changed between the check and the write', async () => {
    const user = await site.scim.user('race')
    const group = await site.scim.group('Race')
    // By the admin API: SCIM writes of a realm may wait for each other.
    const { admin } = site.world
    const races = [
      {
        resource: user,
        path: `/Users/${user.id}`,
        change: () => admin('PUT', '/users/race', { username: 'race', firstName: 'Other' }),
      },
      {
        resource: group,
        path: `/Groups/${group.id}`,
        change: () => admin('PUT', `/groups/${group.id}/members/${user.id}`),
      },
    ]
    const { storage } = site.world.server.areas
    const { commit } = storage
    for (const { resource, path, change } of races) {
      const statuses: number[] = []
      // The first write of the DELETE comes after a change that it has not seen.
      storage.commit = async (statements) => {
        storage.commit = commit
        statuses.push((await change()).status)
        return commit(statements)
      }
      const stale = { 'if-match': resource.meta.version }
      expect((await site.scim.send('DELETE', path, undefined, stale)).status).toBe(412)
      expect(statuses).toEqual([expect.toBeOneOf([200, 204])])
      expect((await site.scim.send('GET', path)).status).toBe(200)
    }
  })

  it('of a declared user is refused in the same write', async () => {
    await applied({ username: 'managed' })
    const { userId: id } = (await site.world.admin('GET', '/users/managed')).body
    for (let round = 0; round < 8; round += 1) {
      const { version } = (await site.scim.send('GET', `/Users/${id}`)).body.meta
      const put = (title: string) =>
        site.scim.send(
          'PUT',
          `/Users/${id}`,
          { schemas: [userSchema], userName: 'managed', title: `${title}-${round}` },
          { 'if-match': version },
        )
      const answers = await Promise.all([put('a'), put('b')])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
    }
  })
})

it('a version that If-None-Match names is not changed or deleted (RFC 9110 §13.1.2)', async () => {
  for (const path of [
    `/Users/${(await site.scim.user('excluded')).id}`,
    `/Groups/${(await site.scim.group('Excluded')).id}`,
  ]) {
    const { meta, ...resource } = (await site.scim.send('GET', path)).body
    const body = {
      PUT: resource,
      PATCH: {
        schemas: [patchSchema],
        Operations: [{ op: 'replace', path: 'externalId', value: 'excluded' }],
      },
      DELETE: undefined,
    }
    for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
      for (const given of ['*', meta.version]) {
        const answer = await site.scim.send(method, path, body[method], {
          'if-none-match': given,
        })
        expect([method, given, answer.status]).toEqual([method, given, 412])
      }
    }
    expect((await site.scim.send('GET', path)).body).toEqual({ ...resource, meta })
    const other = { 'if-none-match': 'W/"other"' }
    expect((await site.scim.send('DELETE', path, undefined, other)).status).toBe(204)
  }
})
