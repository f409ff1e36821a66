/** Every kind × every generic property, on both databases, over HTTP. A new kind is tested by being on the list. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import type { Kind } from '#schemas/kind.ts'
import { compact } from '#schemas/normalize.ts'
import { childrenOf, kindNamed, kinds } from '#schemas/registry.ts'
import { readView, yamlView } from '#schemas/views.ts'
import { secretFields } from '#schemas/walk.ts'
import { backends } from '../support/backends.ts'
import { bodyWithReferences } from '../support/samples.ts'
import { startServer, type TestServer } from '../support/server.ts'

const ajv = createAjv()
const routed = kinds.filter((kind) => kind.path !== null)
const collections = routed.filter((kind) => kind.shape !== 'singleton')

describe.each(backends)('on $name', (backend) => {
  let server: TestServer
  let base: string

  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const bodyOf = (kind: Kind): Promise<Record<string, unknown>> =>
    bodyWithReferences(kind, async (target) => {
      const body = await bodyOf(target)
      const made = await server.admin.send('POST', `${base}${target.path}`, body)
      return String(made.body[target.keyFields[0] ?? ''])
    })

  /** The collection's address; a child's is below a parent made for it. */
  const addressOf = async (kind: Kind): Promise<string> => {
    if (kind.shape !== 'child' || kind.parentKind === null) return `${base}${kind.path}`
    const parent = kindNamed(kind.parentKind)
    const made = await server.admin.send('POST', `${base}${parent.path}`, await bodyOf(parent))
    return `${base}${kind.path?.replace(/\{[a-z-]+\}/, made.body[parent.pathKey])}`
  }
  const make = (kind: Kind, address: string, body: unknown) =>
    server.admin.send(kind.shape === 'upsert' ? 'PUT' : 'POST', address, body)
  const nameOf = (kind: Kind, shown: Record<string, unknown>): string =>
    encodeURIComponent(String(shown[kind.pathKey]))

  describe.each(collections)('$kind', (kind) => {
    it('is created, read, listed, replaced and deleted, and every reply fits its schema', async () => {
      const check = lazyValidator(ajv, readView(kind))
      const address = await addressOf(kind)
      const body = await bodyOf(kind)
      const made = await make(kind, address, body)
      expect(made.status, JSON.stringify(made.body)).toBe(kind.shape === 'upsert' ? 200 : 201)
      const { secret, ...record } = made.body
      const mark = kind.spec.properties?.['secret']?.['x-secret']
      // One that was made is told this once.
      const shown = mark?.made ? { ...record, secret: null } : made.body
      expect(check(mark?.read === 'absent' ? record : shown)).toEqual([])
      expect(made.body).toMatchObject(body)
      const one = `${address}/${nameOf(kind, made.body)}`
      if (kind.shape !== 'upsert') expect(made.headers['location']).toBe(one)

      const read = await server.admin.send('GET', one)
      expect(read.status).toBe(200)
      expect(check(read.body)).toEqual([])
      const list = await server.admin.send('GET', address)
      expect(list.body).toContainEqual(read.body)

      const repeated = await server.admin.send('PUT', one, read.body)
      expect(repeated.status, JSON.stringify(repeated.body)).toBe(200)
      expect(repeated.headers['etag']).toBe(read.headers['etag'])

      const changed = { ...body, description: 'another', enabled: false }
      const known = Object.fromEntries(
        Object.entries(changed).filter(([field]) => field in (kind.spec.properties ?? {})),
      )
      const replaced = await server.admin.send('PUT', one, known)
      expect(replaced.status, JSON.stringify(replaced.body)).toBe(200)
      expect(replaced.body).toMatchObject(known)

      expect((await server.admin.send('DELETE', one)).status).toBe(204)
      expect((await server.admin.send('GET', one)).status).toBe(404)
      expect((await server.admin.send('DELETE', one)).status).toBe(404)
    })

    it('is found by its natural key as well as by its id', async () => {
      const address = await addressOf(kind)
      const made = await make(kind, address, await bodyOf(kind))
      const own = kind.keyFields.map((field) => made.body[field]).join('/')
      const key = encodeURIComponent(kind.shape === 'tree' ? `/${own}` : own)
      const read = await server.admin.send('GET', `${address}/${key}`)
      expect(read.status).toBe(200)
      expect(read.body[kind.pathKey]).toBe(made.body[kind.pathKey])
    })

    it('refuses a second one with the same key, unless it is written by PUT', async () => {
      const address = await addressOf(kind)
      const body = await bodyOf(kind)
      await make(kind, address, body)
      const again = await make(kind, address, body)
      expect(again.status).toBe(kind.shape === 'upsert' ? 200 : 409)
    })

    it('refuses an unknown field, a wrong type and a missing field, and names them', async () => {
      const address = await addressOf(kind)
      const unknown = await make(kind, address, { ...(await bodyOf(kind)), surprise: 1 })
      expect(unknown.status).toBe(400)
      expect(unknown.body.errors).toContainEqual(
        expect.objectContaining({ field: '/surprise', code: 'unknown-field' }),
      )
      const [field = ''] = kind.keyFields
      const wrong = await make(kind, address, { ...(await bodyOf(kind)), [field]: { not: 'text' } })
      expect(wrong.body.errors).toContainEqual(
        expect.objectContaining({ field: `/${field}`, code: 'type' }),
      )
      const { [field]: _, ...rest } = await bodyOf(kind)
      const missing = await make(kind, address, rest)
      expect(missing.body.errors).toContainEqual(
        expect.objectContaining({ field: `/${field}`, code: 'required' }),
      )
    })

    it('refuses read-only fields on create, and changed ones on replace', async () => {
      const readOnly = Object.entries(kind.spec.properties ?? {}).filter(
        ([, { readOnly }]) => readOnly,
      )
      const address = await addressOf(kind)
      for (const [field] of readOnly) {
        const made = await make(kind, address, { ...(await bodyOf(kind)), [field]: 'mine' })
        expect(made.status, field).toBe(400)
        expect(made.body.errors).toContainEqual(expect.objectContaining({ field: `/${field}` }))
      }
      const made = await make(kind, address, await bodyOf(kind))
      const one = `${address}/${nameOf(kind, made.body)}`
      const { body } = await server.admin.send('GET', one)
      for (const [field] of readOnly) {
        const changed = await server.admin.send('PUT', one, { ...body, [field]: 'mine' })
        expect(changed.status, field).toBe(400)
      }
    })

    it('refuses a reference that leads nowhere', async () => {
      const fields = Object.entries(kind.spec.properties ?? {}).filter(
        ([, schema]) => (schema['x-ref'] ?? schema.items?.['x-ref']) && schema['x-only'] !== 'yaml',
      )
      for (const [field, schema] of fields) {
        const value = schema.items ? ['nowhere'] : 'nowhere'
        const made = await make(kind, await addressOf(kind), {
          ...(await bodyOf(kind)),
          [field]: value,
        })
        expect(made.status, field).toBe(400)
        expect(made.body.errors[0]).toMatchObject({ field: `/${field}`, code: 'missing-reference' })
      }
    })

    it('never reads a secret back', async () => {
      const address = await addressOf(kind)
      for (const { pointer } of secretFields(kind)) {
        const [field = '', inner] = pointer.slice(1).split('/')
        const secret = 'a secret value that nobody may see again'
        const body = await bodyOf(kind)
        const value = inner ? { ...(body[field] as object), [inner]: secret } : secret
        const made = await make(kind, address, { ...body, [field]: value })
        if (inner && made.status === 400) continue
        expect(made.status, JSON.stringify(made.body)).toBe(kind.shape === 'upsert' ? 200 : 201)
        const one = `${address}/${nameOf(kind, made.body)}`
        const seen = JSON.stringify([
          await server.admin.send('GET', one),
          await server.admin.send('GET', address),
          await server.admin.send('PUT', one, (await server.admin.send('GET', one)).body),
          await server.admin.send('GET', `${base}/events?size=500`),
        ])
        expect(seen).not.toContain(secret)
        if (inner) expect(seen).toContain(`"${inner}Set":true`)
        const stored = JSON.stringify(
          await server.areas.storage.db.selectFrom('documents').selectAll().execute(),
        )
        expect(stored).not.toContain(secret)
      }
    })

    it('answers 412 to a stale If-Match and keeps what is there', async () => {
      const address = await addressOf(kind)
      const body = await bodyOf(kind)
      const made = await make(kind, address, body)
      const one = `${address}/${nameOf(kind, made.body)}`
      const stale = await server.admin.send('PUT', one, body, { 'if-match': '"0-none"' })
      expect(stale.status).toBe(412)
      const deleted = await server.admin.send('DELETE', one, undefined, { 'if-match': '"0-none"' })
      expect(deleted.status).toBe(412)
      expect((await server.admin.send('GET', one)).headers['etag']).toBe(made.headers['etag'])
    })
  })

  it('has in its stored form exactly what its YAML form accepts', async () => {
    const rows = await server.areas.storage.db.selectFrom('documents').selectAll().execute()
    for (const [name, own] of Map.groupBy(rows, (row) => row.kind)) {
      const kind = kindNamed(name)
      const validate = lazyValidator(ajv, yamlView(kind, kinds))
      for (const row of own) {
        const body = JSON.parse(row.body)
        expect(compact(kind, body)).toEqual(body)
        if (kind.shape !== 'tree') expect(validate(body), name).toEqual([])
      }
    }
    expect(new Set(rows.map(({ kind }) => kind))).toEqual(new Set(routed.map(({ kind }) => kind)))
  })

  it('takes children along when a parent is deleted or renamed', async () => {
    for (const parent of routed.filter((kind) => kind.shape === 'collection')) {
      for (const child of childrenOf(parent)) {
        const address = await addressOf(child)
        const made = await make(child, address, await bodyOf(child))
        const tail = child.path?.split('}')[1] ?? ''
        const one = address.slice(0, -tail.length)
        const { body } = await server.admin.send('GET', one)
        const [key = ''] = parent.keyFields
        const renamed = await server.admin.send('PUT', one, { ...body, [key]: `${body[key]}-new` })
        expect(renamed.status, JSON.stringify(renamed.body)).toBe(200)
        const name = nameOf(child, made.body)
        // Where the path knows only the natural key, it is the new one.
        const now = parent.idField === null ? `${one}-new` : one
        expect((await server.admin.send('GET', `${now}${tail}/${name}`)).body).toEqual(made.body)
        await server.admin.send('DELETE', now)
        const left = await server.areas.storage.db
          .selectFrom('documents')
          .select('id')
          .where('id', '=', made.body[child.pathKey])
          .execute()
        expect(left).toEqual([])
      }
    }
  })
})
