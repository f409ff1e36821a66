/** Token exchange by a client with `consentRequired`: no token without the consent of the user, and none beyond it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type Reply, type TestClient } from '../../fixture.ts'
import {
  addPerson,
  authorizeUrl,
  codeOf,
  exchange,
  newPerson,
  redirectUri,
} from '../../relying-party.ts'

const accessType = 'urn:ietf:params:oauth:token-type:access_token'

describe.each(backends)('an exchange that needs consent on $name', (backend) => {
  let site: OidcSite
  let app: TestClient
  let service: TestClient
  let alice: string
  beforeAll(async () => {
    site = await openIssuer(backend)
    const common = { redirectUris: [redirectUri], scopes: ['profile', 'email'] }
    app = await site.client({
      ...common,
      clientId: 'app',
      grantTypes: ['authorization_code'],
      audiences: ['service'],
    })
    service = await site.client({
      ...common,
      clientId: 'service',
      grantTypes: ['authorization_code', 'token-exchange'],
      consentRequired: true,
      audiences: ['service'],
    })
    alice = await addPerson(site, 'alice')
  })
  afterAll(() => site.close())

  const tokenOf = async (): Promise<string> => {
    const page = await newPerson(site).signIn(
      authorizeUrl(site, app, { scope: 'openid profile email' }),
    )
    return (await exchange(site, app, codeOf(page))).body.access_token
  }
  const swap = (subject: string, more: Readonly<Record<string, string>> = {}): Promise<Reply> =>
    site.post('/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      client_id: service.clientId,
      client_secret: service.secret,
      subject_token: subject,
      subject_token_type: accessType,
      ...more,
    })
  /** alice signs in to the service and allows it; the answer has its tokens. */
  const consent = async (scope: string): Promise<Reply> => {
    const person = newPerson(site)
    const asked = await person.signIn(authorizeUrl(site, service, { scope }))
    return exchange(site, service, codeOf(await person.submit(asked, { decision: 'allow' })))
  }
  const revoke = () => {
    const { storage, oidc } = site.server.areas
    return storage.commit(oidc.consents.revoke('acme', alice, service.id))
  }
  const isActive = async (token: string): Promise<boolean> => {
    const { clientId: client_id, secret: client_secret } = service
    return (await site.post('/introspect', { client_id, client_secret, token })).body.active
  }

  it('is refused without the consent of the user to the client', async () => {
    const { status, body } = await swap(await tokenOf())
    expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(body.error_description).toContain('consent')
  })

  it('gives the scopes that the user has consented to, until the consent is revoked', async () => {
    const subject = await tokenOf()
    await consent('openid profile')
    const { status, body } = await swap(subject)
    expect([status, body.scope]).toEqual([200, 'openid profile'])
    expect(claimsOf(body.access_token)).toMatchObject({ sub: alice, client_id: 'service' })
    const beyond = await swap(subject, { scope: 'email' })
    expect([beyond.status, beyond.body.error]).toEqual([400, 'invalid_scope'])
    const again = await swap(body.access_token, { scope: 'profile' })
    const tokens = [body.access_token, again.body.access_token]
    expect(await Promise.all([subject, ...tokens].map(isActive))).toEqual([true, true, true])
    await revoke()
    expect(await Promise.all([subject, ...tokens].map(isActive))).toEqual([true, false, false])
    expect((await swap(subject)).body.error).toBe('invalid_request')
  })

  it('takes a token of a grant that the user gave the client itself', async () => {
    const { access_token } = (await consent('openid profile')).body
    const { status, body } = await swap(access_token)
    expect([status, body.scope]).toEqual([200, 'openid profile'])
    await revoke()
    expect(await isActive(body.access_token)).toBe(false)
  })

  it('asks nothing of clients without consentRequired', async () => {
    const { body } = await site.admin('GET', `/clients/${service.id}`)
    await site.admin('PUT', `/clients/${service.id}`, { ...body, consentRequired: false })
    expect((await swap(await tokenOf())).status).toBe(200)
    await site.admin('PUT', `/clients/${service.id}`, body)
  })
})
