/** What an id token of the code flow says (OIDC Core §2, §5.4): who signed in and how; what scopes mean is told at userinfo. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  authorizeUrl,
  change,
  codeOf,
  exchange,
  newPerson,
  redirectUri,
} from '../relying-party.ts'

/** OIDC Core §2, RFC 7519 §4.1, Front-Channel Logout §3. */
const ofIdentity = ['iss', 'sub', 'aud', 'azp', 'iat', 'exp', 'jti', 'auth_time', 'acr', 'amr']
const ofSession = ['sid', 'nonce', 'at_hash']
/** RFC 9068 §2.2. */
const ofAccess = ['iss', 'sub', 'aud', 'azp', 'client_id', 'iat', 'exp', 'jti', 'scope', 'sid']
const moreOfAccess = ['auth_time', 'acr', 'amr', 'realm_access', 'resource_access']

describe.each(backends)('id tokens on $name', (backend) => {
  let site: OidcSite
  let app: TestClient

  beforeAll(async () => {
    site = await openIssuer(backend)
    app = await site.client({
      clientId: 'app',
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
      scopes: ['profile', 'email'],
    })
    await addPerson(site, 'alice')
  })
  afterAll(() => site.close())

  const tokens = async (asked: Record<string, string> = {}) => {
    const all = { scope: 'openid profile email', nonce: 'n', ...asked }
    const page = await newPerson(site).signIn(authorizeUrl(site, app, all))
    const { body } = await exchange(site, app, codeOf(page))
    const authorization = `Bearer ${body.access_token}`
    return {
      id: claimsOf(body.id_token),
      idToken: String(body.id_token),
      access: claimsOf(body.access_token),
      userinfo: (await site.get('/userinfo', { authorization })).body,
    }
  }
  const beyond = (claims: object, names: readonly string[]): string[] =>
    Object.keys(claims).filter((name) => !names.includes(name))

  it('have claims of identity and session alone, and no claim of our own', async () => {
    const { id, access, userinfo } = await tokens()
    expect(beyond(id, [...ofIdentity, ...ofSession])).toEqual([])
    expect(beyond(access, [...ofAccess, ...moreOfAccess])).toEqual([])
    expect(userinfo).toMatchObject({ preferred_username: 'alice', email: 'alice@acme.example' })
  })

  it('have what the request asks for by name, also where its scope is granted (§5.5)', async () => {
    const claims = JSON.stringify({ id_token: { email: null } })
    const { id } = await tokens({ claims })
    expect(beyond(id, [...ofIdentity, ...ofSession])).toEqual(['email'])
  })

  it('have what a mapper of the client puts there', async () => {
    const { body } = await site.admin('POST', `/clients/${app.id}/mappers`, {
      name: 'mail',
      protocolMapper: 'oidc-usermodel-property-mapper',
      config: { 'claim.name': 'mail', 'user.attribute': 'email' },
    })
    expect((await tokens()).id['mail']).toBe('alice@acme.example')
    await site.admin('DELETE', `/clients/${app.id}/mappers/${body.id}`)
  })

  it('have all of it where the realm sets idTokenScopeClaims', async () => {
    await change(site, '/settings', { idTokenScopeClaims: true })
    const { id } = await tokens()
    expect(id).toMatchObject({ preferred_username: 'alice', email: 'alice@acme.example' })
    await change(site, '/settings', { idTokenScopeClaims: false })
  })

  it('still serve as a hint and for a sign-out', async () => {
    const person = newPerson(site)
    const { body } = await exchange(site, app, codeOf(await person.signIn(authorizeUrl(site, app))))
    const hint = { id_token_hint: body.id_token, prompt: 'none' }
    codeOf(await person.open(authorizeUrl(site, app, hint)))
    const query = new URLSearchParams({ id_token_hint: body.id_token })
    await person.open(`${site.issuer}/logout?${query}`)
    expect(person.jar.has('iam-session-acme')).toBe(false)
  })
})
