/** Service providers from their metadata, over the admin API (SAML Metadata §2). */

import { X509Certificate } from 'node:crypto'
import { SAML } from '@node-saml/node-saml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { METADATA_LIMIT } from '#server/xml/index.ts'
import { makeCertificate } from '../../platform/outgoing/certificates.ts'
import { anyBackend } from '../../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../../support/server.ts'
import { curved, sender, stranger } from '../../xml/keys.ts'
import { acs, aggregate, bindings, entity, keyDescriptor } from './sp-metadata.ts'

const weak = makeCertificate(['sp.example'], 1024).certificate
const post = acs('https://sp.example/acs', 0)
const sp = (entityId: string, inside = post): string => entity({ entityId, inside })

const full = entity({
  entityId: 'https://full.example/metadata',
  more: ' validUntil="2999-01-01T00:00:00.1234567Z"',
  role: ' AuthnRequestsSigned="true" WantAssertionsSigned="1"',
  inside: `
    <md:Extensions><mdui:UIInfo>
      <mdui:DisplayName xml:lang="de">Laden</mdui:DisplayName>
      <mdui:DisplayName xml:lang="en">The&#x85;
        Shop</mdui:DisplayName></mdui:UIInfo></md:Extensions>
    ${keyDescriptor(curved.certificate, 'signing')}${keyDescriptor(sender.certificate)}${keyDescriptor(stranger.certificate, 'encryption')}
    <md:SingleLogoutService Binding="${bindings}:SOAP" Location="https://full.example/slo/soap"/>
    <md:SingleLogoutService Binding="${bindings}:HTTP-POST" Location="https://full.example/slo/post"/>
    <md:SingleLogoutService Binding="${bindings}:HTTP-Redirect" Location="https://full.example/slo"/>
    <md:NameIDFormat>urn:oasis:names:tc:SAML:1.1:nameid-format:X509SubjectName</md:NameIDFormat>
    <md:NameIDFormat> urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress </md:NameIDFormat>
    ${acs('https://full.example/paos', 1, { binding: 'PAOS' })}
    ${acs('https://full.example/a', 2, { more: ' isDefault="false"' })}
    ${acs('https://full.example/b', 3)}
    ${acs('https://full.example/c', 4, { binding: 'HTTP-Artifact' })}
    ${acs('https://full.example/d', 5, { more: ' isDefault="true"' })}`,
})

const fingerprint = (text: string): string => new X509Certificate(text).fingerprint256

