/** The server carries out the policy for signing keys, and keeps a key while its signatures may be valid. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionKeys } from '#schemas/access/permissions.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { KeyPolicy } from '#schemas/kinds/tokens/key-policy.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const caller = { actor: 'pipeline', sourceIp: '127.0.0.1', permissions: new Set(permissionKeys) }
const estate = { via: 'changeset', origin: 'declared', owner: 'estate' } as const
const hour = 3_600_000
const day = 24 * hour
/** So long a key is published before the policy lets it sign. */
const published = 120_000

describe.each(backends)('the key policy on $name', (backend) => {
  let server: TestServer
  let now = Date.parse('2026-01-01T00:00:00Z')
  const clock = { now: () => now }
  beforeAll(async () => {
    server = await startServer(backend, { clock })
  })
  afterAll(() => server.close())

  const realmWith = async (name: string, doc?: Doc): Promise<string> => {
    await (await server.signedIn('master', 'admin')).send('POST', '/admin/realms', { realm: name })
    if (doc) await declare(name, doc)
    return name
  }
  const declare = (realm: string, doc: Doc) =>
    server.areas.realm.writer.write({
      realm,
      caller,
      channel: estate,
      operations: [{ op: 'put', kind: KeyPolicy, key: KeyPolicy.kind, doc, secrets: {} }],
    })
  const keys = (realm: string) =>
    server.areas.storage.db
      .selectFrom('signing_keys')
      .selectAll()
      .where('realm', '=', realm)
      .where('status', '<>', 'NEXT')
      .orderBy('created_at', 'desc')
      .execute()
  const follow = async (realm: string, node = server): Promise<void> => {
    const view = await node.areas.copy.fresh(realm)
    if (view) await node.areas.keys.policies.follow(view)
  }
  /** One round publishes the next key, a later one lets it sign. */
  const followTwice = async (realm: string): Promise<void> => {
    await follow(realm)
    now += published
    await follow(realm)
  }
  const send = async (method: string, path: string, body?: unknown) =>
    (await server.signedIn('master', 'admin')).send(method, path, body)

  it('makes a new key when the active one is as old as the policy says, and tells it by the system', async () => {
    const realm = await realmWith('aging', { rotateEvery: '90d' })
    const [first] = await keys(realm)
    now += 90 * day - 1
    await follow(realm)
    expect(await keys(realm)).toHaveLength(1)
    now += 1
    await follow(realm)
    now += published - 1
    await follow(realm)
    expect(await keys(realm)).toHaveLength(1)
    now += 1
    await follow(realm)
    const [active, before] = await keys(realm)
    expect(active).toMatchObject({ status: 'ACTIVE', created_at: now })
    expect(before).toMatchObject({ id: first?.id, status: 'PASSIVE', rotated_at: now })
    await follow(realm)
    expect(await keys(realm)).toHaveLength(2)
    const events = await server.areas.storage.db
      .selectFrom('audit_events')
      .select(['type', 'actor', 'resource_type', 'resource_id'])
      .where('realm', '=', realm)
      .where('type', '=', 'KEY_ROTATED')
      .execute()
    expect(events).toEqual([
      { type: 'KEY_ROTATED', actor: 'system', resource_type: 'keys', resource_id: active?.id },
    ])
  })

  it('is followed once by several nodes that are due at the same moment', async () => {
    const realm = await realmWith('shared', { rotateEvery: '1h' })
    now += hour
    for (const length of [1, 2]) {
      await Promise.all(Array.from({ length: 8 }, () => follow(realm)))
      expect(await keys(realm)).toHaveLength(length)
      now += published
    }
  })

  it('removes old keys after keepFor, and never before the last token they signed is over', async () => {
    const realm = await realmWith('tidy', { rotateEvery: '60d', keepFor: '12h' })
    now += 60 * day
    await followTwice(realm)
    now += 12 * hour - 1
    await follow(realm)
    expect(await keys(realm)).toHaveLength(2)
    const client = { clientId: 'long', refreshTokenLifespan: (2 * day) / 1000 }
    expect((await send('POST', `/admin/realms/${realm}/clients`, client)).status).toBe(201)
    now += 1
    await follow(realm)
    expect(await keys(realm)).toHaveLength(2)
    now += 2 * day
    await follow(realm)
    expect((await keys(realm)).map(({ status }) => status)).toEqual(['ACTIVE'])
  })

  it('keeps old keys for 30 days and rotates none where there is no policy', async () => {
    const realm = await realmWith('plain')
    await send('POST', `/admin/realms/${realm}/keys/rotate`)
    now += 30 * day - 1
    await follow(realm)
    expect(await keys(realm)).toHaveLength(2)
    now += 1
    await follow(realm)
    expect(await keys(realm)).toHaveLength(1)
    now += 1000 * day
    await follow(realm)
    expect(await keys(realm)).toHaveLength(1)
  })

  it.each([
    ['rotateEvery', '59m'],
    ['rotateEvery', '0h'],
    ['rotateEvery', 'P90D'],
    ['keepFor', '1h'],
  ])('refuses %s: %s', async (field, value) => {
    const realm = await realmWith(`refusing-${field.toLowerCase()}-${value.toLowerCase()}`)
    await expect(declare(realm, { [field]: value })).rejects.toMatchObject({
      code: 'validation',
      errors: [expect.objectContaining({ field: expect.stringMatching(`/${field}$`) })],
    })
  })

  it('a key is deleted by hand once no token that it signed can be valid, or with force', async () => {
    const realm = await realmWith('by-hand')
    const url = `/admin/realms/${realm}/keys`
    const [first] = await keys(realm)
    await send('POST', `${url}/rotate`)
    const refused = await send('DELETE', `${url}/${first?.id}`)
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({ code: 'key-in-use', validUntil: now + 36_000_000 })
    now += 36_000_000 - 1
    expect((await send('DELETE', `${url}/${first?.id}`)).status).toBe(409)
    now += 1
    expect((await send('DELETE', `${url}/${first?.id}`)).status).toBe(204)
    const [second] = await keys(realm)
    await send('POST', `${url}/rotate`)
    expect((await send('DELETE', `${url}/${second?.id}?force=false`)).status).toBe(409)
    expect((await send('DELETE', `${url}/${second?.id}?force=true`)).status).toBe(204)
  })

  it('is part of the housekeeping that a server does by itself', async () => {
    const realm = await realmWith('kept-house', { rotateEvery: '1h' })
    now += hour
    await tidy(server.areas)
    now += published
    await tidy(server.areas)
    expect(await keys(realm)).toHaveLength(2)
  })
})
