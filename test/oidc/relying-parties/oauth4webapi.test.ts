/** The grants and endpoints that `oauth4webapi` knows, with it as the strict reader of every answer. */

import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer } from '../fixture.ts'
import { addPerson, hiddenFields, newPerson, type Person, password } from '../relying-party.ts'

const [backend] = backends
if (!backend) throw new Error('no database')

const insecure = { [oauth.allowInsecureRequests]: true }
const accessType = 'urn:ietf:params:oauth:token-type:access_token'

describe('oauth4webapi', () => {
  let site: OidcSite
  let as: oauth.AuthorizationServer
  let auth: oauth.ClientAuth
  let alice: string
  let person: Person
  const me: oauth.Client = { client_id: 'app' }

  beforeAll(async () => {
    site = await openIssuer(backend)
    const { secret } = await site.client({
      clientId: me.client_id,
      grantTypes: ['password', 'refresh_token', 'token-exchange', 'device', 'CIBA'],
      scopes: ['email'],
    })
    auth = oauth.ClientSecretBasic(secret)
    alice = await addPerson(site, 'alice')
    person = newPerson(site)
    const issuer = new URL(site.issuer)
    const found = await oauth.discoveryRequest(issuer, insecure)
    as = await oauth.processDiscoveryResponse(issuer, found)
  })
  afterAll(() => site.close())

  const generic = async (grantType: string, fields: Record<string, string>) =>
    oauth.processGenericTokenEndpointResponse(
      as,
      me,
      await oauth.genericTokenEndpointRequest(as, me, auth, grantType, fields, insecure),
    )
  const introspect = async (token: string) =>
    oauth.processIntrospectionResponse(
      as,
      me,
      await oauth.introspectionRequest(as, me, auth, token, insecure),
    )

  it('signs in by password, refreshes, reads userinfo, exchanges, introspects and revokes', async () => {
    const first = await generic('password', { username: 'alice', password, scope: 'openid email' })
    expect(oauth.getValidatedIdTokenClaims(first)?.sub).toBe(alice)
    const tokens = await oauth.processRefreshTokenResponse(
      as,
      me,
      await oauth.refreshTokenGrantRequest(as, me, auth, first.refresh_token ?? '', insecure),
    )
    expect(tokens.refresh_token).not.toBe(first.refresh_token)
    const response = await oauth.userInfoRequest(as, me, tokens.access_token, insecure)
    const info = await oauth.processUserInfoResponse(as, me, alice, response)
    expect(info.email).toBeDefined()
    const exchanged = await generic('urn:ietf:params:oauth:grant-type:token-exchange', {
      subject_token: tokens.access_token,
      subject_token_type: accessType,
      scope: 'email',
    })
    expect(exchanged['issued_token_type']).toBe(accessType)
    expect(await introspect(exchanged.access_token)).toMatchObject({ active: true, sub: alice })
    const gone = await oauth.revocationRequest(as, me, auth, tokens.refresh_token ?? '', insecure)
    expect(await oauth.processRevocationResponse(gone)).toBeUndefined()
    expect(await introspect(exchanged.access_token)).toEqual({ active: false })
  })

  it('connects a device (RFC 8628)', async () => {
    const started = await oauth.processDeviceAuthorizationResponse(
      as,
      me,
      await oauth.deviceAuthorizationRequest(as, me, auth, { scope: 'openid' }, insecure),
    )
    const page = await person.signIn(started.verification_uri)
    const question = await person.submit(page, { user_code: started.user_code })
    await person.submit(question, { decision: 'allow' })
    const tokens = await oauth.processDeviceCodeResponse(
      as,
      me,
      await oauth.deviceCodeGrantRequest(as, me, auth, started.device_code, insecure),
    )
    expect(oauth.getValidatedIdTokenClaims(tokens)?.sub).toBe(alice)
  })

  it('asks the user elsewhere (CIBA)', async () => {
    const started = await oauth.processBackchannelAuthenticationResponse(
      as,
      me,
      await oauth.backchannelAuthenticationRequest(
        as,
        me,
        auth,
        { scope: 'openid', login_hint: 'alice' },
        insecure,
      ),
    )
    const approvals = `${site.issuer}/approvals`
    const page = await person.open(approvals)
    const question = page.body.split('<article').at(-1) ?? ''
    await person.open(approvals, { ...hiddenFields(question), decision: 'allow' })
    const tokens = await oauth.processBackchannelAuthenticationGrantResponse(
      as,
      me,
      await oauth.backchannelAuthenticationGrantRequest(
        as,
        me,
        auth,
        started.auth_req_id,
        insecure,
      ),
    )
    expect(oauth.getValidatedIdTokenClaims(tokens)?.sub).toBe(alice)
  })
})
