/** The signing certificate changes without an outage at any service provider: published ahead, and pinned where one is late. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCertificate } from '#schemas/public-keys/certificates.ts'
import { readSigned, xmlName } from '#server/xml/index.ts'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { addPerson, newPerson } from '../../oidc/relying-party.ts'
import { backends } from '../../support/backends.ts'
import { addProvider, askUrl, certificatesOf, providerPath, sentOf } from '../fixture.ts'

const day = 86_400_000
const other = 'https://late.example/metadata'

describe.each(backends)('a new signing key on $name', (backend) => {
  let site: OidcSite
  let now = Date.parse('2026-03-01T00:00:00Z')
  beforeAll(async () => {
    site = await openIssuer(backend, { clock: { now: () => now } })
    await addProvider(site)
    await addProvider(site, { entityId: other })
    await addPerson(site, 'alice')
  }, 60_000)
  afterAll(() => site.close())

  interface Listed {
    readonly keyId: string
    readonly status: string
    readonly certificate: string
    readonly signsFrom: number | null
  }
  const keys = async (): Promise<Listed[]> => (await site.admin('GET', '/keys')).body
  const published = async (): Promise<string[]> =>
    certificatesOf((await site.get('/saml/idp/metadata')).body)
  /** The certificate of the key that signs a response for the service provider. */
  const signer = async (issuer?: string): Promise<string | undefined> => {
    const asked = { at: now, ...(issuer === undefined ? {} : { issuer }) }
    const { xml } = sentOf(await newPerson(site).signIn(askUrl(site, asked), 'alice'))
    return (await keys()).find(({ certificate }) => {
      const key = readCertificate(certificate)?.publicKey
      try {
        return key && readSigned(xml, { root: xmlName('samlp:Response'), keys: [key] })
      } catch {
        return false
      }
    })?.keyId
  }
  const send = async (method: string, path: string, body?: unknown) =>
    (await site.server.signedIn('master', 'admin')).send(method, `/admin/realms/acme${path}`, body)
  const status = async () => (await send('GET', '/saml/status')).body
  const usesOf = async (entityId: string): Promise<string[]> =>
    (await status()).serviceProviders
      .find((one: { entityId: string }) => one.entityId === entityId)
      .keysUsed.map(({ kid }: { kid: string }) => kid)
  const tidied = async (): Promise<void> => {
    const view = await site.server.areas.copy.fresh('acme')
    if (view) await site.server.areas.keys.policies.follow(view)
  }

  let old = ''
  let next = ''

  it('is in the metadata for the time that is asked for, while the key before it signs', async () => {
    const [active] = await keys()
    old = active?.keyId ?? ''
    const { body } = await send('POST', '/keys/rotate?publishAhead=7d')
    next = body.keyId
    expect(body).toMatchObject({ status: 'NEXT', signsFrom: now + 7 * day })
    const certificates = await published()
    expect(certificates[0]).toBe(active?.certificate)
    expect(certificates).toContain(body.certificate)
    expect(await signer()).toBe(old)
    now += 7 * day - 60_000
    expect(await signer()).toBe(old)
    expect(await published()).toContain(body.certificate)
    now += 60_000
    expect(await signer()).toBe(next)
    expect((await published())[0]).toBe(body.certificate)
  }, 60_000)

  it('refuses times without sense, and one beside fresh', async () => {
    for (const query of ['publishAhead=91d', 'publishAhead=soon', 'publishAhead=7d&fresh=true'])
      expect((await send('POST', `/keys/rotate?${query}`)).status, query).toBe(400)
  })

  it('does not sign for a service provider that pins the one before, until its own date', async () => {
    const until = new Date(now + 60 * day).toISOString()
    const { applicationId: _, realmId: __, ...doc } = (await send('GET', providerPath(other))).body
    const pinned = { ...doc, pinnedKey: { kid: old, until } }
    expect((await send('PUT', providerPath(other), pinned)).status).toBe(200)
    expect([await signer(other), await signer()]).toEqual([old, next])

    // The policy keeps a key for 30 days, and one that is pinned for longer.
    now += 45 * day
    await tidied()
    expect((await keys()).map(({ keyId }) => keyId)).toContain(old)
    for (const force of ['', '?force=true']) {
      const refused = await send('DELETE', `/keys/${old}${force}`)
      expect([refused.status, refused.body.code]).toEqual([409, 'key-in-use'])
      expect(refused.body.detail).toContain(other)
    }
    expect(await signer(other)).toBe(old)

    now += 15 * day
    expect(await signer(other)).toBe(next)
    await tidied()
    expect((await keys()).map(({ keyId }) => keyId)).not.toContain(old)
    expect(await signer(other)).toBe(next)
  }, 60_000)

  it('is told with the service providers that it signed for in the last 30 days', async () => {
    expect(await usesOf(other)).toEqual([next, old])
    now += 20 * day
    await signer()
    now += 15 * day
    expect([await usesOf(other), await usesOf('https://sp.example/metadata')]).toEqual([[], [next]])
    const { signingKeys } = await status()
    expect(signingKeys[0]).toMatchObject({ kid: next, status: 'ACTIVE', subject: 'CN=acme' })
  }, 60_000)

  it('does not keep a prepared key for a pin when a fresh one is asked for, and says so', async () => {
    await site.server.areas.keys.policies.prepare('acme', 1)
    const prepared = (await keys()).find((key) => key.status === 'NEXT' && key.signsFrom === null)
    const kid = prepared?.keyId
    const { applicationId: _, realmId: __, ...doc } = (await send('GET', providerPath(other))).body
    expect((await send('PUT', providerPath(other), { ...doc, pinnedKey: { kid } })).status).toBe(
      200,
    )
    expect((await send('POST', '/keys/rotate?fresh=true')).status).toBe(200)
    expect((await keys()).map(({ keyId }) => keyId)).not.toContain(kid)
    expect((await status()).serviceProviders).toContainEqual(
      expect.objectContaining({ pinned: { kid, until: null, isKnown: false } }),
    )
  })

  it('shows which service providers wait for a key that is gone', async () => {
    const { applicationId: _, realmId: __, ...doc } = (await send('GET', providerPath(other))).body
    await send('PUT', providerPath(other), { ...doc, pinnedKey: { kid: old } })
    const { serviceProviders } = await status()
    expect(serviceProviders).toContainEqual(
      expect.objectContaining({ pinned: { kid: old, until: null, isKnown: false } }),
    )
  })
})
