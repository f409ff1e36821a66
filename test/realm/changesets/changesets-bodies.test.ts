/** Reading of a changeset: all errors at once, two forms of body, and limits with clear errors. */

import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { client, documentIn, put, remove, role, type Sender, senderTo, user } from './changeset.ts'

const lines = { 'content-type': 'application/x-ndjson' }

describe.each(backends)('the body of a changeset on $name', (backend) => {
  let server: TestServer
  let to: Sender
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    to = senderTo(server, 'acme')
  })
  afterAll(() => server.close())

  const document = (kind: string, key: string) => documentIn(server, 'acme', kind, key)
  const fieldsOf = (answer: { body: { errors?: { field: string; code: string }[] } }) =>
    (answer.body.errors ?? []).map(({ field, code }) => [field, code])

  it('has every wrong operation and field named in one reply', async () => {
    const before = await to.revision()
    const answer = await to.apply([
      role('fine'),
      put('planet', 'earth'),
      role('wrong', { unknown: 1, composites: 'not a list' }),
      put('role', 'a', { name: 'b' }),
      put('client', 'secretive', { clientId: 'secretive', secret: 'x'.repeat(40) }),
      client('odd', {}, { secrets: { '/nothing': 'x' } }),
      role('fine'),
      { op: 'put', kind: 'role', key: 'empty' },
      { op: 'rename', kind: 'role', key: 'x', doc: { name: 'x' } },
      remove('role', 'gone', { doc: { name: 'gone' } }),
      put('role', 'nul', { name: 'nul', description: 'a\0b' }),
      { op: 'paint', kind: 'role', key: 'x' } as never,
    ])
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation' } })
    expect(fieldsOf(answer)).toEqual([
      ['/operations/1/kind', 'unknown-kind'],
      ['/operations/2/doc/unknown', 'unknown-field'],
      ['/operations/2/doc/composites', 'type'],
      ['/operations/3/doc/name', 'key'],
      ['/operations/4/doc/secret', 'secret'],
      ['/operations/5/secrets/~1nothing', 'unknown-field'],
      ['/operations/6/key', 'duplicate'],
      ['/operations/7/doc', 'required'],
      ['/operations/8/from', 'required'],
      ['/operations/9/doc', 'unknown-field'],
      ['/operations/10/doc/description', 'text'],
      ['/operations/11/op', 'enum'],
    ])
    expect(await to.revision()).toBe(before)
  })

  it('has everything named that does not hold between its documents', async () => {
    const answer = await to.apply([
      role('sound'),
      role('lost', { composites: ['nobody', 'sound'] }),
      put('group', '/Lost', { name: 'Lost', roles: ['nothing'] }),
      role('circle-a', { composites: ['circle-b'] }),
      role('circle-b', { composites: ['circle-a'] }),
      client('contradictory', { grantTypes: ['client_credentials'] }),
      put('settings', 'settings', { browserFlow: 'no-such-flow' }),
    ])
    expect(answer.status).toBe(400)
    expect(fieldsOf(answer)).toEqual(
      expect.arrayContaining([
        ['/operations/1/doc/composites', 'missing-reference'],
        ['/operations/2/doc/roles', 'missing-reference'],
        ['/operations/3/doc/composites', 'cycle'],
        ['/operations/4/doc/composites', 'cycle'],
        ['/operations/5/doc/grantTypes', 'public-client'],
        ['/operations/6/doc/browserFlow', 'missing-reference'],
      ]),
    )
    const orphan = await to.apply([put('client-role', 'nobody/reader', { name: 'reader' })])
    expect(fieldsOf(orphan)).toEqual([['/operations/0/doc/name', 'missing-reference']])
    const unknown = await to.apply([role('x', {}, { op: 'rename', from: 'never-was' })])
    expect(unknown).toMatchObject({ status: 409, body: { errors: [{ field: '/operations/0' }] } })
  })

  it('names a thousand errors and no more', async () => {
    const many = Array.from({ length: 1500 }, (_, i) => role(`r${i}`, { unknown: i }))
    const answer = await to.apply(many)
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toHaveLength(1000)
    expect(answer.body.detail.length).toBeLessThan(1000)
  })

  it('is all or nothing: the last of a thousand operations fails, and nothing is there', async () => {
    const before = await to.revision()
    const many = Array.from({ length: 999 }, (_, i) => user(`all-${i}`))
    const answer = await to.apply([...many, role('last', { composites: ['nobody'] })])
    expect(fieldsOf(answer)).toEqual([['/operations/999/doc/composites', 'missing-reference']])
    expect(await to.revision()).toBe(before)
    expect(await document('user', 'all-0')).toBeUndefined()
    const rows = await server.areas.storage.db
      .selectFrom('users')
      .select('id')
      .where('username', 'like', 'all-%')
      .execute()
    expect(rows).toEqual([])
  })

  it('may be lines: the head first, then an operation each', async () => {
    const head = { baseRevision: await to.revision(), source: 'estate' }
    const parts = [head, role('line-1'), role('line-2', { composites: ['line-1'] })]
    const text = parts.map((part) => JSON.stringify(part)).join('\n')
    const answer = await to.send(`${text}\n\n`, lines)
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200, body: { created: 2 } })
    const again = await to.send(`\n${text}`, lines)
    expect(again).toMatchObject({ status: 409, body: { code: 'stale' } })
    const wrong = await to.send(`${JSON.stringify(head)}\n{"op":`, lines)
    expect(wrong).toMatchObject({ status: 400, body: { code: 'bad-request' } })
    expect(wrong.body.detail).toContain('Operation 0')
    const headless = await to.send(JSON.stringify(role('x')), lines)
    expect(headless.status).toBe(400)
  })

  it('may have its members in any order, and is read as strictly as any other', async () => {
    const operations = JSON.stringify([role('ordered', { description: '[{"operations":[]}]' })])
    const revision = await to.revision()
    const answer = await to.send(
      ` { "message" : "\\"operations\\": [", "operations" : ${operations} ,"source":"estate", "baseRevision":${revision} } `,
    )
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200, body: { created: 1 } })
    const spelled = await to.send(
      `{"source":"estate","baseRevision":${revision + 1},"oper\\u0061tions":[${JSON.stringify(role('spelled'))}]}`,
    )
    expect(spelled.body, JSON.stringify(spelled.body)).toMatchObject({ created: 1 })
    const head = '"source":"estate","baseRevision":1'
    for (const body of [
      '',
      '[]x',
      '{',
      `{${head},"operations":[}`,
      `{${head},"operations":[{}`,
      `{${head},"operations":[{},]}`,
      `{${head},"operations":[,{}]}`,
      `{${head},"operations":[],"operations":[]}`,
      `{${head},"operations":[{"op":"delete","op":"put","kind":"role","key":"x"}]}`,
      `{${head},"operations":[{"__proto__":{},"op":"delete","kind":"role","key":"x"}]}`,
      `{${head},"operations":[]}{}`,
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    ])
      expect((await to.send(body)).body, String(body)).toMatchObject({ code: 'bad-request' })
    for (const body of [
      '[]',
      'null',
      '1',
      `{${head}}`,
      `{${head},"operations":{}}`,
      `{"operations":[]}`,
    ])
      expect((await to.send(body)).body, body).toMatchObject({ code: 'validation' })
    const more = await to.send(`{${head},"operations":[],"extra":1}`)
    expect(fieldsOf(more)).toEqual([['/extra', 'unknown-field']])
  })

  it('is nothing but JSON or lines of it, as it is', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml'])
      expect((await to.send('{}', { 'content-type': type })).status, type).toBe(415)
    expect((await to.send('{}', { 'content-encoding': 'gzip' })).status).toBe(415)
  })

  it('has a limit for each operation, and one for all of it', async () => {
    const { bodyLimit, changesetLimit } = server.areas.given.config.limits
    const large = await to.apply([role('large', { description: 'x'.repeat(bodyLimit) })])
    expect(large).toMatchObject({ status: 413, body: { code: 'too-large' } })
    const head = await to.apply([], { message: 'x'.repeat(bodyLimit) })
    expect(head.status).toBe(413)
    expect(changesetLimit).toBe(256 * 1024 * 1024)
  })

  it('has a hundred thousand operations at most', async () => {
    const head = JSON.stringify({ baseRevision: await to.revision(), source: 'estate' })
    const one = '{"op":"delete","kind":"role","key":"'
    const text = Array.from({ length: 100_001 }, (_, i) => `${one}${i}"}`).join('\n')
    const answer = await to.send(`${head}\n${text}`, lines)
    expect(answer.status).toBe(400)
    expect(fieldsOf(answer)).toContainEqual(['/operations', 'maxItems'])
  })

  it('may come slowly: other writes to the realm do not wait for it', async () => {
    await server.app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = server.app.server.address() as AddressInfo
    const body = JSON.stringify({
      baseRevision: (await to.revision()) + 1,
      source: 'estate',
      operations: [role('slow')],
    })
    const arrived = Promise.withResolvers<number>()
    const sending = request(
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/admin/realms/acme/changesets',
        headers: {
          cookie: server.admin.cookie,
          'x-xsrf-token': server.admin.csrf,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (reply) => {
        reply.resume()
        arrived.resolve(reply.statusCode ?? 0)
      },
    )
    sending.on('error', arrived.reject)
    sending.write(body.slice(0, 40))
    expect((await to.apply([role('meanwhile')])).status).toBe(200)
    sending.end(body.slice(40))
    expect(await arrived.promise).toBe(200)
    expect(await document('role', 'slow')).toBeDefined()
  })

  it('may break off, and nothing of it is there', async () => {
    const before = await to.revision()
    const broken = async function* () {
      yield Buffer.from('{"source":"estate","operations":[')
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    }
    const caller = { actor: 'x', sourceIp: '::1', permissions: new Set<never>() }
    const sent = server.areas.realm.changesets.apply({
      realm: 'acme',
      caller,
      body: broken(),
      type: 'application/json',
    })
    await expect(sent).rejects.toThrow('aborted')
    expect(await to.revision()).toBe(before)
  })
})
