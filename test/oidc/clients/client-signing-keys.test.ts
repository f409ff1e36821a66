/** Signing keys of a client: everything issued to it is signed by them, and verifiable with published keys. */

import { X509Certificate } from 'node:crypto'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import { keyringFrom } from '#server/platform/sealing.ts'
import { resealEverything } from '#server/realm/reseal.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { authorizeUrl, exchange, newPerson, redirectUri } from '../relying-party.ts'
import { addUser, openSession } from '../users.ts'

describe.each(backends)('signing keys of a client on $name', (backend) => {
  let site: OidcSite
  let bank: TestClient
  let other: TestClient
  let alice: UserRow
  let now = Date.now()
  beforeAll(async () => {
    site = await openIssuer(backend, { clock: { now: () => now } })
    const common: Pick<ClientDoc, 'grantTypes' | 'redirectUris'> = {
      grantTypes: ['client_credentials', 'authorization_code'],
      redirectUris: [redirectUri],
    }
    bank = await site.client({
      ...common,
      clientId: 'bank',
      idTokenSignedResponseAlg: 'PS256',
      userinfoSignedResponseAlg: 'RS256',
      authorizationSignedResponseAlg: 'PS256',
    })
    other = await site.client({ ...common, clientId: 'other' })
    alice = await addUser(site, { username: 'alice' })
  })
  afterAll(() => site.close())

  const keysPath = (client: TestClient) => `/clients/${client.id}/keys`
  /** When it is over the key has been published for long enough to sign. */
  const rotate = async (client = bank) => {
    const { body } = await site.admin('POST', `${keysPath(client)}/rotate`)
    now = Math.max(now, body.signsFrom ?? 0)
    return body
  }
  const all = async (client = bank): Promise<{ keyId: string; status: string }[]> =>
    (await site.admin('GET', keysPath(client))).body
  /** Without those that are only prepared. */
  const list = async (client = bank) => (await all(client)).filter((key) => key.status !== 'NEXT')
  const published = async (): Promise<string[]> =>
    (await site.get('/.well-known/jwks.json')).body.keys.map(({ kid }: { kid: string }) => kid)
  const kidOf = (token: string) => decodeProtectedHeader(token).kid
  const realmKey = async (): Promise<string> => (await site.admin('GET', '/keys')).body[0].keyId
  const status = async (method: string, path: string) => {
    const { send } = await site.server.signedIn('master', 'admin')
    const { status, body } = await send(method, `/admin/realms/acme${path}`)
    return [status, body.code]
  }

  it('begin with the first rotation; until then the key of the realm signs', async () => {
    expect(await list()).toEqual([])
    expect(kidOf(await site.token(bank))).toBe(await realmKey())
    const { body: key } = await site.admin('POST', `${keysPath(bank)}/rotate`)
    expect(key).toMatchObject({ algorithm: 'RSA', status: 'NEXT', createdAt: now, rotatedAt: null })
    expect(key.signsFrom).toBe(now + 120_000)
    now = key.signsFrom - 1
    expect(await all()).toContainEqual(key)
    expect(kidOf(await site.token(bank))).toBe(await realmKey())
    now += 1
    const certificate = new X509Certificate(Buffer.from(key.certificate, 'base64'))
    expect(certificate.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')).toBe(
      key.publicKey,
    )
    expect(await list()).toEqual([{ ...key, status: 'ACTIVE', signsFrom: null }])
    expect(kidOf(await site.token(bank))).toBe(key.keyId)
    expect(kidOf(await site.token(other))).toBe(await realmKey())
    expect(await site.events('KEY_ROTATED')).toMatchObject([{ outcome: 'SUCCESS' }])
  })

  it('sign access token, id token, answer of authorize and userinfo, with the algorithms of the client', async () => {
    const [key] = await list()
    const person = newPerson(site)
    const [name = '', value = ''] = (await openSession(site, alice)).cookie.split('=')
    person.jar.set(name, value)
    const { away = '' } = await person.open(
      authorizeUrl(site, bank, { response_mode: 'query.jwt' }),
    )
    const jarm = new URL(away).searchParams.get('response') ?? ''
    const keys = createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`))
    const { payload } = await jwtVerify(jarm, keys, { algorithms: ['PS256'] })
    const { body } = await exchange(site, bank, String(payload['code']))
    const info = await site.get('/userinfo', { authorization: `Bearer ${body.access_token}` })
    for (const [token, alg] of [
      [jarm, 'PS256'],
      [body.access_token, 'PS256'],
      [body.id_token, 'PS256'],
      [info.body, 'RS256'],
    ]) {
      const { protectedHeader } = await jwtVerify(token, keys, { issuer: site.issuer })
      expect(protectedHeader).toMatchObject({ kid: key?.keyId, alg })
    }
  })

  it('stay published after a rotation, and what they signed stays good', async () => {
    const [first] = await list()
    const before = await site.token(bank)
    const second = await rotate()
    expect(await list()).toMatchObject([
      { keyId: second.keyId, status: 'ACTIVE' },
      { keyId: first?.keyId, status: 'PASSIVE', rotatedAt: expect.any(Number) },
    ])
    expect(kidOf(await site.token(bank))).toBe(second.keyId)
    expect(await published()).toEqual(expect.arrayContaining([first?.keyId, second.keyId]))
    const keys = createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`))
    await jwtVerify(before, keys)
    const as = { client_id: bank.clientId, client_secret: bank.secret }
    expect((await site.post('/introspect', { token: before, ...as })).body.active).toBe(true)
  })

  it('are deleted as those of the realm are: not while they sign or what they signed may be valid', async () => {
    const [active, retained] = await list()
    const at = (id?: string) => `${keysPath(bank)}/${id}`
    expect(await status('DELETE', at(active?.keyId))).toEqual([409, 'key-active'])
    expect(await status('DELETE', at(retained?.keyId))).toEqual([409, 'key-in-use'])
    expect((await site.admin('DELETE', `${at(retained?.keyId)}?force=true`)).status).toBe(204)
    expect(await published()).not.toContain(retained?.keyId)
    expect(await list()).toHaveLength(1)
  })

  it('are not reached as keys of the realm or of another client', async () => {
    const [active] = await list()
    const own = await realmKey()
    const ofRealm: { keyId: string }[] = (await site.admin('GET', '/keys')).body
    expect(ofRealm.map(({ keyId }) => keyId)).not.toContain(active?.keyId)
    expect(await status('DELETE', `/keys/${active?.keyId}`)).toEqual([404, 'not-found'])
    expect(await status('DELETE', `${keysPath(other)}/${active?.keyId}`)).toEqual([
      404,
      'not-found',
    ])
    expect(await status('DELETE', `${keysPath(bank)}/${own}`)).toEqual([404, 'not-found'])
    expect(await status('POST', `${keysPath(other)}/retire`)).toEqual([404, 'not-found'])
  })

  it('are managed with manage-clients, and not with manage-realm', async () => {
    const url = `/admin/realms/acme${keysPath(bank)}`
    const wrong = await site.server.userWith('acme', ['manage-realm', 'view-clients'])
    for (const [method, path] of [
      ['GET', url],
      ['POST', `${url}/rotate`],
      ['POST', `${url}/retire`],
      ['DELETE', `${url}/${(await list())[0]?.keyId}`],
    ] as const)
      expect((await wrong.send(method, path)).status).toBe(403)
    const right = await site.server.userWith('acme', ['manage-clients'])
    expect((await right.send('GET', url)).status).toBe(200)
    expect((await right.send('POST', '/admin/realms/acme/keys/rotate')).status).toBe(403)
  })

  it('may be given up: the key of the realm signs again, and what they signed stays good', async () => {
    const before = await site.token(bank)
    const [active] = await list()
    await site.admin('POST', `${keysPath(bank)}/retire`)
    expect(kidOf(await site.token(bank))).toBe(await realmKey())
    expect(await list()).toMatchObject([{ keyId: active?.keyId, status: 'PASSIVE' }])
    const keys = createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`))
    await jwtVerify(before, keys)
  })

  it('are made once when several ask at the same moment, and go with the client', async () => {
    const brief = await site.client({ clientId: 'brief', grantTypes: ['client_credentials'] })
    await Promise.all([rotate(brief), rotate(brief), rotate(brief)])
    const made = await list(brief)
    expect(made.map((key) => key.status)).toEqual(['ACTIVE', 'PASSIVE', 'PASSIVE'])
    expect(kidOf(await site.token(brief))).toBe(made[0]?.keyId)
    await site.server.areas.keys.signingKeys.idle()
    const ids = made.map(({ keyId }) => keyId)
    expect(await published()).toEqual(expect.arrayContaining(ids))
    await site.admin('DELETE', `/clients/${brief.id}`)
    for (const kid of await published()) expect(ids).not.toContain(kid)
  })

  it('are sealed anew with the master key', async () => {
    await rotate()
    const {
      storage,
      keys: { signingKeys },
    } = site.server.areas
    await signingKeys.idle()
    const [fresh, old] = [64, 0].map((start) =>
      Uint8Array.from({ length: 32 }, (_, i) => start + i),
    )
    if (!fresh || !old) throw new Error('no keys')
    await resealEverything(storage, keyringFrom([fresh, old]))
    const rows = await storage.db.selectFrom('signing_keys').selectAll().execute()
    expect(rows.some(({ client_id, status }) => client_id === bank.id && status === 'NEXT')).toBe(
      true,
    )
    const ring = keyringFrom([fresh])
    for (const { realm, id, private_key } of rows)
      expect(ring.open(JSON.parse(private_key), `${realm}/signing-key/${id}`)).toMatch(/^MII/)
  })
})
