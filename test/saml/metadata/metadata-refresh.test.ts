/** Metadata at an address: imported from there, and read again (SAML Metadata §4; keycloak#52106). */

import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { refreshMetadata } from '#server/run/housekeeping.ts'
import { METADATA_LIMIT } from '#server/xml/index.ts'
import { openReceiver, type Receiver } from '../../audit/receiver.ts'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { backends } from '../../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../../support/server.ts'
import { sender, stranger } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { type Captured, capture, inSignature } from '../../xml/wraps.ts'
import { askUrl, entityId, providerPath } from '../fixture.ts'
import { acs, aggregate, bindings, entity, keyDescriptor } from './sp-metadata.ts'

const hour = 3_600_000
const env = { IAMCTL_OUTGOING_ALLOW: 'localhost' }
const acsUrl = 'https://sp.example/acs'

/** A signature of metadata stands first (SAML Metadata §2.3.2). */
const first = {
  location: { reference: "//*[local-name(.)='EntityDescriptor']", action: 'prepend' },
} as const

const metadata = (certificate: string, { more = '', inside = '' } = {}): string =>
  entity({
    entityId,
    more,
    role: ' AuthnRequestsSigned="true"',
    inside: keyDescriptor(certificate, 'signing') + inside + acs(acsUrl, 0),
  })

/** Signed metadata inside or beside a forgery with an address of an attacker (XSW). */
const wrapped = ({ original, signature, bare }: Captured): string[] =>
  ['_evil', '_md'].flatMap((id) => {
    const forged = metadata(stranger.certificate, { more: ` ID="${id}"` }).replace(
      acsUrl,
      'https://evil.example/acs',
    )
    const around = (text: string) => forged.replace(/(<md:EntityDescriptor [^>]*>)/, `$1${text}`)
    const extensions = (text: string) => `<md:Extensions>${text}</md:Extensions>`
    return [
      around(signature),
      around(extensions(original)),
      around(signature + extensions(bare)),
      around(inSignature(signature, 'Object', bare)),
      around(inSignature(signature, 'KeyInfo', bare)),
      aggregate([forged, original]),
      aggregate([original, forged], ` ID="${id}"`),
      aggregate([signature, bare, forged], ' ID="_md"'),
    ]
  })

