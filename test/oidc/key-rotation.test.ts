/** Keys rotate under live traffic: what a verifier needs is published before it is needed. */

import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { tidy } from '#server/housekeeping.ts'
import { backends } from '../support/backends.ts'
import { startServer } from '../support/server.ts'
import { type OidcSite, openIssuer, type TestClient } from './fixture.ts'

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
  const listed = async (): Promise<string[]> =>
    (await site.admin('GET', '/keys')).body.map(({ keyId }: { keyId: string }) => keyId)
  const published = async (): Promise<string[]> =>
    (await site.get('/.well-known/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid)
  /** Published, and in no list of keys yet. */
  const nextKey = async (): Promise<string | undefined> => {
    await site.server.parts.signingKeys.idle()
    const known = await listed()
    const [next, ...more] = (await published()).filter((kid) => !known.includes(kid))
    expect(more).toEqual([])
    return next
  }

  it('makes the next key for the first who reads the keys, not when a realm is made', async () => {
    const rows = () =>
      site.server.parts.storage.db
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
    // Who takes the first key takes the one that signs.
    expect((await published())[0]).toBe(first)
  })

  it('lets housekeeping make it where nobody has read or rotated yet', async () => {
    const { parts } = site.server
    await site.server.createRealm('young')
    for (let round = 0; round < 2; round += 1) {
      await tidy(parts)
      const rows = await parts.storage.db
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
    await expect(site.admin('DELETE', `/keys/${next}?force=true`)).rejects.toThrow('404')
    expect(await nextKey()).toBe(next)
  })

  it('ends with one active and one next key when two nodes rotate at the same moment', async () => {
    // The embedded database has one node.
    const second =
      backend.name === 'postgres'
        ? await startServer(backend, { url: site.server.url })
        : site.server
    const before = (await listed()).length
    const there = async () => {
      const { send } = await second.signedIn('master', 'admin')
      return (await send('POST', '/admin/realms/acme/keys/rotate')).status
    }
    const answers = await Promise.all([rotate(), there(), rotate(), there()])
    expect(answers.filter((one) => typeof one === 'number')).toEqual([200, 200])
    await second.parts.signingKeys.idle()
    expect(await nextKey()).toBeDefined()
    expect(await listed()).toHaveLength(before + 4)
    const rows = await site.server.parts.storage.db
      .selectFrom('signing_keys')
      .select('status')
      .where('realm', '=', 'acme')
      .where('status', '<>', 'PASSIVE')
      .orderBy('status')
      .execute()
    expect(rows.map(({ status }) => status)).toEqual(['ACTIVE', 'NEXT'])
    if (second !== site.server) await second.close()
  })

  it('refuses no token of those that verifiers with a cool-down get while keys rotate', async () => {
    // The verifier looks at the clock alone: the half minute for which it does not ask again need not be waited for.
    vi.useFakeTimers({ toFake: ['Date'] })
    const verifiers: ReturnType<typeof createRemoteJWKSet>[] = []
    const seen = new Set<string | undefined>()
    const failures: unknown[] = []
    let rotating = true
    const verify = async (token: string): Promise<void> => {
      const options = { issuer: site.issuer, typ: 'at+jwt' }
      for (const keys of verifiers)
        await jwtVerify(token, keys, options).catch((error) => failures.push(error))
      seen.add(decodeProtectedHeader(token).kid)
    }
    const fetchAndVerify = async (): Promise<void> => {
      while (rotating) await verify(await site.token(client))
    }
    const traffic = Promise.all([fetchAndVerify(), fetchAndVerify()])
    for (let i = 0; i < 4; i += 1) {
      await site.server.parts.signingKeys.idle()
      vi.setSystemTime(Date.now() + 31_000)
      // One that has just read the keys would refuse a key that is published only now.
      verifiers.push(createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`)))
      await verify(await site.token(client))
      const kid = await rotate()
      await vi.waitUntil(() => seen.has(kid), { timeout: 10_000 })
    }
    rotating = false
    await traffic
    expect(failures).toEqual([])
    expect(seen.size).toBe(5)
  })
})
