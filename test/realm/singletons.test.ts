/**
 * PUT of a singleton document: an absent field is unchanged, null sets the default. A client that knows only some fields
 * resets no other field.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { kinds } from '#schemas/registry.ts'
import { backends } from '../support/backends.ts'
import { sampleNumbered } from '../support/samples.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { put, senderTo } from './changesets/changeset.ts'

type Doc = Record<string, unknown>

const singletons = kinds.filter(({ shape, path }) => shape === 'singleton' && path !== null)

const isWritable = (schema: JsonSchema): boolean =>
  !schema.readOnly && !schema['x-ref'] && !schema['x-secret'] && !schema.items?.['x-ref']

/** A value that differs from the default. */
const otherValue = (schema: JsonSchema, n: number): unknown => {
  if (schema.enum) return schema.enum.find((one) => one !== schema.default) ?? schema.enum[0]
  if (schema.type === 'integer') return Number(schema.default ?? 1) + 1
  if (schema.properties) return otherValues(schema, n)
  return sampleNumbered(schema, n)
}

const otherValues = (schema: JsonSchema, n: number): Doc =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {})
      .filter(([, inner]) => isWritable(inner))
      .map(([name, inner]) => [name, otherValue(inner, n)]),
  )

/** Where fields have to agree with each other. */
const agreeing: Readonly<Record<string, Doc>> = {
  settings: { enabled: true, defaultLocale: 'en', ssoSessionMaxLifespan: 40_000 },
  'subject-claim': { strategy: 'attribute', attribute: 'employee' },
  provisioning: { dcrEnabled: true },
}
const policy = { regexPattern: '.*', length: 13, maxLength: 200 }

const bodyFor = (kind: Kind): Doc => {
  const body = { ...otherValues(kind.spec, 1), ...agreeing[kind.kind] }
  const passwords = body['passwordPolicy']
  return passwords ? { ...body, passwordPolicy: { ...(passwords as Doc), ...policy } } : body
}

describe.each(backends)('PUT of a singleton on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
    for (const { kind } of singletons) await server.createRealm(`of-${kind}`)
  })
  afterAll(() => server.close())

  describe.each(singletons.map((kind) => [kind.kind, kind] as const))('%s', (name, kind) => {
    const path = `/admin/realms/of-${name}${kind.path}`
    const replace = async (body: unknown): Promise<Doc> => {
      const answer = await server.admin.send('PUT', path, body)
      expect(answer.body).not.toHaveProperty('errors')
      expect(answer.status).toBe(200)
      return answer.body
    }
    const read = async (): Promise<Doc> => (await server.admin.send('GET', path)).body
    let defaults: Doc = {}
    let filled: Doc = {}
    beforeAll(async () => {
      defaults = await read()
      await replace(bodyFor(kind))
      filled = await read()
      expect(filled).not.toEqual(defaults)
    })

    it('leaves everything as it is where nothing is given', async () => {
      await replace({})
      expect(await read()).toEqual(filled)
    })

    it('changes the field that is given alone, and with null to its default', async () => {
      const fields = Object.entries(kind.spec.properties ?? {}).filter(([, one]) => isWritable(one))
      for (const [field] of fields) {
        const given = filled[field]
        await replace({ [field]: given })
        expect(await read()).toEqual(filled)
        const reset = await server.admin.send('PUT', path, { [field]: null })
        if (reset.status === 200) {
          expect(await read()).toEqual({ ...filled, [field]: defaults[field] })
          await replace({ [field]: given })
        } else {
          // A default that does not agree with the rest is refused, and nothing is changed.
          expect([field, reset.status]).toEqual([field, 400])
        }
        expect(await read()).toEqual(filled)
      }
    })

    it('refuses what it does not know, and changes nothing', async () => {
      const answer = await server.admin.send('PUT', path, { nonsense: null })
      expect(answer.status).toBe(400)
      expect(await read()).toEqual(filled)
    })
  })

  it('with the fields of branding leaves password policy, flow and lock-out alone', async () => {
    const base = await server.createRealm('branded')
    const first = {
      passwordPolicy: { length: 20, digits: 2 },
      browserFlow: 'browser',
      failureFactor: 3,
      accessTokenLifespan: 120,
    }
    await server.admin.send('PUT', `${base}/settings`, first)
    const branding = { displayName: 'Branded', primaryColor: '#112233', welcomeText: 'Hello' }
    const { status, body } = await server.admin.send('PUT', `${base}/settings`, branding)
    expect(status).toBe(200)
    expect(body).toMatchObject({ ...first, ...branding })
    // Within an object as well.
    const policy = { passwordPolicy: { upperCase: 1, digits: null } }
    const changed = await server.admin.send('PUT', `${base}/settings`, policy)
    expect(changed.body.passwordPolicy).toMatchObject({ length: 20, upperCase: 1, digits: 0 })
  })

  it('keeps a secret that is not given', async () => {
    const base = await server.createRealm('salted')
    const salt = 'a salt that is long enough'
    await server.admin.send('PUT', `${base}/subject-claim`, { strategy: 'pairwise', salt })
    await server.admin.send('PUT', `${base}/subject-claim`, { attribute: 'x' })
    const { body } = await server.admin.send('GET', `${base}/subject-claim`)
    expect(body).toMatchObject({ strategy: 'pairwise', saltSet: true })
  })

  it('by a changeset stays the whole state', async () => {
    const base = await server.createRealm('declared')
    await server.admin.send('PUT', `${base}/settings`, { failureFactor: 3 })
    const operation = put('settings', 'settings', { displayName: 'Declared' })
    expect((await senderTo(server, 'declared').apply([operation])).status).toBe(200)
    const { body } = await server.admin.send('GET', `${base}/settings`)
    expect(body).toMatchObject({ displayName: 'Declared', failureFactor: 10 })
  })
})
