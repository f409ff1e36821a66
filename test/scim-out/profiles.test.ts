/** What `compatibility` is for: targets that differ from RFC 7644 as their vendors document it (docs/decisions/scim-profiles.md). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import type { Asked, Fault } from './scim-peer.ts'
import { openWorld, type World } from './world.ts'

describe.each(anyBackend)('a SCIM target with compatibility on $name', (backend) => {
  let world: World

  beforeEach(async () => {
    world = await openWorld(backend)
  })
  afterEach(() => world.close())

  const reconcile = (target: string, query = '') =>
    world.send('POST', `/scim-targets/${target}/reconcile${query}`)
  const writesOf = (method: string) => world.peer.writes().filter((one) => one.method === method)

  describe('aws', () => {
    /** Lists by cursor, a hundred at most, and groups without members (ListUsers, GetGroup). */
    const awsLists = ({ method, path, query }: Asked): Fault | undefined => {
      const parameters = new URLSearchParams(query)
      if (parameters.has('startIndex') || parameters.has('excludedAttributes'))
        return { status: 400 }
      if (method === 'GET' && path.startsWith('/Groups/')) {
        const group = world.peer.groups.get(path.slice('/Groups/'.length))
        return { status: 200, body: { ...group, members: [] } }
      }
      if (method !== 'GET' || path !== '/Users' || parameters.has('filter')) return undefined
      const all = [...world.peer.users.values()]
      const from = Number(parameters.get('cursor') || 0)
      const to = from + Math.min(Number(parameters.get('count') ?? 100), 100)
      const next = to < all.length ? { nextCursor: String(to) } : {}
      const body = parameters.has('cursor')
        ? { Resources: all.slice(from, to), itemsPerPage: to - from, ...next }
        : { Resources: all.slice(0, to), totalResults: all.length, startIndex: 1 }
      return { status: 200, body }
    }

    it('sends both names and one primary address, also where the address is mapped', async () => {
      await world.addUser('ann', {
        firstName: '',
        lastName: '',
        attributes: { work: ['ann@work.example'] },
      })
      await world.target({
        compatibility: 'aws',
        mapping: { 'emails[type eq "work"].value': 'attributes.work' },
      })
      expect(world.peer.user('ann')).toMatchObject({
        name: { givenName: 'ann', familyName: 'ann' },
        displayName: 'ann',
        emails: [{ type: 'work', value: 'ann@work.example', primary: true }],
      })
    })

    it('reconciles users by cursor, and groups by name and sent members', async () => {
      const { body } = await world.send('POST', '/groups', { name: 'all' })
      for (let i = 0; i < 230; i += 1) await world.addUser(`user-${i}`)
      const ann = await world.addUser('ann')
      await world.send('PUT', `/groups/${body.groupId}/members/${ann}`)
      world.peer.fail(awsLists)
      const target = await world.target({ compatibility: 'aws' })
      expect(world.peer.membersOf('all')).toEqual(['ann'])
      const same = await reconcile(target, '?dryRun=true')
      expect(same.body, JSON.stringify(same.body)).toMatchObject({ compared: 232, changes: [] })
      const remote = world.peer.user('user-7')
      if (remote) remote['displayName'] = 'Changed there'
      const group = world.peer.group('all')
      if (group) group['displayName'] = 'everyone'
      const { body: report } = await reconcile(target, '?dryRun=true')
      expect(report.changes.map(({ name }: { name: string }) => name)).toEqual(['user-7', 'all'])
    })

    it('loses members by a list of their ids, and no others', async () => {
      const { body } = await world.send('POST', '/groups', { name: 'all' })
      const ids: string[] = []
      for (const name of ['ann', 'ben', 'cem', 'dan']) ids.push(await world.addUser(name))
      for (const id of ids) await world.send('PUT', `/groups/${body.groupId}/members/${id}`)
      const target = await world.target({ compatibility: 'aws' })
      const leaving = ['ben', 'cem'].map((name) => world.peer.user(name)?.id)
      await world.change(target, { enabled: false })
      for (const id of ids.slice(1, 3))
        await world.send('DELETE', `/groups/${body.groupId}/members/${id}`)
      world.peer.asked.length = 0
      await world.change(target, { enabled: true })
      expect(world.peer.membersOf('all')).toEqual(['ann', 'dan'])
      const [{ body: sent } = { body: {} }] = writesOf('PATCH')
      expect(sent.Operations).toEqual([{ op: 'remove', path: 'members', value: expect.any(Array) }])
      const values: { value: string }[] = sent.Operations[0].value
      expect(values.map(({ value }) => value).sort()).toEqual(leaving.sort())
    })

    it('refuses a list that never ends', async () => {
      const target = await world.target({ compatibility: 'aws' })
      world.peer.fail(({ path, query }) =>
        path === '/Users' && query.includes('cursor')
          ? { status: 200, body: { Resources: [], nextCursor: 'again' } }
          : undefined,
      )
      const refused = await reconcile(target, '?dryRun=true')
      expect(refused.status).toBeGreaterThanOrEqual(400)
      expect(refused.body.detail).toContain('repeats a cursor')
    })
  })

  describe('slack', () => {
    it('is asked no more than three times a second, and keeps the externalId of users it had', async () => {
      world.peer.users.set('U1', { id: 'U1', userName: 'ann', active: true, externalId: '' })
      for (const name of ['ann', 'ben', 'cem']) await world.addUser(name)
      world.peer.fail(({ method, body }) =>
        method === 'PATCH' && JSON.stringify(body).includes('externalId')
          ? { status: 400 }
          : undefined,
      )
      const began = performance.now()
      await world.target({ compatibility: 'slack', syncGroups: false })
      // Each is looked for, and then written.
      expect(world.peer.asked).toHaveLength(6)
      expect(performance.now() - began).toBeGreaterThan((5 * 1000) / 3 - 20)
      expect(world.peer.user('ann')).toMatchObject({ id: 'U1', displayName: 'First ann' })
      expect(world.active()).toEqual(['ann', 'ben', 'cem'])
    })
  })

  describe('gitlab', () => {
    /** The id of a user is the externalId of the create; filters know nothing else, and changes nothing but `active`. */
    const gitlab = ({ method, path, query, body }: Asked): Fault | undefined => {
      const { users } = world.peer
      const shown = ({ id, userName, active, emails }: Record<string, unknown>) => ({
        id,
        userName,
        active,
        emails,
        'name.formatted': 'Test',
      })
      if (path.startsWith('/Groups')) return { status: 404 }
      if (method === 'POST') {
        const { externalId: id, userName, emails, name } = body
        if (!id || !userName || !emails || !name) return { status: 400 }
        if (users.has(id)) return { status: 409 }
        const made = { id, userName, emails, active: true }
        users.set(id, made)
        return { status: 201, body: shown(made) }
      }
      if (method === 'GET') {
        const filter = new URLSearchParams(query).get('filter')
        const id = filter === null ? undefined : /^id eq "([^"]+)"$/.exec(filter)?.[1]
        if (filter !== null && id === undefined) return { status: 412 }
        const found = [...users.values()].filter((one) => id === undefined || one.id === id)
        const list = { totalResults: found.length, Resources: found.map(shown) }
        return { status: 200, body: list }
      }
      const user = users.get(path.slice('/Users/'.length))
      if (!user) return { status: 404 }
      const [operation, ...others] = body.Operations
      if (method !== 'PATCH' || others.length > 0 || operation.path !== 'active')
        return { status: 400 }
      user['active'] = operation.value
      return { status: 204, body: {} }
    }

    it('gets users, and only changes of attributes that it can change', async () => {
      world.peer.fail(gitlab)
      const target = await world.target({ compatibility: 'gitlab' })
      const ann = await world.addUser('ann', { firstName: '', lastName: '' })
      await world.settled()
      expect(world.peer.user('ann')).toMatchObject({ id: ann, active: true })
      world.peer.asked.length = 0
      await world.changeUser(ann, { lastName: 'Other', username: 'anna' })
      await world.settled()
      expect(world.peer.writes()).toEqual([])
      await world.changeUser(ann, { enabled: false })
      await world.settled()
      expect(world.peer.user('ann')?.['active']).toBe(false)
      expect((await world.send('GET', `/scim-targets/${target}/status`)).body).toMatchObject({
        lastError: null,
        users: { waiting: 0, failed: 0 },
      })
      expect(world.peer.asked.some(({ path }) => path.startsWith('/Groups'))).toBe(false)
    })

    it('gets a user once although the answer was lost, and reconciles what it answers', async () => {
      const ann = await world.addUser('ann')
      world.peer.users.set(ann, {
        id: ann,
        userName: 'ann',
        active: true,
        emails: [{ type: 'work', value: 'ann@acme.example', primary: true }],
      })
      world.peer.fail(gitlab)
      const target = await world.target({ compatibility: 'gitlab' })
      expect(writesOf('POST')).toEqual([])
      const { body } = await reconcile(target, '?dryRun=true')
      expect(body).toMatchObject({ compared: 1, strangers: 0, changes: [] })
    })
  })
})
