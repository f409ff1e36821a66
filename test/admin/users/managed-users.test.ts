/** Managed users over REST: their declared fields are configuration, so that every change of them is a revision. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionKeys } from '#schemas/access/permissions.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { newId } from '#server/platform/ids.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const estate = { via: 'changeset', origin: 'declared', owner: 'estate' } as const
const caller = { actor: 'pipeline', sourceIp: '127.0.0.1', permissions: new Set(permissionKeys) }

describe.each(backends)('managed users on $name', (backend) => {
  let server: TestServer
  const base = '/admin/realms/acme'
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    await server.admin.send('POST', `${base}/roles`, { name: 'painter' })
  })
  afterAll(() => server.close())

  const send = (method: string, url: string, body?: unknown, headers?: Record<string, string>) =>
    server.admin.send(method, url, body, headers)
  const declare = async (fields: Record<string, unknown> = {}) => {
    const username = `m-${newId()}`
    const doc = { username, ...fields }
    await server.areas.realm.writer.write({
      realm: 'acme',
      channel: estate,
      caller,
      operations: [{ op: 'put', kind: User, key: doc.username, doc, secrets: {} }],
    })
    const { body, headers } = await send('GET', `${base}/users/${doc.username}`)
    return { ...body, url: `${base}/users/${body.userId}`, etag: String(headers['etag']) }
  }
  const revision = async (): Promise<number> =>
    (await server.areas.realm.realms.find('acme'))?.revision ?? 0
  const lastOperations = async () =>
    server.areas.storage.db
      .selectFrom('revision_operations')
      .innerJoin('revisions', (join) =>
        join
          .onRef('revisions.realm', '=', 'revision_operations.realm')
          .onRef('revisions.revision', '=', 'revision_operations.revision'),
      )
      .select(['op', 'kind', 'key', 'document_id', 'source', 'actor', 'after'])
      .where('revisions.realm', '=', 'acme')
      .where('revisions.revision', '=', await revision())
      .orderBy('n')
      .execute()
  const eventsOf = (id: string) =>
    server.areas.storage.db
      .selectFrom('audit_events')
      .select(['type', 'actor', 'revision', 'detail'])
      .where('resource_id', '=', id)
      .orderBy('id')
      .execute()

  it('look like all others, with managed true', async () => {
    const user = await declare({ email: `${newId()}@example.org`, roles: ['painter'] })
    expect(user).toMatchObject({
      managed: true,
      enabled: true,
      locked: false,
      roles: ['painter', 'user'],
    })
  })

  it('are replaced by a revision that keeps what REST does not show', async () => {
    const user = await declare({ roles: ['painter'], firstName: 'Old' })
    const before = await revision()
    const change = {
      username: user.username,
      email: `${newId()}@example.org`,
      emailVerified: true,
      firstName: null,
      lastName: 'New',
      attributes: { team: ['red'] },
      requiredActions: ['VERIFY_EMAIL'],
    }
    const answer = await send('PUT', user.url, change)
    expect(answer, JSON.stringify(answer.body)).toMatchObject({
      status: 200,
      body: { ...change, roles: ['painter', 'user'], managed: true },
    })
    expect(answer.headers['etag']).not.toBe(user.etag)
    expect((await send('GET', user.url)).body).toEqual(answer.body)
    expect(await revision()).toBe(before + 1)
    const [operation] = await lastOperations()
    expect(operation).toMatchObject({
      op: 'update',
      kind: 'user',
      key: user.username,
      document_id: user.userId,
      source: 'rest',
      actor: server.admin.userId,
    })
    expect(JSON.parse(operation?.after ?? '')).toMatchObject({
      owner: 'estate',
      origin: 'declared',
      body: { lastName: 'New', roles: ['painter'] },
    })
    expect(await eventsOf(user.userId)).toMatchObject([
      { type: 'ADMIN_CREATE', actor: 'pipeline', revision: before },
      { type: 'ADMIN_UPDATE', actor: server.admin.userId, revision: before + 1 },
    ])
  })

  it('repeated change nothing: no revision, no event, the same tag', async () => {
    const user = await declare({ lastName: 'Same' })
    const before = await revision()
    const { body, headers } = await send('GET', user.url)
    const repeated = await send('PUT', user.url, body)
    expect(repeated).toMatchObject({ status: 200, body })
    expect(repeated.headers['etag']).toBe(headers['etag'])
    expect(await revision()).toBe(before)
    expect(await eventsOf(user.userId)).toHaveLength(1)
  })

  it('are renamed with their id, and the old name is free', async () => {
    const user = await declare()
    const username = `renamed-${newId()}`
    const answer = await send('PUT', user.url, { username })
    expect(answer).toMatchObject({ status: 200, body: { username, userId: user.userId } })
    expect((await lastOperations())[0]).toMatchObject({ op: 'rename', key: username })
    expect((await send('GET', `${base}/users/${user.username}`)).status).toBe(404)
    expect((await send('POST', `${base}/users`, { username: user.username })).status).toBe(201)
  })

  it('take roles by a revision each, and none for what they hold already', async () => {
    const user = await declare()
    const before = await revision()
    expect((await send('POST', `${user.url}/roles`, { name: 'painter' })).status).toBe(204)
    expect((await send('POST', `${user.url}/roles`, { name: 'painter' })).status).toBe(204)
    expect(await revision()).toBe(before + 1)
    expect((await send('GET', user.url)).body.roles).toEqual(['painter', 'user'])
    expect(JSON.parse((await lastOperations())[0]?.after ?? '').body.roles).toEqual(['painter'])
    expect((await send('DELETE', `${user.url}/roles/painter`)).status).toBe(204)
    expect((await send('DELETE', `${user.url}/roles/painter`)).status).toBe(204)
    expect(await revision()).toBe(before + 2)
    expect((await send('GET', user.url)).body.roles).toEqual(['user'])
  })

  it('are deleted by a revision, with their document', async () => {
    const user = await declare()
    const before = await revision()
    expect((await send('DELETE', user.url)).status).toBe(204)
    expect(await revision()).toBe(before + 1)
    expect((await lastOperations())[0]).toMatchObject({ op: 'delete', key: user.username })
    expect((await send('GET', user.url)).status).toBe(404)
    expect((await eventsOf(user.userId)).at(-1)).toMatchObject({ type: 'ADMIN_DELETE' })
  })

  it('are locked and unlocked as data: no revision, but a new tag and every event', async () => {
    const user = await declare()
    const before = await revision()
    const locked = await send('PUT', user.url, { username: user.username, locked: true })
    expect(locked).toMatchObject({ status: 200, body: { locked: true } })
    expect(locked.headers['etag']).not.toBe(user.etag)
    const again = await send('PUT', user.url, { username: user.username, locked: true })
    expect(again.headers['etag']).toBe(locked.headers['etag'])
    const unlocked = await send('PUT', user.url, { username: user.username, locked: false })
    expect(unlocked.body.locked).toBe(false)
    expect(await revision()).toBe(before)
    expect((await eventsOf(user.userId)).map(({ type }) => type)).toEqual([
      'ADMIN_CREATE',
      'ADMIN_UPDATE',
      'USER_LOCKED',
      'ADMIN_UPDATE',
      'USER_UNLOCKED',
    ])
    await send('PUT', user.url, { username: user.username, locked: true, firstName: 'Both' })
    expect(await revision()).toBe(before + 1)
    expect((await eventsOf(user.userId)).slice(-2).map(({ type }) => type)).toEqual([
      'ADMIN_UPDATE',
      'USER_LOCKED',
    ])
    expect((await send('GET', user.url)).body).toMatchObject({ locked: true, firstName: 'Both' })
  })

  it('disabled lose their sessions', async () => {
    const user = await declare({ roles: [] })
    await server.signedIn('acme', user.username)
    await send('PUT', user.url, { username: user.username, enabled: false })
    const left = await server.areas.storage.db
      .selectFrom('sessions')
      .select('id')
      .where('user_id', '=', user.userId)
      .execute()
    expect(left).toEqual([])
  })

  it('get a password as data: no revision, two events', async () => {
    const user = await declare()
    const before = await revision()
    const newPassword = `nobody guesses ${newId()}`
    expect((await send('PUT', `${user.url}/password`, { newPassword })).status).toBe(204)
    expect(await revision()).toBe(before)
    expect((await eventsOf(user.userId)).map(({ type }) => type)).toEqual([
      'ADMIN_CREATE',
      'ADMIN_UPDATE',
      'RESET_PASSWORD',
    ])
  })

  it('changed since they were read are not changed again: 412', async () => {
    const user = await declare()
    const match = { 'if-match': user.etag }
    const change = (firstName: string) => ({ username: user.username, firstName })
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => send('PUT', user.url, change(`a${i}`), match)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(5).fill(412)])
    expect((await send('DELETE', user.url, undefined, match)).status).toBe(412)
    const all = await Promise.all(
      Array.from({ length: 6 }, (_, i) => send('PUT', user.url, change(`b${i}`))),
    )
    expect(all.map(({ status }) => status)).toEqual(Array(6).fill(200))
    const { headers } = await send('GET', user.url)
    const now = { 'if-match': String(headers['etag']) }
    expect((await send('DELETE', user.url, undefined, now)).status).toBe(204)
  })

  it('with a name that is taken are 409 with the field, whoever has it', async () => {
    const user = await declare()
    const managed = await declare({ email: `${newId()}@example.org` })
    const plain = (
      await send('POST', `${base}/users`, {
        username: `p-${newId()}`,
        email: `${newId()}@example.org`,
      })
    ).body
    for (const [change, field] of [
      [{ username: managed.username }, '/username'],
      [{ username: managed.username.toUpperCase() }, '/username'],
      [{ username: plain.username }, '/username'],
      [{ username: plain.email }, '/username'],
      [{ username: user.username, email: managed.email }, '/email'],
      [{ username: user.username, email: plain.email.toUpperCase() }, '/email'],
    ] as const) {
      const answer = await send('PUT', user.url, change)
      expect(answer, JSON.stringify(change)).toMatchObject({
        status: 409,
        body: { errors: [{ field }] },
      })
    }
    expect((await send('GET', user.url)).body.username).toBe(user.username)
  })

  it('are not declared twice under two spellings of one name', async () => {
    const user = await declare()
    await expect(declare({ username: user.username.toUpperCase() })).rejects.toMatchObject({
      code: 'conflict',
      errors: [{ field: '/username' }],
    })
  })

  it('that were made by hand become managed when a file names them, and keep id and password', async () => {
    const made = (await send('POST', `${base}/users`, { username: `hand-${newId()}` })).body
    const newPassword = `nobody guesses ${newId()}`
    await send('PUT', `${base}/users/${made.userId}/password`, { newPassword })
    const user = await declare({ username: made.username, firstName: 'Declared' })
    expect(user).toMatchObject({
      userId: made.userId,
      managed: true,
      firstName: 'Declared',
      roles: ['user'],
    })
    const credentials = await server.areas.storage.db
      .selectFrom('credentials')
      .select('id')
      .where('user_id', '=', made.userId)
      .execute()
    expect(credentials).toHaveLength(1)
  })

  it('are in the organizations that the document names, and have joined when they joined', async () => {
    for (const alias of ['north', 'south'])
      await send('POST', `${base}/organizations`, { alias, name: alias })
    const user = await declare({ organizations: ['north'] })
    const members = () =>
      server.areas.storage.db
        .selectFrom('organization_members')
        .innerJoin('documents', 'documents.id', 'organization_members.organization_id')
        .select(['key', 'joined_at'])
        .where('user_id', '=', user.userId)
        .orderBy('key')
        .execute()
    const [first] = await members()
    expect(first?.key).toBe('north')
    const before = await revision()
    await send('PUT', `${base}/organizations/south/members/${user.userId}`)
    expect(await revision()).toBe(before + 1)
    expect(await members()).toEqual([first, { key: 'south', joined_at: expect.any(Number) }])
    await send('DELETE', `${base}/organizations/north`)
    expect((await members()).map(({ key }) => key)).toEqual(['south'])
    await send('DELETE', `${base}/organizations/south/members/${user.userId}`)
    expect(await members()).toEqual([])
  })
})
