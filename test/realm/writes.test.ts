/** The three classes of write, history, concurrency and the copy that follows. */

import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionKeys } from '#schemas/access/permissions.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { editOf, runtimeChannel } from '#server/realm/write/operations.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const caller = { actor: 'test', sourceIp: '127.0.0.1', permissions: new Set(permissionKeys) }
const estate = { via: 'changeset', origin: 'declared', owner: 'estate' } as const

describe.each(backends)('writes on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    server.admin.send(method, `${base}${path}`, body, headers)
  const realm = async () => {
    const row = await server.areas.realm.realms.find('acme')
    if (!row) throw new Error('no realm')
    return row
  }
  const operationsOf = (revision: number) =>
    server.areas.storage.db
      .selectFrom('revision_operations')
      .selectAll()
      .where('realm', '=', 'acme')
      .where('revision', '=', revision)
      .orderBy('n')
      .execute()

  it('makes one revision of a configuration write, with before and after and secrets sealed', async () => {
    const { revision } = await realm()
    const secret = 'whsec-of-this-test-only'
    const body = { name: 'hook', url: 'https://a.example/', eventTypes: '*', secret }
    const made = await send('POST', '/webhooks', body)
    await send('PUT', '/webhooks/hook', { ...body, secret: null, url: 'https://b.example/' })
    expect((await realm()).revision).toBe(revision + 2)
    const [created] = await operationsOf(revision + 1)
    const [updated] = await operationsOf(revision + 2)
    expect(created).toMatchObject({ op: 'create', document_id: made.body.id, before: null })
    expect(updated).toMatchObject({ op: 'update', key: 'hook' })
    expect(JSON.parse(updated?.before ?? '').body.url).toBe('https://a.example/')
    expect(JSON.parse(updated?.after ?? '').body.url).toBe('https://b.example/')
    expect(JSON.parse(updated?.after ?? '').secrets['/secret']).toEqual(
      JSON.parse(created?.after ?? '').secrets['/secret'],
    )
    expect(JSON.stringify([created, updated])).not.toContain(secret)
    const recorded = await server.areas.storage.db
      .selectFrom('revisions')
      .selectAll()
      .where('realm', '=', 'acme')
      .where('revision', '=', revision + 1)
      .executeTakeFirstOrThrow()
    expect(recorded).toMatchObject({ actor: server.admin.userId, source: 'rest' })
  })

  it('makes no revision where nothing changes, also with the same secret given again', async () => {
    const body = { name: 'same', url: 'https://a.example/', eventTypes: '*', secret: 'unchanged' }
    await send('POST', '/webhooks', body)
    const before = await realm()
    expect((await send('PUT', '/webhooks/same', body)).status).toBe(200)
    expect(await realm()).toEqual(before)
    await send('PUT', '/webhooks/same', { ...body, secret: 'another' })
    expect((await realm()).revision).toBe(before.revision + 1)
  })

  it('keeps a write-only field that is absent or null, and shows whether it is set', async () => {
    const body = { name: 'kept', baseUrl: 'https://a.example/' }
    expect((await send('POST', '/scim-targets', body)).body.tokenSet).toBe(false)
    const set = await send('PUT', '/scim-targets/kept', { ...body, token: 'a secret' })
    expect(set.body).toMatchObject({ token: null, tokenSet: true })
    for (const token of [{}, { token: null }]) {
      const kept = await send('PUT', '/scim-targets/kept', { ...body, enabled: false, ...token })
      expect(kept.body).toMatchObject({ enabled: false, tokenSet: true })
    }
  })

  it('answers the secret of a confidential client once', async () => {
    const made = await send('POST', '/clients', { clientId: 'confidential' })
    expect(made.body.secret).toMatch(/^[\w-]{43}$/)
    expect((await send('GET', '/clients/confidential')).body).not.toHaveProperty('secret')
    const open = await send('POST', '/clients', { clientId: 'open', publicClient: true })
    expect(open.body).not.toHaveProperty('secret')
  })

  it('renames a flow with what was written to it at the same moment', async () => {
    await send('POST', '/flows', { alias: 'draft', topLevel: false })
    // The rename is asked for before the change ahead of it is committed; in the other order that one undoes it.
    const ahead = Array.from({ length: 60 }, (_, i) =>
      send('POST', '/roles', { name: `busy-${i}` }),
    )
    await wait(20)
    ahead.push(send('PUT', '/flows/draft', { alias: 'draft', topLevel: false, description: 'new' }))
    await wait(60)
    expect((await send('PATCH', '/flows/draft', { newName: 'final' })).status).toBe(200)
    await Promise.all(ahead)
    const flows: { alias: string; description: string }[] = (await send('GET', '/flows')).body
    const left = flows.filter(({ alias }) => ['draft', 'final'].includes(alias))
    expect(left.map(({ description }) => description)).toEqual(['new'])
  })

  it('changes a field of a document that was renamed since it was read', async () => {
    const { body } = await send('POST', '/roles', { name: 'before' })
    await send('PUT', '/roles/before', { name: 'after' })
    const edit = editOf(Role, { id: body.roleId, key: 'before' }, (doc) => ({
      ...doc,
      description: 'edited',
    }))
    await server.areas.realm.writer.write({
      realm: 'acme',
      caller,
      channel: estate,
      operations: [edit],
    })
    expect((await send('GET', '/roles/after')).body.description).toBe('edited')
    expect((await send('GET', '/roles/before')).status).toBe(404)
  })

  it('lands every one of many REST writes to one realm at once', async () => {
    const before = await realm()
    const names = Array.from({ length: 60 }, (_, i) => `parallel-${i}`)
    const made = await Promise.all(names.map((name) => send('POST', '/roles', { name })))
    expect(made.map(({ status }) => status)).toEqual(names.map(() => 201))
    expect((await realm()).revision).toBe(before.revision + 60)
    const listed = (await send('GET', '/roles')).body.map(({ name }: { name: string }) => name)
    expect(listed).toEqual(expect.arrayContaining(names))
  })

  it('lets one of two changes with the same If-Match win', async () => {
    const made = await send('POST', '/roles', { name: 'raced' })
    const match = { 'if-match': String(made.headers['etag']) }
    const answers = await Promise.all(
      ['one', 'two'].map((description) =>
        send('PUT', '/roles/raced', { name: 'raced', description }, match),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
    const winner = answers.find(({ status }) => status === 200)
    expect((await send('GET', '/roles/raced')).body).toEqual(winner?.body)
  })

  it('writes runtime documents without revision or history, and they become configuration when named', async () => {
    const { revision, seq } = await realm()
    const put = (
      channel: Parameters<typeof server.areas.realm.writer.write>[0]['channel'],
      name: string,
    ) =>
      server.areas.realm.writer.write({
        realm: 'acme',
        caller,
        channel,
        operations: [
          {
            op: 'put',
            kind: Client,
            key: 'registered',
            doc: { clientId: 'registered', name },
            secrets: {},
          },
        ],
      })
    await put(runtimeChannel, 'one')
    await put(runtimeChannel, 'two')
    expect(await realm()).toMatchObject({ revision, seq: seq + 2 })
    const view = await server.areas.copy.fresh('acme')
    expect(await view?.get('client', 'registered')).toMatchObject({ origin: 'runtime', version: 2 })

    await put(estate, 'two')
    expect((await realm()).revision).toBe(revision + 1)
    const adopted = await (await server.areas.copy.fresh('acme'))?.get('client', 'registered')
    expect(adopted).toMatchObject({ origin: 'declared', owner: 'estate' })
  })

  it('answers a dry run without writing', async () => {
    const before = await realm()
    const { effects } = await server.areas.realm.writer.write({
      realm: 'acme',
      caller,
      channel: estate,
      dryRun: true,
      operations: [{ op: 'put', kind: Role, key: 'dry', doc: { name: 'dry' }, secrets: {} }],
    })
    expect(effects[0]?.after?.key).toBe('dry')
    expect(await realm()).toEqual(before)
  })

  it('writes all operations of a list or none', async () => {
    const before = await realm()
    const list = server.areas.realm.writer.write({
      realm: 'acme',
      caller,
      channel: estate,
      operations: [
        { op: 'put', kind: Role, key: 'good', doc: { name: 'good' }, secrets: {} },
        {
          op: 'put',
          kind: Role,
          key: 'bad',
          doc: { name: 'bad', composites: ['nowhere'] },
          secrets: {},
        },
      ],
    })
    await expect(list).rejects.toMatchObject({ code: 'validation' })
    expect(await realm()).toEqual(before)
    expect((await send('GET', '/roles/good')).status).toBe(404)
  })

  it('keeps a managed user equal to the document, memberships included', async () => {
    await send('POST', '/groups', { name: 'Crew' })
    const put = (doc: Record<string, unknown>) =>
      server.areas.realm.writer.write({
        realm: 'acme',
        caller,
        channel: estate,
        operations: [
          {
            op: 'put',
            kind: User,
            key: 'mia',
            doc: { username: 'mia', ...doc },
            secrets: { '/initialPassword': 'a long first password 77' },
          },
        ],
      })
    const { revision } = await realm()
    await put({ email: 'mia@acme.example', roles: ['auditor'], groups: ['/Crew'] })
    const shown = await send('GET', '/users/mia')
    expect(shown.body).toMatchObject({
      managed: true,
      roles: ['auditor', 'user'],
      email: 'mia@acme.example',
    })
    expect((await send('GET', '/groups/%2FCrew')).body.memberCount).toBe(1)
    const credentials = () =>
      server.areas.storage.db
        .selectFrom('credentials')
        .selectAll()
        .where('user_id', '=', shown.body.userId)
        .execute()
    const first = await credentials()
    expect(first).toHaveLength(1)

    await put({ email: 'mia@acme.example', roles: ['auditor'], groups: ['/Crew'] })
    expect((await realm()).revision).toBe(revision + 1)
    await put({ firstName: 'Mia', roles: ['user'] })
    expect((await send('GET', '/users/mia')).body).toMatchObject({
      firstName: 'Mia',
      email: null,
      roles: ['user'],
    })
    expect((await send('GET', '/groups/%2FCrew')).body.memberCount).toBe(0)
    expect(await credentials()).toEqual(first)

    const changed = await send('PUT', '/users/mia', { username: 'mia', firstName: 'Maria' })
    expect(changed.body.firstName).toBe('Maria')
    expect((await realm()).revision).toBe(revision + 3)
    await send('DELETE', '/users/mia')
    expect((await realm()).revision).toBe(revision + 4)
    expect((await send('GET', '/users/mia')).status).toBe(404)
    const gone = await (await server.areas.copy.fresh('acme'))?.get('user', 'mia')
    expect(gone).toBeUndefined()
  })

  it('adopts a user who exists when a file names them, and keeps their id and password', async () => {
    const made = await send('POST', '/users', { username: 'old', email: 'old@acme.example' })
    await send('PUT', `/users/${made.body.userId}/password`, {
      newPassword: 'something long and new 55',
    })
    await server.areas.realm.writer.write({
      realm: 'acme',
      caller,
      channel: estate,
      operations: [
        {
          op: 'put',
          kind: User,
          key: 'old',
          doc: { username: 'old', lastName: 'Hand' },
          secrets: {},
        },
      ],
    })
    const adopted = await send('GET', '/users/old')
    expect(adopted.body).toMatchObject({
      userId: made.body.userId,
      managed: true,
      lastName: 'Hand',
      email: null,
    })
    const passwords = await server.areas.storage.db
      .selectFrom('credentials')
      .select('id')
      .where('user_id', '=', made.body.userId)
      .execute()
    expect(passwords).toHaveLength(1)
  })

  it('follows renames and deletions of roles in managed users', async () => {
    await send('POST', '/roles', { name: 'crew' })
    await server.areas.realm.writer.write({
      realm: 'acme',
      caller,
      channel: estate,
      operations: [
        {
          op: 'put',
          kind: User,
          key: 'kim',
          doc: { username: 'kim', roles: ['crew', 'user'] },
          secrets: {},
        },
      ],
    })
    await send('PUT', '/roles/crew', { name: 'team' })
    expect((await send('GET', '/users/kim')).body.roles).toEqual(['team', 'user'])
    await send('DELETE', '/roles/team')
    expect((await send('GET', '/users/kim')).body.roles).toEqual(['user'])
    const document = await (await server.areas.copy.fresh('acme'))?.get('user', 'kim')
    expect(document?.body['roles']).toEqual(['user'])
  })
})
