/** Every documented admin operation is called, and what it answers is what the description says. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAjv, type ValidateFunction } from '#schemas/ajv.ts'
import { type Kind, keyOf } from '#schemas/kind.ts'
import { kinds } from '#schemas/registry.ts'
import { backends } from '../support/backends.ts'
import { bodyWithReferences, sampleOf } from '../support/samples.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'
import { type Operation, operationsIn, readDocument } from './document.ts'
import { createPlaces } from './places.ts'

const ajv = createAjv({ fillDefaults: false })
const depth = ({ path }: Operation): number => path.split('/').length

const validators = new Map<object, ValidateFunction>()
const faults = (schema: object, value: unknown): string => {
  const validate = validators.get(schema) ?? ajv.compile(schema)
  validators.set(schema, validate)
  return validate(value) ? '' : ajv.errorsText(validate.errors)
}

/** The kind that a declared operation serves. */
const kindOf = (operation: Operation): Kind | undefined =>
  kinds.find(({ kind }) => kind === operation['x-kind'])

describe.each(backends)('every documented operation on $name', (backend) => {
  const realm = 'acme'
  const places = createPlaces()
  let server: TestServer
  let operations: readonly Operation[]

  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm(realm)
    places.remember('/admin/realms/{realm}', `/admin/realms/${realm}`)
    const all = operationsIn(await readDocument(server))
    operations = all.filter(({ path }) => path.startsWith('/admin/'))
  })
  afterAll(() => server.close())

  const those = (method: string, wanted: (operation: Operation) => boolean = () => true) =>
    operations
      .filter((operation) => operation.method === method && wanted(operation))
      .toSorted((a, b) => depth(a) - depth(b))

  /** Fails for a status, media type or body that the description does not have. */
  const check = (operation: Operation, { status, headers, body }: Answer): void => {
    const place = `${operation.operationId} answered ${status} ${JSON.stringify(body)}`
    const documented = operation.responses[String(status)]
    expect(documented, place).toBeDefined()
    expect(status, place).toBeLessThan(500)
    const type = String(headers['content-type']).split(';')[0] ?? ''
    const schema = documented?.content?.[type]?.schema
    if (documented?.content === undefined) expect(body, place).toBe('')
    else expect(schema ? faults(schema, body) : `no ${type}`, place).toBe('')
  }

  const schemaOf = ({ requestBody }: Operation) =>
    Object.values(requestBody?.content ?? {})[0]?.schema

  /** A body that the description accepts; of a kind one that the server accepts too. */
  const bodyFor = async (operation: Operation): Promise<unknown> => {
    const schema = schemaOf(operation)
    const kind = kindOf(operation)
    if (!schema) return undefined
    const body = kind ? await bodyWithReferences(kind, makeTarget) : sampleOf(schema)
    expect(faults(schema, body), operation.operationId).toBe('')
    return body
  }

  /** Something for a body to refer to, by its natural key. */
  const makeTarget = async (kind: Kind): Promise<string> => {
    const body = await bodyWithReferences(kind, makeTarget)
    await server.admin.send('POST', `/admin/realms/${realm}${kind.path}`, body)
    return keyOf(kind, body)
  }

  /** The types of the events since the last call. */
  let lastEvent = 0
  const newEvents = async (): Promise<string[]> => {
    const rows = await server.areas.storage.db
      .selectFrom('audit_events')
      .select(['id', 'type'])
      .where('id', '>', lastEvent)
      .orderBy('id')
      .execute()
    lastEvent = Number(rows.at(-1)?.id ?? lastEvent)
    return rows.map(({ type }) => type)
  }

  const call = async (operation: Operation, body?: unknown): Promise<Answer> => {
    const { url } = places.find(operation.path)
    await newEvents()
    const answer = await server.admin.send(operation.method, url, body)
    check(operation, answer)
    const declared = operation['x-audit-events'] ?? []
    const recorded = await newEvents()
    // A write that changes nothing records nothing; one that reaches other documents records those too.
    if (recorded.length > 0 && answer.status < 300) {
      const place = `${operation.operationId} recorded ${recorded.join()}`
      expect(
        recorded.filter((type) => declared.includes(type)),
        place,
      ).not.toEqual([])
      const undeclared = recorded.filter((type) => !type.startsWith('ADMIN_'))
      expect(declared, place).toEqual(expect.arrayContaining(undeclared))
    }
    return answer
  }

  /** Where the thing is that a create or an upsert has just answered. */
  const remember = (operation: Operation, { headers, body }: Answer): void => {
    const { url } = places.find(operation.path)
    const kind = kindOf(operation)
    const id = body?.[kind?.pathKey ?? 'id'] ?? body?.id
    const location = headers['location'] ?? (id === undefined ? undefined : `${url}/${id}`)
    if (typeof location === 'string') places.remember(`${operation.path}/{}`, location)
    if (kind && kind.keyFields.length > 1) {
      const fields = kind.keyFields.map((field) => encodeURIComponent(body[field]))
      let [path, address] = [operation.path, url]
      for (const field of fields) {
        path = `${path}/{}`
        address = `${address}/${field}`
      }
      places.remember(path, address)
    }
  }

  const ofKind = (operation: Operation): boolean => kindOf(operation) !== undefined

  it('that creates takes a generated body and answers as documented', async () => {
    const creating = those('POST', ({ responses }) => '201' in responses)
    expect(creating.length).toBeGreaterThan(10)
    for (const operation of creating) {
      const answer = await call(operation, await bodyFor(operation))
      if (ofKind(operation))
        expect(answer.status, `${operation.operationId} ${JSON.stringify(answer.body)}`).toBe(201)
      if (answer.status === 201) remember(operation, answer)
    }
    for (const operation of those('PUT', ({ operationId }) => operationId.startsWith('upsert-'))) {
      const answer = await call(operation, await bodyFor(operation))
      expect(answer.status, operation.operationId).toBe(200)
      remember(operation, answer)
    }
  })

  it('that reads answers what is there as documented, and nothing else fails', async () => {
    const missing: string[] = []
    // A stream has no end to wait for.
    const reading = those('GET', ({ operationId }) => operationId !== 'stream-events')
    for (const operation of reading) {
      const { known } = places.find(operation.path)
      const { status } = await call(operation)
      if (status !== 200) missing.push(`${operation.operationId} ${status}`)
      if (known || ofKind(operation)) expect(status, operation.operationId).toBe(200)
    }
    // What the test has not made is a few things that take more than a body to make.
    expect(missing.length, missing.join()).toBeLessThan(reading.length / 10)
  })

  it('that replaces takes back what the read answered', async () => {
    const replacing = those('PUT').filter(ofKind)
    expect(replacing.length).toBeGreaterThan(10)
    for (const operation of replacing) {
      if (operation.operationId.startsWith('upsert-')) continue
      const { url } = places.find(operation.path)
      const { body } = await server.admin.send('GET', url)
      expect(faults(schemaOf(operation) ?? {}, body), operation.operationId).toBe('')
      expect((await call(operation, body)).status, operation.operationId).toBe(200)
    }
  })

  it('that acts answers as documented', async () => {
    const acting = ['PUT', 'PATCH', 'POST'].flatMap((method) =>
      those(method, (operation) => !ofKind(operation) && !('201' in operation.responses)),
    )
    for (const operation of acting) await call(operation, await bodyFor(operation))
  })

  it('that deletes answers as documented, and what it deleted is gone', async () => {
    const removing = those('DELETE').toReversed()
    for (const operation of removing) {
      const answer = await call(operation, await bodyFor(operation))
      const { known, url } = places.find(operation.path)
      const read = those('GET', ({ path }) => path === operation.path)[0]
      if (answer.status === 204 && known && read)
        expect((await server.admin.send('GET', url)).status, operation.operationId).not.toBe(200)
    }
  })
})
