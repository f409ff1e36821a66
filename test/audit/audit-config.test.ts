/** Settings of audit emission: set over the API, effective on every node at once, and their secret stays hidden. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditRecord } from '#schemas/wire/events.ts'
import { createEmission, emitting } from '#server/audit/emission.ts'
import { keyringFrom } from '#server/platform/sealing.ts'
import { resealEverything } from '#server/realm/reseal.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const url = '/admin/audit/config'
const secret = 'Bearer not-to-be-told-1234'
const receiver = 'https://siem.example/events'

describe.each(backends)('the emission of audit events on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const put = (body: object) => server.admin.send('PUT', url, body)
  const read = async () => (await server.admin.send('GET', url)).body
  const defaults = {
    enabled: true,
    transports: ['stdout'],
    httpUrl: '',
    httpConfigured: false,
    authConfigured: false,
    categories: ['AUTHN', 'ADMIN'],
    timeoutMs: 2000,
  }

  it('is the default until it is set, and again when nothing is given', async () => {
    expect(await read()).toEqual(defaults)
    await put({ httpUrl: receiver, categories: ['SECURITY'], timeoutMs: 500 })
    expect(await put({})).toMatchObject({ status: 200, body: defaults })
    expect(await read()).toEqual(defaults)
  })

  it('takes back what it has answered', async () => {
    const set = { enabled: true, httpUrl: receiver, categories: ['ADMIN'], timeoutMs: 750 }
    await put({ ...set, authorization: secret })
    const shown = await read()
    expect(shown).toEqual({
      ...set,
      transports: ['stdout', 'http'],
      httpConfigured: true,
      authConfigured: true,
    })
    expect(await put(shown)).toMatchObject({ status: 200, body: shown })
    expect(await put({ ...shown, enabled: false })).toMatchObject({
      body: { transports: ['stdout'], httpConfigured: true },
    })
  })

  it('keeps the authorization sealed, shows it to nobody, and rotation of the master key seals it anew', async () => {
    await put({ httpUrl: receiver, authorization: secret })
    const {
      storage,
      secrets: { keyring },
      audit: { emission },
    } = server.areas
    const row = await storage.db.selectFrom('audit_emission').selectAll().executeTakeFirstOrThrow()
    const events = await storage.db.selectFrom('audit_events').selectAll().execute()
    const answer = await read()
    for (const text of [row, events, answer].map((one) => JSON.stringify(one)))
      expect(text).not.toContain('not-to-be-told')
    expect((await emission.read()).authorization).toBe(secret)

    const old = Uint8Array.from({ length: 32 }, (_, i) => i)
    const fresh = Uint8Array.from({ length: 32 }, (_, i) => 255 - i)
    expect(await resealEverything(storage, keyringFrom([fresh, old]))).toBeGreaterThan(0)
    const only = await createEmission({ storage, keyring: keyringFrom([fresh]) })
    expect(only.current().authorization).toBe(secret)
    only.close()
    await resealEverything(storage, keyringFrom([old, fresh]))
    expect(keyring.activeKid).toBe(keyringFrom([old]).activeKid)
  })

  it('keeps the authorization until it is given anew or removed, and sends it to no other host', async () => {
    await put({ httpUrl: receiver, authorization: secret })
    expect((await put({ httpUrl: `${receiver}/v2` })).body).toMatchObject({ authConfigured: true })
    const moved = await put({ httpUrl: 'https://elsewhere.example/' })
    expect(moved).toMatchObject({ status: 400, body: { errors: [{ field: '/authorization' }] } })
    expect(await read()).toMatchObject({ httpUrl: `${receiver}/v2`, authConfigured: true })
    const removed = await put({ httpUrl: 'https://elsewhere.example/', authorization: null })
    expect(removed).toMatchObject({ status: 200, body: { authConfigured: false } })
  })

  it.each([
    ['httpUrl', { httpUrl: 'ftp://siem.example/' }],
    ['httpUrl', { httpUrl: 'http://siem.example/' }],
    ['httpUrl', { httpUrl: 'https://user:password@siem.example/' }],
    ['httpUrl', { httpUrl: 'https://127.0.0.1/' }],
    ['httpUrl', { httpUrl: 'https://169.254.169.254/latest' }],
    ['httpUrl', { httpUrl: 'https://[::]/' }],
    ['httpUrl', { httpUrl: 'https://2130706433/' }],
    ['authorization', { authorization: 'Bearer a\r\nX-Other: b' }],
    ['authorization', { authorization: 'hmac:short' }],
    ['categories/0', { categories: ['EVERYTHING'] }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: 3_600_000 }],
    ['transports2', { transports2: [] }],
  ])('is refused for a wrong %s: %j', async (field, body) => {
    const before = await read()
    const answer = await put(body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(400)
    expect(answer.body.errors[0].field).toBe(`/${field}`)
    expect(await read()).toEqual(before)
  })

  it('is for realm-admins of master alone, and reading for who may view events there', async () => {
    const viewer = await server.userWith('master', ['view-events', 'manage-events'])
    expect((await viewer.send('GET', url)).status).toBe(200)
    expect((await viewer.send('PUT', url, {})).status).toBe(403)
    const outsider = await server.userWith('acme', ['realm-admin'])
    expect((await outsider.send('PUT', url, {})).status).toBe(401)
    expect((await outsider.send('GET', url)).status).toBe(401)
    expect((await server.anonymous.send('PUT', url, {})).status).toBe(401)
  })

  it('leaves an event in master that names the fields, and none where nothing changes', async () => {
    await put({ httpUrl: receiver, authorization: secret })
    await put({ httpUrl: receiver, timeoutMs: 1234, authorization: `${secret}5` })
    await put({ httpUrl: receiver, timeoutMs: 1234 })
    const { body } = await server.admin.send('GET', '/admin/realms/master/events?size=1')
    expect(body.items).toMatchObject([
      {
        type: 'ADMIN_UPDATE',
        actor: server.admin.userId,
        resourceType: 'audit-config',
        resourceId: 'server',
        detail: '/authorization, /timeoutMs',
      },
    ])
  })

  it('decides by category what is printed, whether or not events are forwarded', async () => {
    const printed: string[] = []
    const sink = emitting(server.areas.audit.emission, ({ category }) => printed.push(category))
    const emit = () => {
      printed.length = 0
      for (const category of ['AUTHN', 'ADMIN', 'SECURITY'] as const)
        sink({ category } as AuditRecord)
      return printed
    }
    await put({ enabled: false })
    expect(emit()).toEqual(['AUTHN', 'ADMIN'])
    await put({ enabled: false, categories: ['SECURITY'] })
    expect(emit()).toEqual(['SECURITY'])
    await put({ categories: [] })
    expect(emit()).toEqual([])
    await put({})
  })

  it.runIf(backend.name === 'postgres')('counts on another node without a restart', async () => {
    const other = await startServer(backend, { url: server.url })
    try {
      await put({ categories: ['SECURITY'] })
      await expect
        .poll(() => other.areas.audit.emission.current().categories, { timeout: 10_000 })
        .toEqual(['SECURITY'])
      expect((await other.admin.send('GET', url)).body.categories).toEqual(['SECURITY'])
    } finally {
      await other.close()
    }
  })
})
