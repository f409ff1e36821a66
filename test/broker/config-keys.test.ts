/** Every key of an OpenID provider's config that nothing else shows does what its description says, and has its default. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { type Broker, openBrokerRealm, refusalOf } from './trips.ts'
import { startUpstream, type Upstream } from './upstream.ts'

const ada = { sub: 'ada-1', email: 'ada@partner.example', email_verified: true }

describe.each(anyBackend)('the config of an OpenID provider', (backend) => {
  let realm: Broker
  let partner: Upstream
  let count = 0
  beforeAll(async () => {
    ;[realm, partner] = await Promise.all([openBrokerRealm(backend), startUpstream()])
    partner.now = () => realm.clock.now()
  })
  beforeEach(() => {
    partner.lies = {}
    partner.requests.length = 0
  })
  afterAll(async () => {
    await realm.close()
    await partner.close()
  })

  const provide = async (config: object): Promise<string> => {
    count += 1
    const alias = `p-${count}`
    await realm.must('POST', '/identity-providers', {
      alias,
      protocol: 'oidc',
      config: { clientId: 'us', clientSecret: 'a secret of ours', ...config },
    })
    return alias
  }
  const asked = async (config: object) =>
    new URL(await realm.leave(await provide({ issuer: partner.issuer, ...config }))).searchParams
  const paths = () => partner.requests.map(({ path }) => path)

  it('defaultScope is what is asked for, openid profile email if unset', async () => {
    expect((await asked({})).get('scope')).toBe('openid profile email')
    expect((await asked({ defaultScope: 'openid groups' })).get('scope')).toBe('openid groups')
  })

  it('prompt is sent along, and none if unset', async () => {
    expect((await asked({})).get('prompt')).toBe(null)
    expect((await asked({ prompt: 'select_account' })).get('prompt')).toBe('select_account')
  })

  it('pkceEnabled is on unless it is false, with pkceMethod S256', async () => {
    expect((await asked({})).get('code_challenge_method')).toBe('S256')
    expect((await asked({ pkceMethod: 'S256' })).get('code_challenge_method')).toBe('S256')
    const without = await asked({ pkceEnabled: false })
    expect([without.get('code_challenge'), without.get('code_challenge_method')]).toEqual([
      null,
      null,
    ])
  })

  it('explicit addresses are used without a discovery document', async () => {
    const alias = await provide({
      issuer: partner.issuer,
      authorizationUrl: `${partner.url}/authorize`,
      tokenUrl: `${partner.url}/token`,
      jwksUrl: `${partner.url}/jwks`,
    })
    expect(await refusalOf(realm.trip(alias, partner, ada))).toBe('not refused')
    expect(paths()).toEqual(['/token', '/jwks'])
  })

  it('explicit addresses win over those of the discovery document', async () => {
    partner.lies = {
      discovery: (truth) => ({
        ...truth,
        authorization_endpoint: 'https://wrong.example/authorize',
        token_endpoint: 'https://wrong.example/token',
        userinfo_endpoint: 'https://wrong.example/userinfo',
        jwks_uri: 'https://wrong.example/jwks',
      }),
    }
    const alias = await provide({
      discoveryUrl: `${partner.issuer}/.well-known/openid-configuration?explicit`,
      issuer: partner.issuer,
      authorizationUrl: `${partner.url}/authorize`,
      tokenUrl: `${partner.url}/token`,
      userInfoUrl: `${partner.url}/userinfo`,
      jwksUrl: `${partner.url}/jwks?own`,
    })
    expect(await refusalOf(realm.trip(alias, partner, ada))).toBe('not refused')
    expect(paths()).toEqual(expect.arrayContaining(['/token', '/jwks?own', '/userinfo']))
  })

  it('discoveryUrl is enough, where its document names the issuer that its address is made of', async () => {
    const discoveryUrl = `${partner.issuer}/.well-known/openid-configuration`
    const alias = await provide({ discoveryUrl })
    expect(await refusalOf(realm.trip(alias, partner, ada))).toBe('not refused')
  })

  it.each([
    [{ validateSignature: false }, '/config/validateSignature'],
    [{ pkceMethod: 'plain' }, '/config/pkceMethod'],
    [{ clientSecret: undefined, pkceEnabled: false }, '/config/pkceEnabled'],
    [{ useJwksUrl: false, clientSecret: undefined }, '/config/clientSecret'],
    [{ hostedDomain: 'example.com' }, '/config/hostedDomain'],
    [{ allowedTenants: ['5f0e7c1a-9d42-4b1e-8a8f-0c2d4e6f8a10'] }, '/config/allowedTenants'],
  ])('refuses %j, which would protect less or do nothing', async (config, field) => {
    const admin = await realm.server.signedIn('master', 'admin')
    const { status, body } = await admin.send('POST', '/admin/realms/shop/identity-providers', {
      alias: 'refused',
      protocol: 'oidc',
      config: { issuer: partner.issuer, clientId: 'us', clientSecret: 'a secret', ...config },
    })
    expect(status).toBe(400)
    expect(body.errors.map((one: { field: string }) => one.field)).toContain(field)
  })
})