describe.each(backends)('metadata at an address on $name', (backend) => {
  let site: OidcSite
  let second: TestServer
  let outside: Receiver
  let now = Date.parse('2026-03-01T00:00:00Z')
  let url: string
  const clock = { now: () => now }
  beforeAll(async () => {
    outside = await openReceiver()
    url = outside.url('/metadata')
    site = await openIssuer(backend, { clock, env })
    // A file of SQLite has one server.
    second =
      backend.name === 'sqlite'
        ? site.server
        : await startServer(backend, { url: site.server.url, clock, env, listen: true })
  }, 60_000)
  afterAll(async () => {
    if (second !== site.server) await second.close()
    await site.close()
    await outside.close()
  })

  const publish = (xml: string | Buffer, code = 200): void =>
    outside.answer((response) =>
      response.writeHead(code, { 'content-type': 'application/samlmetadata+xml' }).end(xml),
    )
  const send = async (method: string, path: string, body?: unknown): Promise<Answer> =>
    (await site.server.signedIn('master', 'admin')).send(method, `/admin/realms/acme${path}`, body)
  const doc = async () => (await send('GET', providerPath())).body
  const revision = async (): Promise<number> =>
    (await send('GET', '/revisions?max=1')).body[0].revision
  const round = (node = site.server): Promise<void> =>
    refreshMetadata(node.areas, new AbortController().signal)
  const state = async () => (await send('GET', '/saml/status')).body.serviceProviders[0].metadata
  const fingerprint = (text: string): string => new X509Certificate(text).fingerprint256
  const failures = async () =>
    (await site.events('SAML_METADATA_REFRESH')).filter(({ outcome }) => outcome === 'FAILURE')

  beforeEach(async () => {
    await send('DELETE', providerPath())
    publish(metadata(sender.certificate))
    expect((await send('POST', '/saml-clients/import-url', { url })).status).toBe(201)
    await round()
  })

  it('is imported with its address, to be read daily', async () => {
    expect(await doc()).toMatchObject({
      entityId,
      assertionConsumerServiceUrl: acsUrl,
      metadataUrl: url,
      metadataRefresh: '1d',
      options: { wantAuthnRequestsSigned: true },
    })
    expect((await send('POST', '/saml-clients/import-url', { url })).status).toBe(409)
    expect((await send('POST', '/saml-clients/import-url?update=true', { url })).status).toBe(200)
  })

  it.each<[string, () => void, string]>([
    ['a status other than 200', () => publish('', 404), 'fetch'],
    ['a redirect', () => publish('', 302), 'fetch'],
    ['more than 1 MiB', () => publish(' '.repeat(METADATA_LIMIT + 1)), 'outgoing.size'],
    ['bytes that are not UTF-8', () => publish(Buffer.of(0xff, 0xfe)), 'encoding'],
    ['a DOCTYPE', () => publish(`<!DOCTYPE x>${metadata(sender.certificate)}`), 'doctype'],
  ])('is refused with %s', async (_what, answer, code) => {
    answer()
    const { status, body } = await send('POST', '/saml-clients/import-url?update=true', { url })
    expect([status, body.errors[0].code]).toEqual([400, code])
  })

  it('refuses unknown fields and addresses that are none', async () => {
    for (const body of [{}, { url, other: 1 }, { url: 'file:///etc/passwd' }, { url: 'x' }])
      expect((await send('POST', '/saml-clients/import-url', body)).status).toBe(400)
  })

  it('is not read over http, imported or refreshed, unless the server allows it', async () => {
    const plain = url.replace('https:', 'http:')
    const { status, body } = await send('POST', '/saml-clients/import-url?update=true', {
      url: plain,
    })
    expect([status, body.errors[0].code]).toEqual([400, 'outgoing.scheme'])
    const { applicationId: _, realmId: __, ...own } = await doc()
    await send('PUT', providerPath(), { ...own, metadataUrl: plain })
    await round()
    expect((await state()).failure).toContain('the URL must begin with https')
  })

  it('is read when it is due, and not before', async () => {
    const reads = outside.at('/metadata').length
    await round()
    now += 24 * hour - 1
    await round()
    expect(outside.at('/metadata').length).toBe(reads)
    now += 1
    const before = await revision()
    await Promise.all([round(), round(second)])
    expect(outside.at('/metadata').length).toBeGreaterThan(reads)
    // The same metadata is no change.
    expect([await revision(), (await state()).readAt]).toEqual([before, now])
  })

  it('is no change where it has the same keys, however they are spelled and ordered', async () => {
    const { applicationId: _, realmId: __, ...own } = await doc()
    const spelled = {
      ...own,
      signingCertificate: stranger.certificate,
      certificates: [sender.certificate],
    }
    expect((await send('PUT', providerPath(), spelled)).status).toBe(200)
    const before = await revision()
    publish(
      metadata(sender.certificate, { inside: keyDescriptor(stranger.certificate, 'signing') }),
    )
    now += 24 * hour
    await round()
    expect([await revision(), (await state()).readAt]).toEqual([before, now])
  })

  it('changes keys, addresses and logout, as a revision by the system, and nothing else', async () => {
    const before = await revision()
    const logout = `<md:SingleLogoutService Binding="${bindings}:HTTP-POST" Location="https://sp.example/slo"/>`
    publish(
      entity({
        entityId,
        inside: `${keyDescriptor(stranger.certificate)}${logout}${acs('https://sp.example/other', 1)}`,
      }),
    )
    now += 24 * hour
    await round()
    const changed = await doc()
    expect(changed).toMatchObject({
      // The operator's choice, of which the metadata only gave the first value.
      assertionConsumerServiceUrl: acsUrl,
      options: { wantAuthnRequestsSigned: true },
      acs: [{ index: 1, url: 'https://sp.example/other' }],
      singleLogoutServiceUrl: 'https://sp.example/slo',
      metadataUrl: url,
    })
    expect(fingerprint(changed.signingCertificate)).toBe(stranger.x509.fingerprint256)
    expect(fingerprint(changed.encryptionCertificate)).toBe(stranger.x509.fingerprint256)
    const { body } = await send('GET', '/revisions?max=1')
    expect(body[0]).toMatchObject({
      revision: before + 1,
      source: 'metadata',
      message: `the metadata at ${url} has changed`,
    })
    const { body: exported } = await send('GET', '/export?history=true&sections=samlClients')
    expect(exported.meta.documents['saml-client'][entityId].lastChange).toMatchObject({
      actor: 'system',
      source: 'metadata',
    })
  })

  it('takes a key away on every node at once (keycloak#52106)', async () => {
    const ask = async (base: string, key: typeof sender.privateKey): Promise<number> => {
      const node = { ...site, issuer: `${base}/realms/acme` }
      return (await fetch(askUrl(node, { at: now }, { key }), { redirect: 'manual' })).status
    }
    // Both nodes know the old key, and have used it.
    for (const base of [site.server.baseUrl, second.baseUrl])
      expect([await ask(base, sender.privateKey), await ask(base, stranger.privateKey)]).toEqual([
        303, 400,
      ])
    publish(metadata(stranger.certificate))
    now += 24 * hour
    await round()
    for (const base of [second.baseUrl, site.server.baseUrl])
      expect([await ask(base, sender.privateKey), await ask(base, stranger.privateKey)]).toEqual([
        400, 303,
      ])
  })

  it('changes nothing when it cannot be read, says so, and is tried again within the hour', async () => {
    const [before, was] = [await revision(), await doc()]
    const told = (await failures()).length
    publish('gone', 500)
    now += 24 * hour
    await round()
    await round()
    expect([await revision(), await doc()]).toEqual([before, was])
    expect(await state()).toMatchObject({
      failedAt: now,
      failure: 'url: answered with status 500; 200 is needed',
    })
    expect(await failures()).toHaveLength(told + 1)
    expect((await failures())[0]?.detail).toContain(url)
    publish(metadata(stranger.certificate))
    now += hour
    await round()
    expect(await state()).toMatchObject({ failedAt: null, failure: null, readAt: now })
    expect(fingerprint((await doc()).signingCertificate)).toBe(stranger.x509.fingerprint256)
  })

  it.each<[string, () => string]>([
    [
      'has expired',
      () =>
        metadata(stranger.certificate, { more: ` validUntil="${new Date(now).toISOString()}"` }),
    ],
    [
      'is of another entity',
      () => metadata(stranger.certificate).replace(entityId, 'https://evil.example'),
    ],
    [
      'has no key although requests must be signed',
      () => entity({ entityId, inside: acs(acsUrl, 0) }),
    ],
    [
      'has a location that is no address',
      () => metadata(stranger.certificate).replace(acsUrl, 'javascript:alert(1)'),
    ],
  ])('changes nothing when it %s', async (_what, xml) => {
    const before = await revision()
    now += 24 * hour
    publish(xml())
    await round()
    expect([await revision(), (await state()).failedAt]).toEqual([before, now])
  })

  it('must be signed by the certificate that is configured', async () => {
    const { applicationId: _, realmId: __, ...own } = await doc()
    const certified = { ...own, metadataCertificate: sender.certificate }
    expect((await send('PUT', providerPath(), certified)).status).toBe(200)
    const withId = metadata(stranger.certificate, { more: ' ID="_md"' })
    const before = await revision()
    for (const xml of [
      withId,
      signed(withId, '_md', first).replace('https://sp.example/acs', 'https://evil.example/acs'),
      signed(withId, '_md', { ...first, key: stranger.privateKey }),
      ...wrapped(capture(signed(withId, '_md', first))),
    ]) {
      now += 24 * hour
      publish(xml)
      await round()
      expect([await revision(), (await state()).failedAt]).toEqual([before, now])
    }
    now += 24 * hour
    publish(signed(withId, '_md', first))
    await round()
    expect((await state()).failedAt).toBeNull()
    expect(fingerprint((await doc()).signingCertificate)).toBe(stranger.x509.fingerprint256)
  })

  it('is read before its time when a shorter one or another certificate is written', async () => {
    const { applicationId: _, realmId: __, ...own } = await doc()
    await send('PUT', providerPath(), { ...own, metadataRefresh: '4w' })
    now += 24 * hour
    await round()
    const { readAt } = await state()
    now += 2 * hour
    await round()
    expect((await state()).readAt).toBe(readAt)
    await send('PUT', providerPath(), { ...own, metadataRefresh: '1h' })
    await round()
    expect((await state()).readAt).toBe(now)
    now += 1
    await send('PUT', providerPath(), { ...own, metadataCertificate: stranger.certificate })
    await round()
    expect((await state()).failedAt).toBe(now)
  })

  it('is not read again because it has changed the service provider itself', async () => {
    publish(metadata(stranger.certificate))
    now += 24 * hour
    // A clock that goes on while the change is written.
    let ticks = 0
    clock.now = () => now + ticks++
    try {
      await round()
      const reads = outside.at('/metadata').length
      await round()
      expect(outside.at('/metadata').length).toBe(reads)
    } finally {
      now += ticks
      clock.now = () => now
    }
    expect(fingerprint((await doc()).signingCertificate)).toBe(stranger.x509.fingerprint256)
  })

  it('changes nothing where another certificate is asked for meanwhile', async () => {
    const { applicationId: _, realmId: __, ...own } = await doc()
    now += 24 * hour
    outside.answer(async (response) => {
      now += 1
      await send('PUT', providerPath(), { ...own, metadataCertificate: sender.certificate })
      response.end(metadata(stranger.certificate))
    })
    await round()
    expect(fingerprint((await doc()).signingCertificate)).toBe(sender.x509.fingerprint256)
    publish(metadata(stranger.certificate))
    now += 1
    await round()
    expect((await state()).failedAt).toBe(now)
  })

  it('is read again when what was read ends, if that is earlier', async () => {
    const until = (ms: number) => ` validUntil="${new Date(now + ms).toISOString()}"`
    now += 24 * hour
    publish(metadata(sender.certificate, { more: until(2 * hour) }))
    await round()
    now += 2 * hour - 1
    const reads = outside.at('/metadata').length
    await round()
    expect(outside.at('/metadata').length).toBe(reads)
    now += 1
    await round()
    expect(outside.at('/metadata').length).toBe(reads + 1)
  })

  it('ends no round where it cannot be read and the service provider is deleted meanwhile', async () => {
    now += 24 * hour
    const warned = vi.spyOn(site.server.areas.given.logger, 'warn')
    outside.answer(async (response) => {
      await send('DELETE', providerPath())
      response.writeHead(500).end()
    })
    await round()
    expect(warned).not.toHaveBeenCalled()
    warned.mockRestore()
  })

  it('is read in the other realms where one realm fails', async () => {
    const { areas } = site.server
    const seen: string[] = []
    const admin = await site.server.signedIn('master', 'admin')
    await admin.send('POST', '/admin/realms', { realm: 'zoo' })
    const zoo = { entityId, assertionConsumerServiceUrl: acsUrl }
    const { status } = await admin.send('POST', '/admin/realms/zoo/saml-clients', zoo)
    expect(status).toBe(201)
    const saml = {
      ...areas.saml,
      refreshMetadata: async ({ realm }: { realm: string }) => {
        seen.push(realm)
        throw new Error('no disk')
      },
    }
    await refreshMetadata({ ...areas, saml }, new AbortController().signal)
    expect(seen.toSorted()).toEqual(['acme', 'zoo'])
  })

  it('must be signed by it when it is imported again too, by body and by address', async () => {
    const { applicationId: _, realmId: __, ...own } = await doc()
    const asked = { metadataCertificate: sender.certificate, metadataRefresh: '1h' }
    expect((await send('PUT', providerPath(), { ...own, ...asked })).status).toBe(200)
    const admin = await site.server.signedIn('master', 'admin')
    const imports = (xml: string) => [
      () => {
        publish(xml)
        return send('POST', '/saml-clients/import-url?update=true', { url })
      },
      () =>
        admin.send('POST', '/admin/realms/acme/saml-clients/import?update=true', xml, {
          'content-type': 'application/samlmetadata+xml',
        }),
    ]
    const withId = metadata(stranger.certificate, { more: ' ID="_md"' })
    for (const xml of [withId, signed(withId, '_md', { ...first, key: stranger.privateKey })])
      for (const attempt of imports(xml)) expect((await attempt()).status).toBe(400)
    expect(fingerprint((await doc()).signingCertificate)).toBe(sender.x509.fingerprint256)
    for (const attempt of imports(signed(withId, '_md', first)))
      expect((await attempt()).status).toBe(200)
    // How often it is read stays the operator's choice.
    expect(await doc()).toMatchObject(asked)
    expect(fingerprint((await doc()).signingCertificate)).toBe(stranger.x509.fingerprint256)
  })

  it('is not read for a service provider that is disabled or does not follow it', async () => {
    const { applicationId: _, realmId: __, ...own } = await doc()
    for (const change of [{ enabled: false }, { metadataRefresh: null }]) {
      await send('PUT', providerPath(), { ...own, ...change })
      const reads = outside.at('/metadata').length
      now += 48 * hour
      await round()
      expect(outside.at('/metadata').length).toBe(reads)
    }
  })
})
