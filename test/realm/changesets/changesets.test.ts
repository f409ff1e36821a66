/** A changeset sets full state: puts, renames, deletions, owners, and the recorded revision. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import {
  client,
  documentIn,
  phc,
  put,
  remove,
  role,
  type Sender,
  senderTo,
  user,
} from './changeset.ts'

describe.each(backends)('a changeset on $name', (backend) => {
  let server: TestServer
  let to: Sender
  const base = '/admin/realms/acme'
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    to = senderTo(server, 'acme')
  })
  afterAll(() => server.close())

  const read = async (path: string) => (await server.admin.send('GET', `${base}${path}`)).body
  const document = (kind: string, key: string) => documentIn(server, 'acme', kind, key)
  const events = (revision: number) =>
    server.areas.storage.db
      .selectFrom('audit_events')
      .selectAll()
      .where('realm', '=', 'acme')
      .where('revision', '=', revision)
      .orderBy('id')
      .execute()

  it('makes, changes and deletes documents as one revision', async () => {
    const before = await to.revision()
    const made = await to.apply([
      role('one'),
      role('two', { composites: ['one'] }),
      client('web'),
      put('client-role', 'web/reader', { name: 'reader' }),
      put('group', '/Staff', { name: 'Staff', roles: ['two'] }),
      put('group', '/Staff/Helpdesk', { name: 'Helpdesk' }),
    ])
    expect(made, JSON.stringify(made.body)).toMatchObject({
      status: 200,
      body: { revision: before + 1, dryRun: false, created: 6, updated: 0, deleted: 0 },
    })
    expect(await to.revision()).toBe(before + 1)
    expect((await read('/groups/%2FStaff')).roleNames).toEqual(['two'])

    const changed = await to.apply([
      role('two', { description: 'no longer one' }),
      remove('role', 'one'),
      remove('group', '/Staff'),
    ])
    expect(changed.body).toMatchObject({ revision: before + 2, updated: 1, deleted: 3 })
    expect(await read('/roles/two')).toMatchObject({ description: 'no longer one', composites: [] })
    expect(await document('group', '/Staff/Helpdesk')).toBeUndefined()
  })

  it('takes full state: what is left out is the default, and a secret that is not named stays', async () => {
    const url = 'https://hooks.example/'
    const hook = (fields: object, secrets?: Record<string, string>) =>
      put(
        'webhook',
        'hook',
        { name: 'hook', url, eventTypes: '*', ...fields },
        secrets && { secrets },
      )
    await to.apply([hook({ enabled: false }, { '/secret': 'a secret of this test' })])
    const sealed = (await document('webhook', 'hook'))?.sealed
    expect(sealed).toContain('/secret')
    const answer = await to.apply([hook({})])
    expect(answer.body.changes).toEqual([
      {
        op: 'update',
        kind: 'webhook',
        key: 'hook',
        figure: 'updated',
        fields: [{ pointer: '/enabled', change: 'set', before: false, after: true }],
        secrets: [],
      },
    ])
    expect((await document('webhook', 'hook'))?.sealed).toBe(sealed)
  })

  it('makes no revision where nothing changes, also with the same secrets again', async () => {
    const operations = [
      role('same'),
      user(
        'same',
        { email: 'same@example.org', roles: ['same'] },
        { secrets: { '/passwordHash': phc } },
      ),
      put('client', 'same', { clientId: 'same' }, { secrets: { '/secret': 's'.repeat(40) } }),
    ]
    expect((await to.apply(operations)).body.created).toBe(3)
    const before = await to.revision()
    const again = await to.apply(operations)
    expect(again.body).toMatchObject({ revision: before, changes: [], created: 0, updated: 0 })
    expect(await to.revision()).toBe(before)
  })

  it('sets a password hash when it changes in the file, not when something else does', async () => {
    const declare = (fields: object, hash: string) =>
      to.apply([user('hashed', fields, { secrets: { '/passwordHash': hash } })])
    await declare({}, phc)
    const { id } = (await document('user', 'hashed')) ?? { id: '' }
    const own = phc.replace('AAAA', 'BBBB')
    const stored = async () =>
      (
        await server.areas.storage.db
          .selectFrom('credentials')
          .select('secret')
          .where('user_id', '=', id)
          .execute()
      ).map(({ secret }) => secret)
    expect(await stored()).toEqual([phc])
    // As if they had changed it themselves.
    await server.areas.storage.commit([
      {
        ...server.areas.storage.db
          .updateTable('credentials')
          .set({ secret: own })
          .where('user_id', '=', id)
          .compile(),
      },
    ])
    await declare({ firstName: 'Other' }, phc)
    expect(await stored()).toEqual([own])
    const answer = await declare({ firstName: 'Other' }, phc.replace('AAAA', 'CCCC'))
    expect(answer.body.changes).toMatchObject([{ fields: [], secrets: ['/passwordHash'] }])
    expect(await stored()).toEqual([phc.replace('AAAA', 'CCCC')])
  })

  it('renames a document with its children, keeps ids, and follows its references', async () => {
    await to.apply([
      role('old-name'),
      role('holder', { composites: ['old-name'] }),
      client('old-client'),
      put('client-role', 'old-client/reader', { name: 'reader' }),
      put('client-role', 'old-client/writer', { name: 'writer' }),
    ])
    const before = {
      role: (await document('role', 'old-name'))?.id,
      client: (await document('client', 'old-client'))?.id,
      reader: (await document('client-role', 'old-client/reader'))?.id,
      writer: (await document('client-role', 'old-client/writer'))?.id,
    }
    const answer = await to.apply([
      role('new-name', { description: 'renamed' }, { op: 'rename', from: 'old-name' }),
      client('new-client', {}, { op: 'rename', from: 'old-client' }),
      // Below the new key of its parent, as files spell it.
      put(
        'client-role',
        'new-client/viewer',
        { name: 'viewer' },
        {
          op: 'rename',
          from: 'new-client/reader',
        },
      ),
      put('client-role', 'new-client/writer', { name: 'writer', description: 'too' }),
    ])
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const told = Object.fromEntries(
      answer.body.changes.map((change: { kind: string; key: string }) => [
        `${change.kind} ${change.key}`,
        change,
      ]),
    )
    expect(told['role new-name']).toMatchObject({ op: 'rename', from: 'old-name' })
    expect(told['client-role new-client/viewer']).toMatchObject({ from: 'old-client/reader' })
    expect((await document('role', 'new-name'))?.id).toBe(before.role)
    expect((await document('client', 'new-client'))?.id).toBe(before.client)
    expect((await document('client-role', 'new-client/viewer'))?.id).toBe(before.reader)
    expect((await document('client-role', 'new-client/writer'))?.id).toBe(before.writer)
    expect((await read('/roles/holder')).composites).toEqual(['new-name'])
  })

  it('hands a name on from one document to the next, in whatever order they stand', async () => {
    await to.apply([role('chain-a', { description: 'a' }), role('chain-b', { description: 'b' })])
    await to.apply([role('chain-user', { composites: ['chain-a', 'chain-b'] })])
    const answer = await to.apply([
      role('chain-b', { description: 'a' }, { op: 'rename', from: 'chain-a' }),
      role('chain-c', { description: 'b' }, { op: 'rename', from: 'chain-b' }),
      role('chain-a', { description: 'new' }),
    ])
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect((await read('/roles/chain-b')).description).toBe('a')
    expect((await read('/roles/chain-c')).description).toBe('b')
    expect((await read('/roles/chain-a')).description).toBe('new')
    expect((await read('/roles/chain-user')).composites).toEqual(['chain-b', 'chain-c'])
  })

  it('leaves what it states as it is stated, whatever else it renames', async () => {
    await to.apply([role('stated-a'), role('stated-user', { composites: ['stated-a'] })])
    const answer = await to.apply([
      role('stated-user', { composites: ['stated-a'], description: 'names the new one' }),
      role('stated-b', {}, { op: 'rename', from: 'stated-a' }),
      role('stated-a', { description: 'new' }),
    ])
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect((await read('/roles/stated-user')).composites).toEqual(['stated-a'])
  })

  it('refuses to delete what it states as used, and to state a child of what it deletes', async () => {
    await to.apply([role('used'), role('using', { composites: ['used'] }), client('parent')])
    const holding = await to.apply([
      role('using', { composites: ['used'], description: 'still' }),
      remove('role', 'used'),
    ])
    expect(holding.body).toMatchObject({
      code: 'in-use',
      usedBy: [{ kind: 'role', key: 'using' }],
      errors: [{ field: '/operations/1' }],
    })
    const orphan = await to.apply([
      put('client-role', 'parent/child', { name: 'child' }),
      remove('client', 'parent'),
    ])
    expect(orphan.body).toMatchObject({
      code: 'validation',
      errors: [{ field: '/operations/0/doc/name', code: 'missing-reference' }],
    })
  })

  it('writes only where the content is what the sender read', async () => {
    const made = await to.apply([role('hashed', {}, { ifHash: null })])
    expect(made.status).toBe(200)
    const { hash = '' } = (await document('role', 'hashed')) ?? {}
    const again = await to.apply([role('hashed', {}, { ifHash: null })])
    expect(again).toMatchObject({ status: 409, body: { code: 'conflict' } })
    const wrong = await to.apply([role('hashed', {}, { ifHash: '0'.repeat(64) })])
    expect(wrong).toMatchObject({
      status: 409,
      body: { code: 'conflict', errors: [{ field: '/operations/0' }] },
    })
    const gone = await to.apply([remove('role', 'not-there', { ifHash: hash })])
    expect(gone).toMatchObject({ status: 409, body: { code: 'conflict' } })
    const right = await to.apply([role('hashed', { description: 'x' }, { ifHash: hash })])
    expect(right.status).toBe(200)
    const { hash: later = '' } = (await document('role', 'hashed')) ?? {}
    expect((await to.apply([remove('role', 'hashed', { ifHash: hash })])).status).toBe(409)
    expect((await to.apply([remove('role', 'hashed', { ifHash: later })])).status).toBe(200)
  })

  it('is told by one event per document with the revision, and by its message and provenance', async () => {
    await to.apply([role('told-old'), role('told-gone')])
    const secret = 'whsec-that-nobody-may-see'
    const answer = await to.apply(
      [
        role('told-old', { description: 'changed' }),
        put(
          'webhook',
          'told',
          { name: 'told', url: 'https://told.example/', eventTypes: '*' },
          { secrets: { '/secret': secret } },
        ),
        remove('role', 'told-gone'),
      ],
      { message: 'why', provenance: { commit: 'abc', run: '42' } },
    )
    const { revision } = answer.body
    const found = await events(revision)
    expect(found.map(({ type, resource_type, outcome }) => [type, resource_type, outcome])).toEqual(
      expect.arrayContaining([
        ['ADMIN_UPDATE', 'roles', 'SUCCESS'],
        ['ADMIN_CREATE', 'webhooks', 'SUCCESS'],
        ['ADMIN_DELETE', 'roles', 'SUCCESS'],
      ]),
    )
    expect(found).toHaveLength(3)
    expect(found.every(({ actor }) => actor === server.admin.userId)).toBe(true)
    const row = await server.areas.storage.db
      .selectFrom('revisions')
      .selectAll()
      .where('realm', '=', 'acme')
      .where('revision', '=', revision)
      .executeTakeFirstOrThrow()
    expect(row).toMatchObject({ source: 'changeset', message: 'why', actor: server.admin.userId })
    expect(JSON.parse(row.provenance ?? '')).toEqual({ commit: 'abc', run: '42' })
    const history = await server.areas.storage.db
      .selectFrom('revision_operations')
      .selectAll()
      .where('revision', '=', revision)
      .execute()
    for (const shown of [answer.body, found, history])
      expect(JSON.stringify(shown)).not.toContain(secret)
    expect(
      answer.body.changes.find((one: { kind: string }) => one.kind === 'webhook').secrets,
    ).toEqual(['/secret'])
  })

  it('keeps the secret that it makes for a client to itself', async () => {
    const answer = await to.apply([put('client', 'generated', { clientId: 'generated' })])
    expect(answer.body.changes).toEqual([
      {
        op: 'create',
        kind: 'client',
        key: 'generated',
        figure: 'created',
        fields: [],
        secrets: ['/secret'],
      },
    ])
    const wrong = await to.apply([
      put(
        'client',
        'short',
        { clientId: 'short' },
        { secrets: { '/secret': 'tooshort-and-secret' } },
      ),
    ])
    expect(wrong.status).toBe(400)
    expect(JSON.stringify(wrong.body)).not.toContain('tooshort')
  })

  it('declares users with names that are theirs, and says which are not', async () => {
    await to.apply([
      user('anna', { email: 'anna@example.org' }),
      user('berta', { email: 'berta@example.org' }),
    ])
    const taken = await to.apply([
      role('unrelated'),
      user('carla', { email: 'ANNA@example.org' }),
      user('dora', { email: 'dora@example.org' }),
      user('doris', { email: 'dora@example.org' }),
    ])
    expect(taken).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(taken.body.errors).toMatchObject([
      { field: '/operations/1/doc/email', code: 'duplicate' },
      { field: '/operations/3/doc/email', code: 'duplicate' },
    ])
    const handedOn = await to.apply([
      user('anna', { email: 'new@example.org' }),
      user('carla', { email: 'anna@example.org' }),
      remove('user', 'berta'),
      user('dora', { email: 'berta@example.org' }),
    ])
    expect(handedOn.status, JSON.stringify(handedOn.body)).toBe(200)
    const wrong = await to.apply([
      role('unrelated'),
      user('weak', {}, { secrets: { '/initialPassword': 'x' } }),
    ])
    expect(wrong).toMatchObject({
      status: 400,
      body: { errors: [{ field: '/operations/1/doc/initialPassword' }] },
    })
  })
})
