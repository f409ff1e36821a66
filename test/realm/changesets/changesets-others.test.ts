/** Changesets and documents that they do not name, or that their sender cannot see. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Client } from '#schemas/kinds/clients/client.ts'
import { runtimeChannel } from '#server/realm/write/operations.ts'
import { backends } from '../../support/backends.ts'
import { pipeline } from '../../support/filled-realm.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { client, documentIn, phc, put, remove, type Sender, senderTo, user } from './changeset.ts'

describe.each(backends)('a changeset and the documents of others on $name', (backend) => {
  let server: TestServer
  let to: Sender
  const base = '/admin/realms/acme'
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    to = senderTo(server, 'acme')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)
  const settings = (doc: object) => put('settings', 'settings', { ...doc })

  it('makes a runtime document configuration, which no export has shown to its sender', async () => {
    await server.areas.realm.writer.write({
      realm: 'acme',
      caller: pipeline,
      channel: runtimeChannel,
      operations: [
        {
          op: 'put',
          kind: Client,
          key: 'registered',
          doc: { clientId: 'registered' },
          secrets: {},
        },
      ],
    })
    const before = await documentIn(server, 'acme', 'client', 'registered')
    const { status, body } = await to.apply([client('registered', {}, { ifHash: null })])
    expect({ status, changes: body.changes }).toMatchObject({
      status: 200,
      changes: [{ op: 'update', kind: 'client', key: 'registered', figure: 'created' }],
    })
    expect(await documentIn(server, 'acme', 'client', 'registered')).toMatchObject({
      id: before?.id,
      origin: 'declared',
      owner: 'estate',
    })
    const again = await to.apply([client('registered', {}, { ifHash: null })])
    expect(again).toMatchObject({ status: 409, body: { code: 'conflict' } })
  })

  it('deletes documents that hold on to each other, in whatever order they stand', async () => {
    const policy = (name: string, policies: readonly string[] = []) =>
      put('authz-policy', `web/${name}`, { name, type: 'aggregate', policies })
    const made = [policy('a'), policy('b', ['a']), policy('c', ['b'])]
    expect((await to.apply([client('web'), ...made])).status).toBe(200)
    const held = await to.apply([remove('authz-policy', 'web/a')])
    expect(held).toMatchObject({ status: 409, body: { code: 'in-use', usedByCount: 1 } })
    const names = ['a', 'c', 'b']
    const gone = await to.apply(names.map((name) => remove('authz-policy', `web/${name}`)))
    expect(gone).toMatchObject({ status: 200, body: { deleted: 3 } })
  })

  it('is refused where a document that it does not name would no longer be valid, and says which', async () => {
    const jwt = { tokenEndpointAuthMethod: 'client_secret_jwt', publicClient: false }
    await to.apply([settings({ clientSecretStorage: 'revealable' }), client('signing', jwt)])
    const before = await to.revision()
    const hashed = await to.apply([settings({})])
    expect(hashed).toMatchObject({ status: 400, body: { code: 'validation' } })
    expect(hashed.body.detail).toContain('client "signing": client_secret_jwt needs')
    const rest = await send('PUT', '/settings', { clientSecretStorage: 'hashed' })
    expect(rest).toMatchObject({ status: 400 })

    await to.apply([put('key-policy', 'key-policy', { keepFor: '12h' })])
    const long = { clientSecretStorage: 'revealable', ssoSessionMaxLifespan: 90_000 }
    const { status, body } = await to.apply([settings(long)])
    expect({ status, detail: body.detail }).toEqual({
      status: 400,
      detail: expect.stringContaining('key-policy "key-policy": must not be less than'),
    })
    expect(await to.revision()).toBe(before + 1)
    const both = await to.apply([
      settings(long),
      put('key-policy', 'key-policy', { keepFor: '2d' }),
    ])
    expect(both.status).toBe(200)
  })

  it('leaves the password of a user who was there before it named them', async () => {
    const imported = {
      users: [{ username: 'ann', credentials: [{ type: 'password', value: phc }] }],
    }
    expect((await send('POST', '/users/import', imported)).status).toBe(200)
    const passwords = () =>
      server.areas.storage.db
        .selectFrom('credentials')
        .innerJoin('users', 'users.id', 'credentials.user_id')
        .select(['credentials.id', 'secret'])
        .where('username', '=', 'ann')
        .execute()
    const before = await passwords()
    expect(before).toHaveLength(1)
    const secrets = { '/initialPassword': 'the first password of ann 1' }
    expect((await to.apply([user('ann', {}, { secrets })])).status).toBe(200)
    expect(await passwords()).toEqual(before)
  })

  it('is taken back only where nobody has the address of a user who would return', async () => {
    const email = 'shared@acme.example'
    const first = await to.apply([user('bea', { email })])
    await send('POST', '/users', { username: 'cem' })
    const handed = await to.apply([remove('user', 'bea'), user('cem', { email })])
    expect(handed.status).toBe(200)
    // The file no longer names cem, who existed before it and keeps their address.
    const back = await send('POST', `/revisions/${first.body.revision}/rollback`, {})
    expect(back).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(back.body.detail).toContain('another user has a name of user "bea"')
  })
})
