/** A value that no code reads is refused on writing, over REST and in files. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClaimMapperId, claimMapperIds, claimMappers } from '#schemas/drivers/claim-mappers.ts'
import { makeCertificate } from '../platform/outgoing/certificates.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
    await send('POST', '/clients', { clientId: 'web', scopes: ['email'] })
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)

  const choiceOf = (setting: string): string => {
    if (setting === 'user.attribute') return 'username'
    if (setting === 'jsonType.label') return 'String'
    return setting.endsWith('.claim') || /^(multivalued|full\.path)$/.test(setting) ? 'true' : 'x'
  }

  /** One of two audiences is enough. */
  const neededBy = (id: ClaimMapperId): readonly string[] =>
    id === 'oidc-audience-mapper' ? ['included.client.audience'] : claimMappers[id].required

  const mapperOf = (protocolMapper: ClaimMapperId, more: Record<string, string> = {}) => ({
    name: `${protocolMapper}-${Object.keys(more).length}`,
    protocolMapper,
    config: {
      ...Object.fromEntries(
        neededBy(protocolMapper).map((setting) => [setting, choiceOf(setting)]),
      ),
      ...more,
    },
  })

  describe.each(['/claims', '/clients/web/mappers'])('%s', (path) => {
    it.each(claimMapperIds)('%s takes every setting that it reads', async (id) => {
      const { optional } = claimMappers[id]
      const all = Object.fromEntries(optional.map((setting) => [setting, choiceOf(setting)]))
      expect((await send('POST', path, mapperOf(id, all))).status).toBe(201)
    })

    it.each(claimMapperIds)('%s refuses a setting that it does not read', async (id) => {
      const { status, body } = await send('POST', path, mapperOf(id, { zz: '1' }))
      expect(status).toBe(400)
      expect(body.errors).toMatchObject([{ field: '/config/zz', code: 'unknown-field' }])
    })

    it.each(claimMapperIds)('%s refuses to stand without what it needs', async (id) => {
      const required = neededBy(id)
      const { status, body } = await send('POST', path, { ...mapperOf(id), config: {} })
      expect(status).toBe(required.length > 0 ? 400 : 201)
      if (required.length > 0)
        expect(body.errors.map(({ field }: { field: string }) => field)).toEqual(
          required.map((setting) => `/config/${setting}`),
        )
    })

    it.each([
      ['access.token.claim', 'yes'],
      ['jsonType.label', 'Integer'],
      ['multivalued', 'TRUE'],
    ])('%s refuses "%s"', async (setting, value) => {
      const mapper = mapperOf('oidc-usermodel-attribute-mapper', { [setting]: value })
      const { body } = await send('POST', path, mapper)
      expect(body.errors).toMatchObject([{ field: `/config/${setting}`, code: 'enum' }])
    })

    it.each([
      ['int', 'one'],
      ['long', ''.padStart(2)],
      ['boolean', 'yes'],
      ['JSON', '{a: 1}'],
    ])('a constant claim of type %s is not "%s"', async (label, value) => {
      const more = { 'claim.value': value, 'jsonType.label': label }
      const mapper = mapperOf('oidc-hardcoded-claim-mapper', more)
      const { body } = await send('POST', path, mapper)
      expect(body.errors).toMatchObject([{ field: '/config/claim.value', code: 'format' }])
    })

    it('a property mapper names a property that users have', async () => {
      const mapper = mapperOf('oidc-usermodel-property-mapper', { 'user.attribute': 'shoeSize' })
      const { body } = await send('POST', path, mapper)
      expect(body.errors).toMatchObject([{ field: '/config/user.attribute', code: 'enum' }])
    })
  })

  const serviceProvider = (more: object) => ({
    entityId: 'https://sp.example',
    assertionConsumerServiceUrl: 'https://sp.example/acs',
    ...more,
  })

  it('a service provider has a NameID format and a certificate that exist', async () => {
    const kerberos = 'urn:oasis:names:tc:SAML:2.0:nameid-format:kerberos'
    for (const nameIdFormat of ['banana', kerberos]) {
      const wrongFormat = serviceProvider({ options: { nameIdFormat } })
      expect((await send('POST', '/saml-clients', wrongFormat)).body.errors).toMatchObject([
        { field: '/options/nameIdFormat', code: 'format' },
      ])
    }
    const certificate = makeCertificate(['sp.example']).certificate
    const broken = certificate.replace(/[A-Za-z0-9+/]{20}/, '')
    for (const signingCertificate of ['zz', 'MIIB', broken, certificate + certificate])
      expect(
        (await send('POST', '/saml-clients', serviceProvider({ signingCertificate }))).body.errors,
      ).toMatchObject([{ field: '/signingCertificate', code: 'format' }])
    const bare = certificate.replaceAll(/-----[A-Z ]+-----|\s/g, '')
    const good = serviceProvider({
      signingCertificate: bare,
      options: { nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' },
    })
    expect((await send('POST', '/saml-clients', good)).status).toBe(201)
  })

  const eid = (protocol: string, config: object) => ({
    alias: `${protocol}-${Object.values(config).join('').length}`,
    protocol,
    config: {
      ssoUrl: 'https://eid.example/sso',
      idpEntityId: 'urn:eid',
      spEntityId: 'urn:us',
      idpSigningCertificate: makeCertificate(['eid.example']).certificate,
      ...config,
    },
  })

  it.each([
    ['eidas', 'banana', 'substantial'],
    ['eherkenning', 'substantial', 'urn:etoegang:core:assurance-class:loa3'],
  ])('%s refuses the level "%s"', async (protocol, wrong, right) => {
    const refused = await send('POST', '/identity-providers', eid(protocol, { minimumLoa: wrong }))
    expect(refused.body.errors).toMatchObject([{ field: '/config/minimumLoa', code: 'enum' }])
    const taken = await send('POST', '/identity-providers', eid(protocol, { minimumLoa: right }))
    expect(taken.status).toBe(201)
  })

  const directory = (more: object = {}) => ({
    alias: 'directory',
    protocol: 'ldap',
    config: { url: 'ldaps://ldap.example', userSearchBase: 'ou=people' },
    ...more,
  })

  it('a directory takes nothing that only a provider in the browser has', async () => {
    expect((await send('POST', '/organizations', { alias: 'corp', name: 'Corp' })).status).toBe(201)
    const fields = {
      hideOnLogin: true,
      storeToken: true,
      firstLoginFlow: 'browser',
      postLoginFlow: 'browser',
      organization: 'corp',
    }
    for (const [field, value] of Object.entries(fields))
      expect(
        (await send('POST', '/identity-providers', directory({ [field]: value }))).body.errors,
      ).toContainEqual(expect.objectContaining({ field: `/${field}`, code: 'unknown-field' }))
    expect((await send('POST', '/identity-providers', directory())).status).toBe(201)
    const mapper = { name: 'staff', type: 'role', claim: 'memberOf', value: 'staff', role: 'user' }
    const refused = await send('POST', '/identity-providers/directory/mappers', mapper)
    expect(refused.body.errors).toMatchObject([{ field: '/type', code: 'unknown-field' }])
    expect(refused.body.errors[0].message).toContain('groupSearchBase')
  })

  const workload = (name: string, more: object = {}) => ({
    name,
    issuer: 'https://ci.example',
    subject: `repo:${name}`,
    audience: 'iam',
    clientId: 'web',
    scopes: 'email',
    ...more,
  })

  it('a workload credential has scopes of its client', async () => {
    const { body } = await send('POST', '/workload-identity', workload('a', { scopes: 'nope' }))
    expect(body.errors).toMatchObject([{ field: '/scopes', code: 'scope-not-allowed' }])
    expect((await send('POST', '/workload-identity', workload('b'))).status).toBe(201)
    const { status, body: narrowed } = await send('PUT', '/clients/web', { clientId: 'web' })
    expect(status).toBe(400)
    expect(narrowed.errors[0].message).toContain('workload-identity "b"')
  })

  it('a JWT matches one workload credential, whichever way the second comes', async () => {
    await send('POST', '/workload-identity', workload('first'))
    const same = { subject: 'repo:first' }
    const second = await send('POST', '/workload-identity', workload('second', same))
    expect(second.status).toBe(409)
    expect(second.body.errors).toMatchObject([{ field: '/subject', code: 'taken' }])
    expect((await send('POST', '/workload-identity', workload('third'))).status).toBe(201)
    const moved = await send('PUT', '/workload-identity/third', workload('third', same))
    expect(moved.body).toMatchObject({
      status: 409,
      errors: [{ field: '/subject', code: 'taken' }],
    })
    const others = workload('fourth', { ...same, audience: 'other' })
    expect((await send('POST', '/workload-identity', others)).status).toBe(201)
  })
})
