/** Service providers over the admin API: what is refused when it is written, and attribute mappers below them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeCertificate } from '../platform/outgoing/certificates.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const entityId = 'https://sp.example/metadata'
const rsa = makeCertificate(['sp.example'], 2048).certificate
const weak = makeCertificate(['sp.example'], 1024).certificate
const ec = makeCertificate(['sp.example']).certificate

describe.each(backends)('on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)

  const provider = (more: object) => ({
    entityId,
    assertionConsumerServiceUrl: 'https://sp.example/acs',
    ...more,
  })

  it.each([
    ['an RSA key of 1024 bits', { signingCertificate: weak }, '/signingCertificate'],
    ['a weak key in the list', { certificates: [weak] }, '/certificates/0'],
    ['encryption to an EC key', { encryptionCertificate: ec }, '/encryptionCertificate'],
    [
      'encryption without a certificate',
      { options: { encryptAssertion: true } },
      '/options/encryptAssertion',
    ],
    [
      'signed requests without a certificate',
      { options: { wantAuthnRequestsSigned: true } },
      '/options/wantAuthnRequestsSigned',
    ],
    [
      'assertions that nothing signs',
      { options: { signAssertion: false, signResponse: false } },
      '/options/signAssertion',
    ],
    [
      'an index that stands twice',
      {
        acs: [
          { index: 1, url: 'https://sp.example/a' },
          { index: 1, url: 'https://sp.example/b' },
        ],
      },
      '/acs/1/index',
    ],
    ['a refresh without an address', { metadataRefresh: '1d' }, '/metadataRefresh'],
    [
      'a signature algorithm with SHA-1',
      {
        options: {
          requestSignatureAlgorithms: ['http://www.w3.org/2000/09/xmldsig#rsa-sha1'],
        },
      },
      '/options/requestSignatureAlgorithms/0',
    ],
  ])('refuses %s and names the field', async (_what, more, field) => {
    const { status, body } = await send('POST', '/saml-clients', provider(more))
    expect([status, body.errors.map((one: { field: string }) => one.field)]).toEqual([400, [field]])
  })

  it.each([
    'javascript:alert(1)//https://sp.example',
    'ftp://sp.example/acs',
    'https:sp.example/acs',
    'https://user:secret@sp.example/acs',
    'https://sp.example/acs#part',
    'https://sp.example\\@evil.example/acs',
    'https://sp.example/a cs',
    '/acs',
  ])('refuses the address %s in every field that takes one', async (url) => {
    for (const more of [
      { assertionConsumerServiceUrl: url },
      { singleLogoutServiceUrl: url },
      { singleLogoutServiceResponseUrl: url },
      { singleLogoutServiceSoapUrl: url },
      { metadataUrl: url },
      { acs: [{ index: 0, url }] },
      { options: { additionalAcsUrls: [url] } },
    ]) {
      const { status, body } = await send('POST', '/saml-clients', provider(more))
      expect([status, body.errors?.length, Object.keys(more)]).toEqual([400, 1, Object.keys(more)])
    }
  })

  it('keeps every field, shows options that are not set as null, and has mappers below it', async () => {
    const full = provider({
      name: 'Shop',
      acs: [{ index: 3, url: 'https://sp.example/artifact', binding: 'HTTP-Artifact' }],
      signingCertificate: ec,
      certificates: [rsa],
      encryptionCertificate: rsa,
      metadataUrl: 'https://sp.example/metadata',
      metadataRefresh: '1d',
      pinnedKey: { kid: '00000000-0000-7000-8000-000000000000', until: '2027-01-01T00:00:00Z' },
      options: { encryptAssertion: true, wantAuthnRequestsSigned: true },
    })
    expect((await send('POST', '/saml-clients', full)).status).toBe(201)
    const path = `/saml-clients/${encodeURIComponent(entityId)}`
    const { body } = await send('GET', path)
    expect(body).toMatchObject(full)
    expect(body.options).toMatchObject({ signAssertion: null, nameIdFormat: null })

    const mapper = {
      name: 'department',
      protocolMapper: 'saml-user-attribute-mapper',
      config: {
        'attribute.name': 'urn:oid:2.16.840.1.113730.3.1.2',
        'user.attribute': 'department',
        'friendly.name': 'departmentNumber',
        'attribute.nameformat': 'URI Reference',
      },
    }
    expect((await send('POST', `${path}/mappers`, mapper)).status).toBe(201)
    expect((await send('GET', `${path}/mappers`)).body).toMatchObject([mapper])
    const { body: refused } = await send('POST', `${path}/mappers`, {
      ...mapper,
      name: 'other',
      config: { ...mapper.config, 'attribute.nameformat': 'uri', 'claim.name': 'x' },
    })
    expect(refused.errors).toMatchObject([
      { field: '/config/attribute.nameformat', code: 'enum' },
      { field: '/config/claim.name', code: 'unknown-field' },
    ])
  })
})