describe.each(anyBackend)('metadata of service providers on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const send = (
    xml: string | Buffer,
    { query = '', type = 'application/samlmetadata+xml' } = {},
  ): Promise<Answer> =>
    server.admin.send('POST', `${base}/saml-clients/import${query}`, xml, { 'content-type': type })
  const read = (entityId: string): Promise<Answer> =>
    server.admin.send('GET', `${base}/saml-clients/${encodeURIComponent(entityId)}`)
  const fieldsOf = ({ status, body }: Answer): unknown[] => [
    status,
    ...(body.errors ?? []).map((one: { field: string; code: string }) => [one.field, one.code]),
  ]

  it('makes a service provider with everything that its metadata says', async () => {
    const { status, body, headers } = await send(full)
    expect([status, headers['location']]).toEqual([
      201,
      `${base}/saml-clients/${encodeURIComponent('https://full.example/metadata')}`,
    ])
    expect(body).toMatchObject({
      entityId: 'https://full.example/metadata',
      name: 'The Shop',
      enabled: true,
      applicationId: null,
      assertionConsumerServiceUrl: 'https://full.example/d',
      singleLogoutServiceUrl: 'https://full.example/slo',
      metadataUrl: null,
      acs: [
        { index: 2, url: 'https://full.example/a', binding: 'HTTP-POST' },
        { index: 3, url: 'https://full.example/b', binding: 'HTTP-POST' },
        { index: 4, url: 'https://full.example/c', binding: 'HTTP-Artifact' },
        { index: 5, url: 'https://full.example/d', binding: 'HTTP-POST' },
      ],
      options: {
        nameIdFormat: 'email',
        signAssertion: true,
        wantAuthnRequestsSigned: true,
        encryptAssertion: null,
      },
    })
    expect(fingerprint(body.signingCertificate)).toBe(curved.x509.fingerprint256)
    expect(body.certificates.map(fingerprint)).toEqual([sender.x509.fingerprint256])
    // The first RSA key that may be encrypted to: that of the KeyDescriptor without `use`.
    expect(fingerprint(body.encryptionCertificate)).toBe(sender.x509.fingerprint256)
    const { body: stored } = await read('https://full.example/metadata')
    expect(stored).toMatchObject({ name: 'The Shop', certificates: body.certificates })
  })

  it.each(['application/xml', 'text/xml; charset=utf-8'])('takes %s', async (type) => {
    const entityId = `https://sp.example/${type.length}`
    expect((await send(sp(entityId), { type })).status).toBe(201)
  })

  it('refuses other media types, also one that a form of another site can send', async () => {
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded'])
      expect((await send(sp('https://sp.example/x'), { type })).status).toBe(415)
  })

  it('takes a KeyDescriptor without use for signing and encryption (CVE-2026-16443)', async () => {
    const entityId = 'https://both.example'
    const { body } = await send(sp(entityId, keyDescriptor(sender.certificate) + post))
    expect(fingerprint(body.signingCertificate)).toBe(sender.x509.fingerprint256)
    expect(fingerprint(body.encryptionCertificate)).toBe(sender.x509.fingerprint256)
  })

  it('leaves out keys without a certificate beside signing keys that have one', async () => {
    const bare = (use: string) => keyDescriptor('', use).replace(/<ds:X509Data.*X509Data>/s, '')
    const keys = bare('signing') + keyDescriptor(sender.certificate, 'signing') + bare('encryption')
    const { status, body } = await send(sp('https://keys.example', keys + post))
    expect([status, body.certificates, body.encryptionCertificate]).toEqual([201, [], null])
  })

  it('takes a logout service over SOAP for what it is, and for all that there is where it is alone', async () => {
    const slo = (binding: string) =>
      `<md:SingleLogoutService Binding="${bindings}:${binding}" Location="https://slo.example" ResponseLocation="https://slo.example"/>`
    const alone = (await send(sp('https://soap.example', slo('SOAP') + post))).body
    expect(alone).toMatchObject({
      singleLogoutServiceUrl: null,
      singleLogoutServiceBinding: null,
      singleLogoutServiceSoapUrl: 'https://slo.example',
      options: { backChannelSloEnabled: true },
    })
    const both = slo('SOAP') + slo('HTTP-POST')
    expect((await send(sp('https://slos.example', both + post))).body).toMatchObject({
      singleLogoutServiceUrl: 'https://slo.example',
      singleLogoutServiceBinding: 'HTTP-POST',
      singleLogoutServiceSoapUrl: 'https://slo.example',
      options: { backChannelSloEnabled: null },
    })
  })

  it('takes the address of its own that a logout service has for responses (SAML Metadata §2.2.2)', async () => {
    const slo = (binding: string, done: string) =>
      `<md:SingleLogoutService Binding="${bindings}:${binding}" Location="https://slo.example" ResponseLocation="https://slo.example${done}"/>`
    const both = slo('SOAP', '/none') + slo('HTTP-Redirect', '/done')
    const { body } = await send(sp('https://two.example', both + post))
    expect(body).toMatchObject({
      singleLogoutServiceUrl: 'https://slo.example',
      singleLogoutServiceResponseUrl: 'https://slo.example/done',
      singleLogoutServiceSoapUrl: 'https://slo.example',
    })
  })

  it('counts assertion consumer services that have no index', async () => {
    const bare = (url: string) => acs(url, 'x').replace(' index="x"', '')
    const inside =
      bare('https://a.example') + acs('https://b.example', 0) + bare('https://c.example')
    const { status, body } = await send(sp('https://bare.example', inside))
    expect([status, body.assertionConsumerServiceUrl]).toEqual([201, 'https://a.example'])
    expect(body.acs).toMatchObject([
      { index: 0, url: 'https://b.example' },
      { index: 1, url: 'https://a.example' },
      { index: 2, url: 'https://c.example' },
    ])
  })

  it('takes the algorithms that the service provider decrypts, but for AES-CBC', async () => {
    const optionsWith = async (entityId: string, ...uris: string[]) => {
      const methods = uris.map((uri) => `<md:EncryptionMethod Algorithm="${uri}"/>`).join('')
      const key = keyDescriptor(sender.certificate, 'encryption')
      const inside = key.replace('</md:KeyDescriptor>', `${methods}$&`) + post
      const { encryptionAlgorithm, keyTransportAlgorithm } = (await send(sp(entityId, inside))).body
        .options
      return [encryptionAlgorithm, keyTransportAlgorithm]
    }
    const [xenc, xenc11] = ['http://www.w3.org/2001/04/xmlenc#', 'http://www.w3.org/2009/xmlenc11#']
    const old = [`${xenc}rsa-oaep-mgf1p`, `${xenc}aes256-cbc`]
    expect(await optionsWith('https://none.example')).toEqual([null, null])
    expect(await optionsWith('https://old.example', ...old)).toEqual([null, 'rsa-oaep-mgf1p'])
    expect(
      await optionsWith(
        'https://small.example',
        ...old,
        `${xenc11}aes128-gcm`,
        `${xenc11}rsa-oaep`,
      ),
    ).toEqual(['aes128-gcm', null])
    expect(
      await optionsWith('https://all.example', `${xenc11}aes256-gcm`, `${xenc11}aes128-gcm`),
    ).toEqual([null, null])
  })

  it('takes what node-saml writes', async () => {
    const saml = new SAML({
      issuer: 'node-saml',
      callbackUrl: 'https://node.example/acs',
      logoutCallbackUrl: 'https://node.example/slo',
      idpCert: sender.certificate,
      privateKey: String(sender.privateKey.export({ type: 'pkcs8', format: 'pem' })),
      decryptionPvk: String(stranger.privateKey.export({ type: 'pkcs8', format: 'pem' })),
      wantAssertionsSigned: true,
    })
    const xml = saml.generateServiceProviderMetadata(
      stranger.x509.toString(),
      sender.x509.toString(),
    )
    const { status, body } = await send(xml)
    expect(status).toBe(201)
    expect(body).toMatchObject({
      entityId: 'node-saml',
      assertionConsumerServiceUrl: 'https://node.example/acs',
      singleLogoutServiceUrl: 'https://node.example/slo',
      options: { signAssertion: true, wantAuthnRequestsSigned: true, nameIdFormat: 'email' },
    })
    expect(fingerprint(body.signingCertificate)).toBe(sender.x509.fingerprint256)
    expect(fingerprint(body.encryptionCertificate)).toBe(stranger.x509.fingerprint256)
  })

  it('asks which one of an aggregate is meant, and names a bounded number of them', async () => {
    const many = Array.from({ length: 60 }, (_, i) => sp(`https://sp-${i}.example`))
    const idp = `<md:EntityDescriptor entityID="https://idp.example"><md:IDPSSODescriptor/></md:EntityDescriptor>`
    const nested = `<md:EntitiesDescriptor>${sp('https://nested.example')}</md:EntitiesDescriptor>`
    const xml = aggregate([idp, ...many, nested])
    const refused = await send(xml)
    expect(fieldsOf(refused)).toEqual([400, ['entityId', 'required']])
    const { message } = refused.body.errors[0]
    expect(message).toContain('https://sp-19.example and 41 more')
    expect(message).not.toContain('https://idp.example')
    const at = (entityId: string) => ({ query: `?entityId=${encodeURIComponent(entityId)}` })
    expect(fieldsOf(await send(xml, at('https://idp.example')))).toEqual([
      400,
      ['entityId', 'not-found'],
    ])
    const { status, body } = await send(xml, at('https://nested.example'))
    expect([status, body.entityId]).toEqual([201, 'https://nested.example'])
    // Of several entities with one service provider there is no question.
    expect((await send(aggregate([idp, sp('https://one.example')]))).status).toBe(201)
    const twice = aggregate([sp('https://twice.example'), sp('https://twice.example')])
    expect(fieldsOf(await send(twice, at('https://twice.example')))).toEqual([
      400,
      ['/EntitiesDescriptor', 'duplicate'],
    ])
  })

  it('changes one that exists only on request, and keeps what the metadata does not speak of', async () => {
    const entityId = 'https://changed.example'
    const signed = `${keyDescriptor(sender.certificate, 'signing')}${post}`
    await send(sp(entityId, signed))
    expect((await send(sp(entityId))).status).toBe(409)
    const path = `${base}/saml-clients/${encodeURIComponent(entityId)}`
    const { applicationId: _, realmId: __, ...before } = (await read(entityId)).body
    const options = { idpInitiatedSsoEnabled: true }
    await server.admin.send('PUT', path, { ...before, name: 'Mine', options })
    const xml = sp(entityId, acs('https://sp.example/new', 7))
    const { status, body } = await send(xml, { query: '?update=true' })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      name: 'Mine',
      assertionConsumerServiceUrl: 'https://sp.example/new',
      acs: [{ index: 7 }],
      // A key that left the metadata is trusted no longer.
      signingCertificate: null,
      options: { idpInitiatedSsoEnabled: true },
    })
  })

  const role = '/EntityDescriptor/SPSSODescriptor'
  it.each<[string, string, string, string]>([
    ['no entityID', sp(''), '/EntityDescriptor/@entityID', 'required'],
    ['an entityID with a line break', sp('a&#10;b'), '/EntityDescriptor/@entityID', 'name'],
    [
      'an entityID that is too long',
      sp(`https://${'x'.repeat(250)}`),
      '/EntityDescriptor/@entityID',
      'maxLength',
    ],
    [
      'SAML 1.1 alone',
      entity({ entityId: 'a', protocol: 'urn:oasis:names:tc:SAML:1.1:protocol', inside: post }),
      `${role}/@protocolSupportEnumeration`,
      'protocol',
    ],
    ['no assertion consumer service', sp('a', ''), `${role}/AssertionConsumerService`, 'required'],
    [
      'none that is served',
      sp('a', acs('https://a.example', 0, { binding: 'PAOS' })),
      `${role}/AssertionConsumerService`,
      'required',
    ],
    [
      'a script as location',
      sp('a', post + acs('javascript:alert(1)', 1)),
      `${role}/AssertionConsumerService[2]/@Location`,
      'saml-endpoint',
    ],
    [
      'no location',
      sp('a', post.replace(/ Location="[^"]*"/, '')),
      `${role}/AssertionConsumerService/@Location`,
      'required',
    ],
    [
      'an index without a value',
      sp('a', acs('https://a.example', '')),
      `${role}/AssertionConsumerService/@index`,
      'required',
    ],
    [
      'a negative index',
      sp('a', acs('https://a.example', -1)),
      `${role}/AssertionConsumerService/@index`,
      'index',
    ],
    [
      'an index that no xs:unsignedShort has',
      sp('a', acs('https://a.example', 65_536)),
      `${role}/AssertionConsumerService/@index`,
      'index',
    ],
    [
      'two roles, of which readers may take either',
      sp('a', post).replace(/<md:SPSSODescriptor.*<\/md:SPSSODescriptor>/s, '$&$&'),
      role,
      'duplicate',
    ],
    [
      'an index twice',
      sp('a', post + post),
      `${role}/AssertionConsumerService[2]/@index`,
      'duplicate',
    ],
    [
      'a default that is no boolean',
      sp('a', acs('https://a.example', 0, { more: ' isDefault="yes"' })),
      `${role}/AssertionConsumerService/@isDefault`,
      'boolean',
    ],
    [
      'a logout address with credentials',
      sp(
        'a',
        `<md:SingleLogoutService Binding="${bindings}:SOAP" Location="https://a:b@a.example"/>${post}`,
      ),
      `${role}/SingleLogoutService/@Location`,
      'saml-endpoint',
    ],
    [
      'a script as address for responses of logout',
      sp(
        'a',
        `<md:SingleLogoutService Binding="${bindings}:HTTP-POST" Location="https://a.example/slo" ResponseLocation="javascript:alert(1)"/>${post}`,
      ),
      `${role}/SingleLogoutService/@ResponseLocation`,
      'saml-endpoint',
    ],
    [
      'a use that does not exist',
      sp('a', keyDescriptor(sender.certificate, 'sign') + post),
      `${role}/KeyDescriptor/@use`,
      'use',
    ],
    [
      'a key without certificate',
      sp(
        'a',
        `<md:KeyDescriptor use="signing"><ds:KeyInfo><ds:KeyName>x</ds:KeyName></ds:KeyInfo></md:KeyDescriptor>${post}`,
      ),
      `${role}/KeyDescriptor`,
      'certificate',
    ],
    [
      'a certificate that is none',
      sp('a', keyDescriptor('AAAA') + post),
      `${role}/KeyDescriptor/KeyInfo/X509Data/X509Certificate`,
      'certificate',
    ],
    [
      'a weak key',
      sp('a', keyDescriptor(sender.certificate) + keyDescriptor(weak) + post),
      `${role}/KeyDescriptor[2]/KeyInfo/X509Data/X509Certificate`,
      'unusable-key',
    ],
    [
      'signed requests without a key',
      entity({ entityId: 'a', role: ' AuthnRequestsSigned="true"', inside: post }),
      `${role}/KeyDescriptor`,
      'required',
    ],
    [
      'an identity provider',
      '<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="a"><md:IDPSSODescriptor/></md:EntityDescriptor>',
      '/EntityDescriptor',
      'no-service-provider',
    ],
    [
      'metadata that has expired',
      entity({ entityId: 'a', more: ' validUntil="2020-01-01T00:00:00Z"', inside: post }),
      '/EntityDescriptor/@validUntil',
      'expired',
    ],
    [
      'a role that has expired',
      entity({ entityId: 'a', role: ' validUntil="2020-01-01T00:00:00Z"', inside: post }),
      `${role}/@validUntil`,
      'expired',
    ],
    [
      'an aggregate that has expired',
      aggregate([sp('a')], ' validUntil="2020-01-01T00:00:00Z"'),
      '/EntitiesDescriptor/@validUntil',
      'expired',
    ],
    [
      'a time without a zone',
      entity({ entityId: 'a', more: ' validUntil="2999-01-01"', inside: post }),
      '/EntityDescriptor/@validUntil',
      'date-time',
    ],
    ['a DOCTYPE', `<!DOCTYPE a [<!ENTITY x "y">]>${sp('a')}`, '/', 'doctype'],
    ['another root', '<a xmlns="urn:x"/>', '/', 'unexpected-root'],
    ['another encoding', `<?xml version="1.0" encoding="UTF-16"?>${sp('a')}`, '/', 'encoding'],
    ['nothing', ' ', '/', 'malformed'],
    ['20,000 nested elements', '<a>'.repeat(20_000), '/', 'too-deep'],
    [
      '20,000 attributes',
      `<a ${Array.from({ length: 20_000 }, (_, i) => `a${i}="x"`).join(' ')}/>`,
      '/',
      'too-many-attributes',
    ],
    [
      'a comment in a value',
      sp('a', `<md:NameIDFormat>urn:x<!-- -->y</md:NameIDFormat>${post}`),
      '/',
      'mixed-value',
    ],
  ])('refuses %s and names the element', async (_what, xml, field, code) => {
    expect(fieldsOf(await send(xml))).toEqual([400, [field, code]])
  })

  it('trusts the key of a certificate, not those of its issuers', async () => {
    const chain = keyDescriptor(sender.certificate, 'signing').replace(
      '</ds:X509Data>',
      `<ds:X509Certificate>${stranger.certificate}</ds:X509Certificate></ds:X509Data>`,
    )
    const { body } = await send(sp('https://chain.example', chain + post))
    expect([fingerprint(body.signingCertificate), body.certificates]).toEqual([
      sender.x509.fingerprint256,
      [],
    ])
  })

  it('refuses more than 1 MiB, bytes that are not UTF-8, and packed bodies', async () => {
    const large = `${sp('https://large.example')}${' '.repeat(METADATA_LIMIT)}`
    expect((await send(large)).status).toBe(413)
    const bytes = Buffer.concat([Buffer.from(sp('a')), Buffer.from([0xff, 0xfe])])
    expect(fieldsOf(await send(bytes))).toEqual([400, ['/', 'encoding']])
    const packed = await server.admin.send('POST', `${base}/saml-clients/import`, sp('a'), {
      'content-type': 'application/xml',
      'content-encoding': 'gzip',
    })
    expect(packed.status).toBe(415)
  })

  it('answers documents with parts removed, doubled or swapped with 2xx or 400, never otherwise', async () => {
    // Deterministic: the same mutations at every run.
    let seed = 7
    const random = (most: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % most
    }
    const pieces = full.split(/(?=[<>"= ])/)
    for (let round = 0; round < 300; round += 1) {
      const mutated = [...pieces]
      for (let edits = 1 + random(3); edits > 0; edits -= 1) {
        const [at, from] = [random(mutated.length), random(mutated.length)]
        const kind = random(3)
        if (kind === 0) mutated.splice(at, 1)
        else if (kind === 1) mutated.splice(at, 0, mutated[from] ?? '')
        else mutated[at] = mutated[from] ?? ''
      }
      const { status, body } = await send(mutated.join(''), { query: '?update=true' })
      expect([200, 201, 400]).toContain(status)
      if (status === 400) expect(body.errors).toHaveLength(1)
    }
  })

  it('records the import as a change of the service provider', async () => {
    await send(sp('https://recorded.example'))
    const { body } = await server.admin.send('GET', `${base}/events?type=ADMIN_CREATE`)
    expect(body.items[0]).toMatchObject({ outcome: 'SUCCESS', resourceType: 'saml-clients' })
  })

  it('needs manage-clients', async () => {
    const reader = await server.userWith('acme', ['view-clients'])
    const { status } = await reader.send('POST', `${base}/saml-clients/import`, sp('x'), {
      'content-type': 'application/xml',
    })
    expect(status).toBe(403)
  })
})
