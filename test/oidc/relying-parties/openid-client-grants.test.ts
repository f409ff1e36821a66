/** What comes after a sign-in, or instead of one, with openid-client: resources, offline access, logout, CIBA by ping. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { claimsOf, type OidcSite, openIssuer } from '../fixture.ts'
import { addPerson, hiddenFields, newPerson, type Person } from '../relying-party.ts'
import { openParty, type Party } from './openid-party.ts'

const [api, files] = ['https://api.example', 'https://files.example']
const after = 'https://app.example/signed-out'

describe.each(backends)('openid-client on $name', (backend) => {
  let site: OidcSite
  let app: Party
  let aliceId: string
  let alice: Person
  beforeAll(async () => {
    site = await openIssuer(backend, {
      env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
    })
    aliceId = await addPerson(site, 'alice')
    alice = newPerson(site)
    app = await openParty(site, {
      clientId: 'app',
      grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
      scopes: ['offline_access'],
      postLogoutRedirectUris: [after],
    })
    await site.admin('PUT', `/clients/${app.client.id}/allowed-resources`, [api, files])
  }, 60_000)
  afterAll(() => site.close())

  const audienceOf = ({ access_token }: { access_token: string }): unknown =>
    claimsOf(access_token)['aud']

  it('names what its tokens are for, with the code, a refresh token or alone (RFC 8707)', async () => {
    const both = new URLSearchParams([
      ['resource', api],
      ['resource', files],
    ])
    const own = await openid.clientCredentialsGrant(app.config, both)
    expect(audienceOf(own)).toEqual([api, files])
    expect(audienceOf(await app.signIn(alice))).toBe(site.issuer)
    const first = await app.signIn(alice, both)
    expect(audienceOf(first)).toEqual([api, files])
    const narrow = await app.signIn(alice, both, { resource: files })
    expect(audienceOf(narrow)).toBe(files)
    const refresh = narrow.refresh_token ?? ''
    const next = await openid.refreshTokenGrant(app.config, refresh, { resource: api })
    expect(audienceOf(next)).toBe(api)
    const elsewhere = { resource: 'https://elsewhere.example' }
    for (const ask of [
      () => openid.clientCredentialsGrant(app.config, elsewhere),
      () => openid.refreshTokenGrant(app.config, next.refresh_token ?? '', elsewhere),
      () => app.signIn(alice, elsewhere),
    ])
      await expect(ask()).rejects.toMatchObject({ error: 'invalid_target' })
  })

  it('signs out at the end of a session; what is offline goes on', async () => {
    const online = await app.signIn(alice)
    const offline = await app.signIn(alice, { scope: 'openid offline_access' })
    const renewed = await openid.refreshTokenGrant(app.config, online.refresh_token ?? '')
    const url = openid.buildEndSessionUrl(app.config, {
      post_logout_redirect_uri: after,
      id_token_hint: renewed.id_token ?? '',
      state: 'a state',
    })
    expect((await alice.open(url.href)).away).toBe(`${after}?state=a+state`)
    await expect(app.signIn(alice, { prompt: 'none' })).rejects.toMatchObject({
      error: 'login_required',
    })
    const ended = openid.refreshTokenGrant(app.config, renewed.refresh_token ?? '')
    await expect(ended).rejects.toMatchObject({ error: 'invalid_grant' })
    const still = await openid.refreshTokenGrant(app.config, offline.refresh_token ?? '')
    expect(still.claims()?.sub).toBe(aliceId)
    expect(still.scope).toContain('offline_access')
  })

  describe('is told of a decision (CIBA)', () => {
    const told: { authorization: string | undefined; body: unknown }[] = []
    let peer: Server
    beforeAll(async () => {
      peer = createServer(async (request, response) => {
        const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
        told.push({ authorization: request.headers.authorization, body })
        response.writeHead(204).end()
      })
      await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve))
    })
    afterAll(() => peer.close())

    it('by a ping, and asks once', async () => {
      const { port } = peer.address() as AddressInfo
      const bank = await openParty(site, {
        clientId: 'bank',
        grantTypes: ['CIBA'],
        backchannelTokenDeliveryMode: 'ping',
        backchannelClientNotificationEndpoint: `http://127.0.0.1:${port}/told`,
      })
      const started = await openid.initiateBackchannelAuthentication(bank.config, {
        scope: 'openid',
        login_hint: 'alice',
        client_notification_token: 'a-token-of-the-bank',
      })
      const approvals = `${site.issuer}/approvals`
      const page = await alice.signIn(approvals)
      await alice.open(approvals, { ...hiddenFields(page.body), decision: 'allow' })
      const { areas } = site.server
      await runJobs(areas.jobs, areas.oidc.pings)
      const { auth_req_id } = started
      expect(told).toEqual([{ authorization: 'Bearer a-token-of-the-bank', body: { auth_req_id } }])
      const tokens = await openid.pollBackchannelAuthenticationGrant(bank.config, {
        ...started,
        interval: 0.01,
      })
      expect(tokens.claims()?.sub).toBe(aliceId)
    })
  })
})
