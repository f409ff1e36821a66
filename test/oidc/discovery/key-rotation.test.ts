/** Keys rotate under live traffic: what a verifier needs is published before it is needed. */

import { createRemoteJWKSet, customFetch, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { tidy } from '#server/run/housekeeping.ts'
import { backends } from '../../support/backends.ts'
import { startServer } from '../../support/server.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'

describe.each(backends)('rotation of keys on $name', (backend) => {
  let site: OidcSite
  let client: TestClient
  beforeAll(async () => {
    site = await openIssuer(backend)
    client = await site.client({ clientId: 'service', grantTypes: ['client_credentials'] })
  })
  afterAll(() => site.close())
  afterEach(() => {
    vi.useRealTimers()
  })

  const rotate = async (query = ''): Promise<string> =>
    (await site.admin('POST', `/keys/rotate${query}`)).body.keyId
  interface Listed {
    readonly keyId: string
    readonly status: string
    readonly createdAt: number
    readonly signsFrom: number | null
    readonly rotatedAt: number | null
  }
  const list = async (): Promise<Listed[]> => (await site.admin('GET', '/keys')).body
  /** Those that a rotation has chosen, or that were chosen before. */
  const listed = async (): Promise<string[]> =>
    (await list())
      .filter(({ status, signsFrom }) => status !== 'NEXT' || signsFrom !== null)
      .map(({ keyId }) => keyId)
  const published = async (): Promise<string[]> =>
    (await site.get('/.well-known/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid)
  /** Published, and chosen by no rotation yet. */
  const nextKey = async (): Promise<string | undefined> => {
    await site.server.areas.keys.signingKeys.idle()
    const known = await listed()
    const [next, ...more] = (await published()).filter((kid) => !known.includes(kid))
    expect(more).toEqual([])
    return next
  }

  it('makes the next key for the first who reads the keys, not when a realm is made', async () => {
    const rows = () =>
      site.server.areas.storage.db
        .selectFrom('signing_keys')
        .select('status')
        .where('realm', '=', 'acme')
        .execute()
    expect(await rows()).toHaveLength(1)
    const readings = await Promise.all(Array.from({ length: 5 }, published))
    expect(new Set(readings.map((kids) => kids.join())).size).toBe(1)
    expect(readings[0]).toHaveLength(2)
    expect(await rows()).toHaveLength(2)
  })

  it('makes the one after in the background of a rotation', async () => {
    const first = await rotate()
    const next = await nextKey()
    expect(next).toBeDefined()
    expect(await published()).toHaveLength(3)
    // A client that takes the first key takes the one that signs.
    expect((await published())[0]).toBe(first)
  })

  it('lets housekeeping make it where nobody has read or rotated yet', async () => {
    const { areas } = site.server
    await site.server.createRealm('young')
    for (let round = 0; round < 2; round += 1) {
      await tidy(areas)
      const rows = await areas.storage.db
        .selectFrom('signing_keys')
        .select('status')
        .where('realm', '=', 'young')
        .orderBy('status')
        .execute()
      expect(rows).toEqual([{ status: 'ACTIVE' }, { status: 'NEXT' }])
    }
  })

  it('rotates to the key that is published already, unless a fresh one is asked for', async () => {
    const next = await nextKey()
    expect(await rotate()).toBe(next)
    const distrusted = await nextKey()
    const made = await rotate('?fresh=true')
    expect(made).not.toBe(distrusted)
    expect(await published()).not.toContain(distrusted)
    expect((await listed())[0]).toBe(made)
    expect(await nextKey()).toBeDefined()
  })

  it('keeps the next key out of reach: it is not deleted', async () => {
    const next = await nextKey()
    await expect(site.admin('DELETE', `/keys/${next}?force=true`)).rejects.toThrow('key-active')
    expect(await nextKey()).toBe(next)
  })

  it('ends with one active and one next key when two nodes rotate at the same moment', async () => {
    // The embedded database has one node.
    const second =
      backend.name === 'postgres'
        ? await startServer(backend, { url: site.server.url })
        : site.server
    const before = (await listed()).length
    const { send: read } = second.anonymous
    const { body } = await read('GET', '/realms/acme/.well-known/jwks.json')
    expect(body.keys.map(({ kid }: { kid: string }) => kid)).toEqual(await published())
    const there = async () => {
      const { send } = await second.signedIn('master', 'admin')
      return (await send('POST', '/admin/realms/acme/keys/rotate')).status
    }
    const answers = await Promise.all([rotate(), there(), rotate(), there()])
    expect(answers.filter((one) => typeof one === 'number')).toEqual([200, 200])
    await second.areas.keys.signingKeys.idle()
    expect(await nextKey()).toBeDefined()
    expect(await listed()).toHaveLength(before + 4)
    const rows = await site.server.areas.storage.db
      .selectFrom('signing_keys')
      .select('status')
      .where('realm', '=', 'acme')
      .where('status', '<>', 'PASSIVE')
      .orderBy('status')
      .execute()
    expect(rows.map(({ status }) => status)).toEqual(['ACTIVE', 'NEXT'])
    if (second !== site.server) await second.close()
  })

  /** Moves the clock of the server and of the verifiers alike. */
  const later = (seconds: number): void => {
    vi.setSystemTime(Date.now() + seconds * 1000)
  }
  const signer = async (): Promise<string | undefined> =>
    decodeProtectedHeader(await site.token(client)).kid

  it('lets the key before sign until the new one has been published for two minutes', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    await nextKey()
    later(120)
    const first = await rotate()
    expect(await signer()).toBe(first)
    await site.server.areas.keys.signingKeys.idle()
    const published = Date.now()
    later(10)
    const { body: second } = await site.admin('POST', '/keys/rotate')
    const next = { status: 'NEXT', createdAt: published, signsFrom: published + 120_000 }
    expect(second).toMatchObject({ ...next, rotatedAt: null })
    expect((await list()).slice(0, 2)).toMatchObject([
      { keyId: first, status: 'ACTIVE', signsFrom: null, rotatedAt: null },
      { keyId: second.keyId, ...next },
    ])
    await expect(site.admin('DELETE', `/keys/${second.keyId}`)).rejects.toThrow('key-active')
    await expect(site.admin('DELETE', `/keys/${first}?force=true`)).rejects.toThrow('key-active')
    later(109)
    expect(await signer()).toBe(first)
    later(1)
    expect(await signer()).toBe(second.keyId)
    const states = new Map((await list()).map((key) => [key.keyId, key]))
    expect(states.get(second.keyId)).toMatchObject({ status: 'ACTIVE', createdAt: published })
    expect(states.get(first)).toMatchObject({ status: 'PASSIVE', rotatedAt: published + 120_000 })
    expect((await site.admin('DELETE', `/keys/${first}?force=true`)).status).toBe(204)
  })

  it('lists what is published, and tells of each key what it does at every moment', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    // The clock was ahead in the tests before.
    later(3600)
    // Also two rotations within the two minutes, and moments between them.
    for (const wait of [0, 10, 50, 0, 60, 30, 120]) {
      if (wait !== 60) await site.admin('POST', '/keys/rotate')
      await site.server.areas.keys.signingKeys.idle()
      later(wait)
      const keys = await list()
      expect(keys.map(({ keyId }) => keyId).sort()).toEqual((await published()).sort())
      const active = keys.filter(({ status }) => status === 'ACTIVE')
      expect(active.map(({ keyId }) => keyId)).toEqual([await signer()])
      for (const { status, createdAt, signsFrom, rotatedAt } of keys) {
        expect(createdAt).toBeLessThanOrEqual(Date.now())
        expect(rotatedAt ?? 0).toBeLessThanOrEqual(Date.now())
        expect(rotatedAt !== null).toBe(status === 'PASSIVE')
        if (signsFrom !== null) expect([status, signsFrom > Date.now()]).toEqual(['NEXT', true])
      }
    }
  })

  it('publishes no first key without the second, which may sign at once', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { areas, anonymous, signedIn, createRealm } = site.server
    const base = await createRealm('newborn')
    const read = () => anonymous.send('GET', '/realms/newborn/.well-known/jwks.json')
    const failing = vi
      .spyOn(areas.keys.signingKeys, 'prepare')
      .mockRejectedValue(new Error('disk full'))
    for (let asked = 0; asked < 2; asked += 1) {
      const { status, headers } = await read()
      expect([status, headers['retry-after'], headers['cache-control']]).toEqual([
        503,
        '10',
        'no-store',
      ])
    }
    expect(failing).toHaveBeenCalledTimes(1)
    failing.mockRestore()
    const { send } = await signedIn('master', 'admin')
    const { body: active } = await send('POST', `${base}/keys/rotate`)
    expect(active.createdAt).toBe(Date.now())
    await areas.keys.signingKeys.idle()
    expect((await read()).body.keys[0].kid).toBe(active.keyId)
  })

  it('takes no key for the first because those before it are deleted', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { areas, signedIn, createRealm } = site.server
    const base = await createRealm('pruned')
    const { send } = await signedIn('master', 'admin')
    const { body: keys } = await send('GET', `${base}/keys`)
    later(1)
    await send('POST', `${base}/keys/rotate`)
    expect((await send('DELETE', `${base}/keys/${keys[0].keyId}?force=true`)).status).toBe(204)
    await areas.keys.signingKeys.idle()
    const { body } = await send('POST', `${base}/keys/rotate`)
    expect(body.signsFrom).toBe(Date.now() + 120_000)
  })

  it('lets a fresh key sign at once, and none of those before it again', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    await rotate()
    await rotate()
    const fresh = await rotate('?fresh=true')
    for (const seconds of [0, 119, 1, 120]) {
      later(seconds)
      expect(await signer()).toBe(fresh)
    }
  })

  it('refuses no token of those that verifiers with a cool-down get, however quickly keys rotate', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const url = new URL(`${site.issuer}/.well-known/jwks.json`)
    /** For as long as the answer allows, as caches on the way do. */
    const cachedFetch = () => {
      let kept: { readonly until: number; readonly text: string } | undefined
      return async (...[input, init]: Parameters<typeof fetch>): Promise<Response> => {
        if (kept === undefined || kept.until <= Date.now()) {
          const answer = await fetch(input, init)
          const [, seconds] = /max-age=(\d+)/.exec(answer.headers.get('cache-control') ?? '') ?? []
          kept = { until: Date.now() + Number(seconds) * 1000, text: await answer.text() }
        }
        return new Response(kept.text)
      }
    }
    const verifiers: ReturnType<typeof createRemoteJWKSet>[] = []
    const failures: unknown[] = []
    const seen = new Set<string | undefined>()
    const verify = async (): Promise<void> => {
      const token = await site.token(client)
      seen.add(decodeProtectedHeader(token).kid)
      for (const keys of verifiers)
        await jwtVerify(token, keys, { issuer: site.issuer }).catch((error) => failures.push(error))
    }
    const made: string[] = []
    for (const seconds of [0, 0, 1, 9, 29, 31, 59, 61, 119, 121, 1]) {
      later(seconds)
      // These have just read the keys, and do not ask again for half a minute.
      verifiers.push(
        createRemoteJWKSet(url),
        createRemoteJWKSet(url, { [customFetch]: cachedFetch() }),
      )
      await verify()
      made.push(await rotate())
      await verify()
    }
    for (let minutes = 0; minutes < 3; minutes += 1) {
      later(60)
      await verify()
    }
    expect(failures).toEqual([])
    expect(await signer()).toBe(made.at(-1))
    expect(seen.size).toBeGreaterThan(3)
  })

  it('refuses none while tokens are fetched and verified all the time', async () => {
    const keys = createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`))
    let verified = 0
    let rotating = true
    const traffic = async (): Promise<void> => {
      while (rotating) {
        await jwtVerify(await site.token(client), keys, { issuer: site.issuer, typ: 'at+jwt' })
        verified += 1
      }
    }
    const both = Promise.all([traffic(), traffic()])
    for (let i = 0; i < 3; i += 1) {
      await rotate()
      const before = verified
      await vi.waitUntil(() => verified > before + 2, { timeout: 10_000 })
    }
    rotating = false
    await both
  })
})
