import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileErrors, parse, validate } from '@readme/openapi-parser'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAjv } from '#schemas/ajv.ts'
import { kinds } from '#schemas/registry.ts'
import { createApp } from '#server/run/app.ts'
import manifest from '../../package.json' with { type: 'json' }
import { adminRoutes } from '../security/admin-api/admin-routes.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type ApiDocument, type Operation, operationsIn, readDocument } from './document.ts'
import { factsOf, type RouteFacts, registeredRoutes } from './registered-routes.ts'

const [backend] = backends

describe('the API description', () => {
  let server: TestServer
  let document: ApiDocument
  let operations: readonly Operation[]

  beforeAll(async () => {
    if (!backend) throw new Error('no backend')
    server = await startServer(backend)
    document = await readDocument(server)
    operations = operationsIn(document)
  })
  afterAll(() => server.close())

  it('is OpenAPI 3.1 in the eyes of an independent validator', async () => {
    const result = await validate(structuredClone(document) as never)
    expect(result.valid ? '' : compileErrors(result)).toBe('')
    expect(document.openapi).toMatch(/^3\.1\./)
    expect(document.info.version).toBe(manifest.version)
  })

  it('has every admin route that is registered and no other, as it is registered', async () => {
    const registered = await registeredRoutes(server.areas)
    const described = (await adminRoutes(server)).map(factsOf)
    const inOrder = (routes: readonly RouteFacts[]) =>
      routes.toSorted((a, b) => (`${a.method} ${a.path}` < `${b.method} ${b.path}` ? -1 : 1))
    expect(inOrder(described)).toEqual(inOrder(registered))
    expect(described.length).toBeGreaterThan(200)
  })

  it('has signing in and out, monitoring and itself', () => {
    const others = operations
      .filter(({ path }) => !path.startsWith('/admin/'))
      .map(({ method, path }) => `${method} ${path}`)
    expect(others).toEqual(
      expect.arrayContaining([
        'GET /realms/{realm}/login',
        'POST /realms/{realm}/login',
        'POST /realms/{realm}/logout',
        'GET /monitoring/health',
        'GET /monitoring/metrics',
        'GET /v3/api-docs',
        'GET /v3/api-docs.yaml',
      ]),
    )
  })

  it('says where a POST needs no body, and that clients register with JSON (RFC 7591 §3.1)', () => {
    const bodyOf = (id: string) =>
      operations.find(({ operationId }) => operationId === id)?.requestBody
    for (const id of ['create-scim-token', 'regenerate-client-secret', 'rollback-realm'])
      expect([id, bodyOf(id)?.required]).toEqual([id, false])
    for (const id of [
      'create-role',
      'create-user-credential',
      'replace-settings',
      'register-client',
    ])
      expect([id, bodyOf(id)?.required]).toEqual([id, true])
    for (const id of ['register-client', 'update-registered-client'])
      expect(Object.keys(bodyOf(id)?.content ?? {})).toEqual(['application/json'])
  })

  it('has the failures of every route outside the admin API, also those of a request that is too large', () => {
    const open = operations.filter(({ path }) => path.startsWith('/realms/'))
    const failures = ({ responses }: Operation) =>
      Object.keys(responses).filter((one) => one >= '4')
    expect(open.filter((one) => failures(one).length === 0)).toEqual([])
    const statuses = (id: string) =>
      failures(operations.find(({ operationId }) => operationId === id) ?? ({} as Operation))
    expect(statuses('create-ssf-stream')).toEqual(
      expect.arrayContaining(['400', '401', '403', '404', '409', '413', '414', '415', '503']),
    )
    for (const id of ['leave-for-broker-logout', 'broker-signed-out', 'read-broker-metadata'])
      expect(statuses(id), id).toContain('404')
    for (const id of ['register-client', 'create-uma-resource', 'request-token'])
      expect(statuses(id), id).toEqual(expect.arrayContaining(['413', '414', '415']))
  })

  it('bounds every integer in a query, as the server does', () => {
    const bounds = operations.flatMap(({ parameters = [] }) =>
      parameters.flatMap((one) =>
        one.in === 'query' && one.schema.type === 'integer' ? [one.schema['maximum']] : [],
      ),
    )
    expect(bounds.length).toBeGreaterThan(20)
    expect(bounds.filter((one) => !(Number(one) <= 999_999_999_999_999))).toEqual([])
  })

  it('has SCIM, with its media type, parameters and errors', () => {
    const scim = operations.filter(({ path }) => path.includes('/scim/v2'))
    expect(scim.map(({ method, path }) => `${method} ${path.split('/scim/v2')[1]}`).sort()).toEqual(
      [
        'GET ',
        'POST /.search',
        'GET /ServiceProviderConfig',
        ...['ResourceTypes', 'Schemas'].flatMap((name) => [`GET /${name}`, `GET /${name}/{id}`]),
        ...['Users', 'Groups'].flatMap((name) => [
          `GET /${name}`,
          `POST /${name}`,
          `POST /${name}/.search`,
          ...['GET', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /${name}/{id}`),
        ]),
      ].sort(),
    )
    const media = 'application/scim+json'
    for (const { operationId, responses, requestBody, method } of scim) {
      expect(responses['401']?.content?.[media]?.schema.required, operationId).toContain('status')
      if (['POST', 'PUT', 'PATCH'].includes(method))
        expect(Object.keys(requestBody?.content ?? {}), operationId).toContain(media)
    }
    const list = scim.find(({ operationId }) => operationId === 'scim-list-users')
    expect(list?.parameters?.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['filter', 'sortBy', 'startIndex', 'count', 'attributes']),
    )
    const made = scim.find(({ operationId }) => operationId === 'scim-create-user')
    expect(made?.requestBody?.content[media]?.schema.properties?.['userName']?.type).toBe('string')
  })

  it('gives every operation an id of its own, a summary, a tag and its path parameters', () => {
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
    for (const { operationId, summary, tags, path, parameters = [] } of operations) {
      expect(summary, operationId).toMatch(/\S/)
      expect(tags.length, operationId).toBe(1)
      const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const given = parameters.filter((one) => one.in === 'path').map(({ name }) => name)
      expect(given.toSorted(), operationId).toEqual(wanted.toSorted())
    }
  })

  it('says that admin reads take a session and admin writes the XSRF token too', () => {
    for (const { operationId, method, path, security, tags } of operations) {
      // Those say more: see account-security.test.ts.
      if (tags.includes('account')) continue
      const expected = !path.startsWith('/admin/')
        ? path.includes('/scim/v2')
          ? /\/(ServiceProviderConfig|ResourceTypes|Schemas)\b/.test(path)
            ? []
            : [{ 'scim-token': [] }]
          : /\/(authz\/protection|ssf)\//.test(path)
            ? [{ token: [] }]
            : []
        : [method === 'GET' ? { session: [] } : { session: [], xsrf: [] }, { bearer: [] }]
      expect(security, operationId).toEqual(expected)
    }
  })

  it('has a problem document for every way an admin request is refused', () => {
    for (const { operationId, method, path, responses } of operations) {
      if (!path.startsWith('/admin/')) continue
      const refusals = ['400', '401', '403', '404', ...(method === 'GET' ? [] : ['409', '412'])]
      for (const status of refusals)
        expect(
          responses[status]?.content?.['application/problem+json']?.schema.required,
          `${operationId} ${status}`,
        ).toContain('code')
    }
  })

  it('has schemas that strict Ajv can use', () => {
    const ajv = createAjv({ fillDefaults: false })
    const texts = operations.flatMap(({ requestBody, responses }) =>
      [requestBody, ...Object.values(responses)].flatMap((part) =>
        Object.values(part?.content ?? {}).map(({ schema }) => JSON.stringify(schema)),
      ),
    )
    for (const text of new Set(texts)) expect(() => ajv.compile(JSON.parse(text))).not.toThrow()
  })

  it('names the schemas of kinds once and refers to them', () => {
    for (const { kind } of kinds.filter(({ path }) => path !== null))
      expect(Object.keys(document.components.schemas), kind).toContain(kind)
    const text = JSON.stringify(document.paths)
    expect(text).toContain('"$ref":"#/components/schemas/client"')
    expect(text).not.toContain('"redirectUris"')
  })

  it('is smaller than the first MiB of a response, which is all that Schemathesis reads', async () => {
    for (const path of ['/v3/api-docs', '/v3/api-docs.yaml']) {
      const { payload } = await server.app.inject(path)
      expect(Buffer.byteLength(payload), path).toBeLessThan(1024 * 1024)
    }
  })

  it('says what an email address is, and which schemas SCIM bodies name', () => {
    const bodyOf = (id: string) =>
      Object.values(operations.find((one) => one.operationId === id)?.requestBody?.content ?? {})[0]
        ?.schema.properties
    expect(bodyOf('create-user')?.['email']).toMatchObject({ format: 'email', maxLength: 320 })
    expect(bodyOf('scim-create-user')?.['schemas']?.['contains']).toEqual({
      const: 'urn:ietf:params:scim:schemas:core:2.0:User',
    })
  })

  it('is the same as YAML, without aliases', async () => {
    const { headers, body } = await server.anonymous.send('GET', '/v3/api-docs.yaml')
    expect(headers['content-type']).toBe('application/yaml')
    expect(body).not.toMatch(/: [&*]a\d+/)
    const folder = mkdtempSync(join(tmpdir(), 'iamctl-openapi-'))
    try {
      writeFileSync(join(folder, 'api.yaml'), body)
      expect(await parse(join(folder, 'api.yaml'))).toEqual(document)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('is answered to anybody, without a cookie, and not sent again to who has it', async () => {
    const first = await server.anonymous.send('GET', '/v3/api-docs')
    expect(first.headers['set-cookie']).toBeUndefined()
    const again = await server.anonymous.send('GET', '/v3/api-docs', undefined, {
      'if-none-match': String(first.headers['etag']),
    })
    expect([again.status, again.body]).toEqual([304, ''])
  })

  it('validates no body twice: Fastify itself is given none', async () => {
    const schemas: unknown[] = []
    const app = createApp(server.areas)
    app.addHook('onRoute', ({ schema }) => void schemas.push(schema?.body))
    await app.ready()
    await app.close()
    expect(schemas.filter((body) => body !== undefined)).toEqual([])
  })
})
