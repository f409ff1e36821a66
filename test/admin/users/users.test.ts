/** Users over the admin API: life cycle, search, pages, roles, locks, and conflicts of names. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import { userSchema } from '#server/admin/users/users.ts'
import { newId } from '#server/platform/ids.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const fits = lazyValidator(createAjv(), userSchema)

describe.each(backends)('users on $name', (backend) => {
  let server: TestServer
  const base = '/admin/realms/acme'
  const users = `${base}/users`
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const send = (method: string, url: string, body?: unknown, headers?: Record<string, string>) =>
    server.admin.send(method, url, body, headers)
  const make = async (fields: object = {}) => {
    const made = await send('POST', users, { username: `user-${newId()}`, ...fields })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return { ...made.body, url: `${users}/${made.body.userId}`, etag: String(made.headers['etag']) }
  }
  const eventsOf = (id: string) =>
    server.areas.storage.db
      .selectFrom('audit_events')
      .select(['type', 'category', 'actor', 'outcome', 'detail', 'resource_type'])
      .where('resource_id', '=', id)
      .orderBy('id')
      .execute()
  const typesOf = async (id: string) => (await eventsOf(id)).map(({ type }) => type)

  describe('one', () => {
    it('is created with the defaults and the default role, read, replaced and deleted', async () => {
      const made = await send('POST', users, { username: 'Alice', email: 'Alice@Example.org' })
      expect(made.status).toBe(201)
      expect(fits(made.body)).toEqual([])
      expect(made.body).toEqual({
        realmId: 'acme',
        userId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        username: 'Alice',
        email: 'Alice@Example.org',
        emailVerified: false,
        firstName: null,
        lastName: null,
        enabled: true,
        locked: false,
        mfaEnabled: false,
        roles: ['user'],
        attributes: {},
        requiredActions: [],
        managed: false,
        createdAt: expect.any(Number),
      })
      const url = `${users}/${made.body.userId}`
      expect(made.headers['location']).toBe(url)
      const read = await send('GET', url)
      expect(read).toMatchObject({ status: 200, body: made.body })
      expect(read.headers['etag']).toBe(made.headers['etag'])

      const full = {
        username: 'alice2',
        email: 'alice@example.net',
        emailVerified: true,
        firstName: 'Alice',
        lastName: 'Liddell',
        enabled: false,
        locked: true,
        attributes: { team: ['red', 'blue'] },
        requiredActions: ['VERIFY_EMAIL', 'UPDATE_PASSWORD'],
      }
      const replaced = await send('PUT', url, full)
      expect(replaced).toMatchObject({ status: 200, body: full })
      expect(fits(replaced.body)).toEqual([])
      expect(replaced.headers['etag']).not.toBe(read.headers['etag'])
      expect((await send('GET', url)).body).toEqual(replaced.body)

      const bare = await send('PUT', url, { username: 'alice2' })
      expect(bare.body).toEqual({ ...made.body, username: 'alice2', email: null })

      expect(await send('DELETE', url)).toMatchObject({ status: 204, body: '' })
      expect((await send('GET', url)).status).toBe(404)
      expect((await send('DELETE', url)).status).toBe(404)
      expect(await typesOf(made.body.userId)).toEqual([
        'ADMIN_CREATE',
        'ADMIN_UPDATE',
        'USER_LOCKED',
        'ADMIN_UPDATE',
        'USER_UNLOCKED',
        'ADMIN_DELETE',
      ])
    })

    it('is found by id and by username, whatever its case, and not by email or half a name', async () => {
      const { userId, username } = await make({ email: `${newId()}@example.org` })
      for (const name of [userId, userId.toUpperCase(), username, username.toUpperCase()])
        expect((await send('GET', `${users}/${encodeURIComponent(name)}`)).body.userId).toBe(userId)
      expect((await send('GET', `${users}/${username.slice(0, -1)}`)).status).toBe(404)
      expect((await send('GET', `${users}/${newId()}`)).status).toBe(404)
    })

    it('takes what a read shows: read-only fields that do not differ are ignored', async () => {
      const { url } = await make({ firstName: 'Bo', attributes: { a: ['1'] } })
      const { body, headers } = await send('GET', url)
      const repeated = await send('PUT', url, body)
      expect(repeated).toMatchObject({ status: 200, body })
      expect(repeated.headers['etag']).toBe(headers['etag'])
      expect(await typesOf(body.userId)).toEqual(['ADMIN_CREATE'])
    })

    it('refuses read-only fields that differ, on create any, and unknown ones always', async () => {
      const { url } = await make()
      const { body } = await send('GET', url)
      for (const [field, value] of Object.entries({
        realmId: 'master',
        userId: newId(),
        mfaEnabled: true,
        roles: ['admin'],
        managed: true,
        createdAt: 1,
      })) {
        expect(await send('PUT', url, { ...body, [field]: value })).toMatchObject({
          status: 400,
          body: { code: 'validation', errors: [{ field: `/${field}`, code: 'read-only' }] },
        })
        const created = await send('POST', users, { username: 'x', [field]: body[field] })
        expect(created).toMatchObject({ status: 400, body: { errors: [{ field: `/${field}` }] } })
      }
      for (const field of ['password', 'isAdmin', 'groups', 'credentials'])
        for (const [method, to] of [
          ['POST', users],
          ['PUT', url],
        ] as const)
          expect(await send(method, to, { username: 'x', [field]: 'y' })).toMatchObject({
            status: 400,
            body: { errors: [{ field: `/${field}`, code: 'unknown-field' }] },
          })
    })

    it('names every field that is wrong at once', async () => {
      const answer = await send('POST', users, {
        email: 'no address',
        enabled: 'yes',
        attributes: { a: 'b' },
        requiredActions: ['DANCE'],
      })
      expect(answer.status).toBe(400)
      const fields = answer.body.errors.map(({ field }: { field: string }) => field)
      expect(fields).toEqual(
        expect.arrayContaining(['/username', '/enabled', '/attributes/a', '/requiredActions/0']),
      )
      const bad = await send('POST', users, { username: 'a b', email: 'no address' })
      expect(bad.body.errors.map(({ field }: { field: string }) => field)).toEqual([
        '/username',
        '/email',
      ])
    })

    it('changed since it was read is not changed again: 412, also when deleted', async () => {
      const { url, username, etag } = await make()
      const first = await send('PUT', url, { username, firstName: 'A' }, { 'if-match': etag })
      expect(first.status).toBe(200)
      const second = await send('PUT', url, { username, firstName: 'B' }, { 'if-match': etag })
      expect(second).toMatchObject({ status: 412, body: { code: 'precondition-failed' } })
      expect((await send('DELETE', url, undefined, { 'if-match': etag })).status).toBe(412)
      expect((await send('GET', url)).body.firstName).toBe('A')
      const now = String(first.headers['etag'])
      expect((await send('DELETE', url, undefined, { 'if-match': now })).status).toBe(204)
    })

    it('is changed by one of many who read the same, and by all who ask for no match', async () => {
      const { url, username, etag } = await make()
      const matching = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          send('PUT', url, { username, firstName: `m${i}` }, { 'if-match': etag }),
        ),
      )
      expect(matching.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(412)])
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, i) => send('PUT', url, { username, firstName: `n${i}` })),
      )
      expect(all.map(({ status }) => status)).toEqual(Array(8).fill(200))
    })

    it('cannot delete itself', async () => {
      const self = await send('DELETE', `/admin/realms/master/users/${server.admin.userId}`)
      expect(self).toMatchObject({ status: 409, body: { code: 'conflict' } })
    })
  })

  describe('a name that is taken', () => {
    it('is 409 with its field, across usernames and emails and whatever the spelling', async () => {
      const tag = newId().slice(-8)
      await make({ username: `carol-${tag}`, email: `carol-${tag}@example.org` })
      const other = await make({ username: `dave-${tag}`, email: `dave-${tag}@example.org` })
      const taken = [
        [{ username: `carol-${tag}` }, ['/username']],
        [{ username: `CAROL-${tag}` }, ['/username']],
        [{ username: `ｃａｒｏｌ-${tag}` }, ['/username']],
        [{ username: `carol-${tag}@example.org` }, ['/username']],
        [{ username: `new-${tag}`, email: `CAROL-${tag}@EXAMPLE.org` }, ['/email']],
        [{ username: `carol-${tag}`, email: `dave-${tag}@example.org` }, ['/username', '/email']],
      ] as const
      for (const [body, fields] of taken) {
        const answer = await send('POST', users, body)
        expect(answer, JSON.stringify(body)).toMatchObject({
          status: 409,
          body: { code: 'conflict' },
        })
        expect(answer.body.errors.map(({ field }: { field: string }) => field)).toEqual(fields)
      }
      for (const [body, fields] of taken.slice(0, 5)) {
        const answer = await send('PUT', other.url, body)
        expect(answer.status, JSON.stringify(body)).toBe(409)
        expect(answer.body.errors.map(({ field }: { field: string }) => field)).toEqual(fields)
      }
      const own = { username: `dave-${tag}@example.org`, email: `dave-${tag}@example.org` }
      expect((await send('PUT', other.url, own)).status).toBe(200)
    })

    it('is given to exactly one of many who want it at once', async () => {
      const username = `wanted-${newId()}`
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => send('POST', users, { username })),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
    })

    it('is free again once its holder is renamed or deleted', async () => {
      const username = `freed-${newId()}`
      const first = await make({ username })
      await send('PUT', first.url, { username: `renamed-${newId()}` })
      const second = await make({ username })
      await send('DELETE', second.url)
      await make({ username })
    })
  })

  describe('a list', () => {
    beforeAll(async () => {
      await server.createRealm('crowd')
      for (let i = 0; i < 25; i += 1)
        await send('POST', '/admin/realms/crowd/users', {
          username: `person-${String(i).padStart(2, '0')}`,
          email: `${i % 2 === 0 ? 'even' : 'odd'}-${i}@example.org`,
        })
    })
    const crowd = '/admin/realms/crowd/users'
    const names = (body: { username: string }[]) => body.map(({ username }) => username)

    it('is in the order of names, with the total and a link to the next page', async () => {
      const seen: string[] = []
      let url: string | undefined = `${crowd}?max=10`
      let pages = 0
      while (url !== undefined) {
        const answer = await send('GET', url)
        expect(answer.status).toBe(200)
        expect(answer.headers['x-total-count']).toBe('25')
        for (const user of answer.body) expect(fits(user)).toEqual([])
        seen.push(...names(answer.body))
        url = /^<([^>]+)>; rel="next"$/.exec(String(answer.headers['link'] ?? ''))?.[1]
        pages += 1
      }
      expect(pages).toBe(3)
      expect(seen).toEqual([...seen].sort())
      expect(new Set(seen).size).toBe(25)
    })

    it('is searched by the beginning of username or email, whatever the case', async () => {
      const found = await send('GET', `${crowd}?search=PERSON-0`)
      expect(found.headers['x-total-count']).toBe('10')
      expect(names(found.body)).toHaveLength(10)
      const odd = await send('GET', `${crowd}?search=odd-&first=10&max=5`)
      expect(odd.headers['x-total-count']).toBe('12')
      expect(names(odd.body)).toEqual(['person-21', 'person-23'])
      expect(odd.headers['link']).toBeUndefined()
      const next = await send('GET', `${crowd}?search=odd-&max=5`)
      expect(next.headers['link']).toBe(`<${crowd}?search=odd-&first=5&max=5>; rel="next"`)
      expect((await send('GET', `${crowd}?search=%25`)).body).toEqual([])
      expect((await send('GET', `${crowd}?search=_erson`)).body).toEqual([])
      expect((await send('GET', `${crowd}?search=${encodeURIComponent('a&b="c"')}`)).body).toEqual(
        [],
      )
    })

    it('is empty beyond its end and for a page of none, and refuses pages that cannot be', async () => {
      const beyond = await send('GET', `${crowd}?first=100`)
      expect(beyond.body).toEqual([])
      expect(beyond.headers['x-total-count']).toBe('25')
      const none = await send('GET', `${crowd}?max=0`)
      expect(none.body).toEqual([])
      expect(none.headers['link']).toBeUndefined()
      for (const query of ['max=-1', 'max=1001', 'max=x', 'first=-1', 'surprise=1'])
        expect((await send('GET', `${crowd}?${query}`)).status, query).toBe(400)
    })
  })

  describe('roles', () => {
    it('are listed, assigned by name and taken away, each once and with an event', async () => {
      const { url, userId } = await make()
      await send('POST', `${base}/roles`, { name: 'painter', description: 'Paints.' })
      expect((await send('POST', `${url}/roles`, { name: 'painter' })).status).toBe(204)
      expect((await send('POST', `${url}/roles`, { name: 'painter' })).status).toBe(204)
      const { body } = await send('GET', `${url}/roles`)
      expect(body.map(({ name }: { name: string }) => name).sort()).toEqual(['painter', 'user'])
      expect(body).toContainEqual({
        roleId: expect.any(String),
        name: 'painter',
        description: 'Paints.',
      })
      expect((await send('GET', url)).body.roles).toEqual(['painter', 'user'])
      expect((await send('DELETE', `${url}/roles/painter`)).status).toBe(204)
      expect((await send('DELETE', `${url}/roles/painter`)).status).toBe(204)
      expect((await send('GET', url)).body.roles).toEqual(['user'])
      expect((await eventsOf(userId)).map(({ type, detail }) => [type, detail])).toEqual([
        ['ADMIN_CREATE', null],
        ['ADMIN_UPDATE', 'role painter assigned'],
        ['ADMIN_UPDATE', 'role painter taken away'],
      ])
    })

    it('that do not exist are 404, and a wrong body is 400', async () => {
      const { url } = await make()
      expect((await send('POST', `${url}/roles`, { name: 'nobody' })).status).toBe(404)
      expect((await send('DELETE', `${url}/roles/nobody`)).status).toBe(404)
      expect((await send('POST', `${url}/roles`, {})).status).toBe(400)
      expect((await send('POST', `${url}/roles`, { roleId: 'x' })).status).toBe(400)
      expect((await send('GET', `${users}/${newId()}/roles`)).status).toBe(404)
    })

    it('follow their role: a new name shows, a deleted one is gone', async () => {
      const { url } = await make()
      await send('POST', `${base}/roles`, { name: 'temp' })
      await send('POST', `${url}/roles`, { name: 'temp' })
      await send('PUT', `${base}/roles/temp`, { name: 'temp-2' })
      expect((await send('GET', url)).body.roles).toEqual(['temp-2', 'user'])
      await send('DELETE', `${base}/roles/temp-2`)
      expect((await send('GET', url)).body.roles).toEqual(['user'])
    })

    it("begin with the realm's default role, whatever it is called", async () => {
      await server.createRealm('defaults')
      const at = '/admin/realms/defaults'
      await send('PUT', `${at}/roles/user`, { name: 'member' })
      const named = await send('POST', `${at}/users`, { username: 'one' })
      expect(named.body.roles).toEqual(['member'])
      const { body } = await send('GET', `${at}/settings`)
      expect(body.defaultRole).toBe('member')
      const unset = await send('PUT', `${at}/settings`, { ...body, defaultRole: null })
      expect(unset).toMatchObject({ status: 400, body: { errors: [{ field: '/defaultRole' }] } })
    })
  })

  describe('a lock', () => {
    it('by an administrator ends what the user does until it is lifted, and is recorded', async () => {
      const client = await server.userWith('acme', ['view-users'])
      const url = `${users}/${client.userId}`
      const { body } = await send('GET', url)
      expect((await send('PUT', url, { ...body, locked: true })).body.locked).toBe(true)
      expect((await client.send('GET', users)).status).toBe(401)
      expect((await send('PUT', url, { ...body, locked: false })).body.locked).toBe(false)
      expect(await typesOf(client.userId)).toEqual([
        'ADMIN_UPDATE',
        'USER_LOCKED',
        'ADMIN_UPDATE',
        'USER_UNLOCKED',
      ])
    })

    it('by failed attempts shows, stays one that ends by itself when repeated, and is lifted', async () => {
      const { url, userId } = await make()
      const subject = `user:${userId}`
      await server.areas.storage.commit([
        {
          sql: `insert into login_guards
            (realm, subject, failures, reserved, reserved_at, locked_until, last_failure_at)
            values ('acme', '${subject}', 10, 0, 0, ${Date.now() + 60_000}, ${Date.now()})`,
          parameters: [],
        },
      ])
      const { body } = await send('GET', url)
      expect(body.locked).toBe(true)
      const repeated = await send('PUT', url, { ...body, firstName: 'Changed' })
      expect(repeated.body).toMatchObject({ locked: true, firstName: 'Changed' })
      expect((await server.areas.users.store.find('acme', userId))?.locked).toBe(0)

      expect((await send('PUT', url, { ...body, locked: false })).body.locked).toBe(false)
      const left = await server.areas.storage.db
        .selectFrom('login_guards')
        .select('locked_until')
        .where('subject', '=', subject)
        .where('locked_until', '>', Date.now())
        .execute()
      expect(left).toEqual([])
      expect(await typesOf(userId)).toEqual([
        'ADMIN_CREATE',
        'ADMIN_UPDATE',
        'ADMIN_UPDATE',
        'USER_UNLOCKED',
      ])
    })

    it('and its counters are not touched by a change of something else', async () => {
      const { url, userId, username } = await make()
      const row = { realm: 'acme', subject: `user:${userId}` }
      await server.areas.storage.commit([
        {
          sql: `insert into login_guards
            (realm, subject, failures, reserved, reserved_at, locked_until, last_failure_at)
            values ('acme', '${row.subject}', 9, 0, 0, 0, ${Date.now()})`,
          parameters: [],
        },
      ])
      await send('PUT', url, { username, firstName: 'Changed' })
      const kept = await server.areas.storage.db
        .selectFrom('login_guards')
        .select('failures')
        .where('subject', '=', row.subject)
        .execute()
      expect(kept).toEqual([{ failures: 9 }])
    })
  })

  it('disabled loses its sessions for good', async () => {
    const client = await server.userWith('acme', ['view-users'])
    const url = `${users}/${client.userId}`
    const { body } = await send('GET', url)
    await send('PUT', url, { ...body, enabled: false })
    expect((await client.send('GET', users)).status).toBe(401)
    await send('PUT', url, { ...body, enabled: true })
    expect((await client.send('GET', users)).status).toBe(401)
  })

  it('deleted leave nothing behind', async () => {
    const client = await server.userWith('acme', [])
    const newPassword = 'a long password that nobody guesses'
    await send('PUT', `${users}/${client.userId}/password`, { newPassword })
    await send('PUT', `${users}/${client.userId}/password`, { newPassword: `${newPassword}!` })
    await send('DELETE', `${users}/${client.userId}`)
    const { db } = server.areas.storage
    for (const table of [
      'user_names',
      'credentials',
      'password_history',
      'user_roles',
      'sessions',
    ] as const)
      expect(
        await db.selectFrom(table).select('user_id').where('user_id', '=', client.userId).execute(),
        table,
      ).toEqual([])
  })
})
