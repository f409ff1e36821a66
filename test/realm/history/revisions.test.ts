/** GET …/revisions: author and field changes of each revision, within the permissions of the reader. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Doc } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import type { RevisionDetail, RevisionSummary } from '#schemas/wire/wire.ts'
import type { Operation } from '#server/realm/write/operations.ts'
import { backends } from '../../support/backends.ts'
import { estate, pipeline, secretMark } from '../../support/filled-realm.ts'
import { type Client as Caller, startServer, type TestServer } from '../../support/server.ts'

const secret = (n: number): string => `${secretMark}-${n}`.padEnd(40, '-')

describe.each(backends)('revisions on $name', (backend) => {
  let server: TestServer
  const base = '/admin/realms/acme'
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const revision = async (): Promise<number> =>
    (await server.areas.realm.realms.find('acme'))?.revision ?? 0
  const list = async (query = '', by: Caller = server.admin): Promise<RevisionSummary[]> => {
    const { status, body } = await by.send('GET', `${base}/revisions${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  const read = async (n: number, by: Caller = server.admin): Promise<RevisionDetail> => {
    const { status, body } = await by.send('GET', `${base}/revisions/${n}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  const put = (kind: typeof Role, doc: Doc, secrets: Record<string, string> = {}): Operation => ({
    op: 'put',
    kind,
    key: String(doc[kind.keyFields[0] ?? '']),
    doc,
    secrets,
  })
  const write = async (operations: readonly Operation[], more: object = {}): Promise<number> => {
    await server.areas.realm.writer.write({
      realm: 'acme',
      caller: pipeline,
      channel: estate,
      operations,
      ...more,
    })
    return revision()
  }

  it('tell who made them, when, through which channel, why and how much', async () => {
    const provenance = { commit: 'abc123', run: '42' }
    const n = await write([put(Role, { name: 'a' }), put(Role, { name: 'b' })], {
      message: 'two roles',
      provenance,
    })
    await server.admin.send('PUT', `${base}/roles/a`, { name: 'c', description: 'by hand' })
    await server.admin.send('DELETE', `${base}/roles/b`)
    const [deleted, renamed, made] = await list()
    expect(made).toEqual({
      revision: n,
      at: expect.any(Number),
      actor: 'pipeline',
      actorName: null,
      source: 'changeset',
      message: 'two roles',
      provenance,
      created: 2,
      updated: 0,
      deleted: 0,
      adopted: 0,
      along: 0,
      hidden: 0,
    })
    expect(renamed).toMatchObject({
      revision: n + 1,
      actor: server.admin.userId,
      actorName: 'admin',
      source: 'rest',
      message: null,
      provenance: null,
      updated: 1,
    })
    expect(deleted).toMatchObject({ revision: n + 2, deleted: 1 })
  })

  it('are paged, newest first, down to the birth of the realm', async () => {
    const now = await revision()
    const numbers = (rows: readonly RevisionSummary[]) => rows.map((row) => row.revision)
    expect(numbers(await list('?max=2'))).toEqual([now, now - 1])
    expect(numbers(await list(`?max=2&before=${now - 1}`))).toEqual([now - 2, now - 3])
    const all = await list('?max=500')
    expect(numbers(all)).toEqual(Array.from({ length: now }, (_, i) => now - i))
    expect(all.at(-1)).toMatchObject({ revision: 1, source: 'bootstrap', updated: 0 })
    expect(await list('?before=1')).toEqual([])
    for (const wrong of ['?max=0', '?max=501', '?before=0', '?before=x', '?surprise=1'])
      expect((await server.admin.send('GET', `${base}/revisions${wrong}`)).status).toBe(400)
  })

  it('show every change field by field', async () => {
    await write([put(Role, { name: 'x', composites: ['user'] }), put(Role, { name: 'y' })])
    const n = await write([
      {
        ...put(Role, { name: 'z', description: 'New.', composites: ['auditor', 'y'] }),
        from: 'x',
      } as Operation,
    ])
    const { changes, ...summary } = await read(n)
    expect(summary).toEqual((await list('?max=1'))[0])
    expect(changes).toEqual([
      {
        op: 'rename',
        kind: 'role',
        key: 'z',
        from: 'x',
        figure: 'updated',
        fields: [
          { pointer: '/name', change: 'set', before: 'x', after: 'z' },
          { pointer: '/composites', change: 'remove', value: 'user' },
          { pointer: '/composites', change: 'add', value: 'auditor' },
          { pointer: '/composites', change: 'add', value: 'y' },
          { pointer: '/description', change: 'set', after: 'New.' },
        ],
        secrets: [],
      },
    ])
    await server.admin.send('DELETE', `${base}/roles/z`)
    const [gone] = (await read(n + 1)).changes
    expect(gone).toMatchObject({ op: 'delete', kind: 'role', key: 'z', secrets: [] })
    expect(gone?.fields).toContainEqual({ pointer: '/name', change: 'set', before: 'z' })
  })

  it('name the secrets that changed, and hold none', async () => {
    const made = await write([put(Client, { clientId: 'web' }, { '/secret': secret(1) })])
    const renamed = await write([put(Client, { clientId: 'web', name: 'Web' })])
    const changed = await write([
      put(Client, { clientId: 'web', name: 'Web' }, { '/secret': secret(2) }),
    ])
    const details = await Promise.all([made, renamed, changed].map((n) => read(n)))
    expect(details.map(({ changes }) => changes[0]?.secrets)).toEqual([
      ['/secret'],
      [],
      ['/secret'],
    ])
    expect(details[2]?.changes[0]?.fields).toEqual([])
    const text = JSON.stringify(details)
    for (const word of [secretMark, 'hmac', '"kid"']) expect(text).not.toContain(word)
  })

  it('take a secret that was only sealed anew for the same', async () => {
    const url = `${base}/webhooks`
    const body = { name: 'hook', url: 'https://a.example/', eventTypes: '*', secret: secret(3) }
    await server.admin.send('POST', url, body)
    await server.admin.send('PUT', `${url}/hook`, {
      ...body,
      secret: null,
      url: 'https://b.example/',
    })
    const n = await revision()
    const { db } = server.areas.storage
    const row = await db
      .selectFrom('revision_operations')
      .selectAll()
      .where('realm', '=', 'acme')
      .where('revision', '=', n)
      .executeTakeFirstOrThrow()
    const after = JSON.parse(row.after ?? '')
    const place = { realm: 'acme', kind: 'webhook', id: row.document_id }
    const mark = { store: 'sealed', read: 'null' } as const
    after.secrets['/secret'] = server.areas.secrets.vault.store(place, '/secret', mark, secret(3))
    expect(after.secrets).not.toEqual(JSON.parse(row.before ?? '').secrets)
    await server.areas.storage.commit([
      {
        sql: `update revision_operations set after = ${backend.name === 'sqlite' ? '?' : '$1'} where realm = 'acme' and revision = ${n}`,
        parameters: [JSON.stringify(after)],
      },
    ])
    expect((await read(n)).changes[0]?.secrets).toEqual([])
  })

  it('leave out and count what the reader may not see', async () => {
    const n = await write([put(Role, { name: 'seen' }), put(Client, { clientId: 'unseen' })])
    const by = await server.userWith('acme', ['manage-roles'])
    const { changes, ...summary } = await read(n, by)
    expect(changes.map(({ key }) => key)).toEqual(['seen'])
    expect(summary).toMatchObject({ created: 1, updated: 0, hidden: 1 })
    const [shown] = await list(`?before=${n + 1}&max=1`, by)
    expect(shown).toEqual(summary)
    const nobody = await server.userWith('acme', [])
    expect((await nobody.send('GET', `${base}/revisions`)).status).toBe(403)
  })

  it('that there are not are not found', async () => {
    for (const n of ['0', '999999', '-1', '1.5', 'x', '99999999999999999'])
      expect((await server.admin.send('GET', `${base}/revisions/${n}`)).status, n).toBe(404)
    expect((await server.admin.send('GET', '/admin/realms/none/revisions')).status).toBe(404)
    expect((await server.admin.send('GET', '/admin/realms/none/revisions/1')).status).toBe(404)
  })

  it('may be large', async () => {
    const names = Array.from({ length: 1200 }, (_, i) => `large-${i}`)
    const { changes, created } = await read(await write(names.map((name) => put(Role, { name }))))
    expect(created).toBe(1200)
    expect(new Set(changes.map(({ key }) => key))).toEqual(new Set(names))
  })
})
