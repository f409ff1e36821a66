/** What a sign-in can be asked for, with openid-client as the relying party: modes, algorithms, claims, prompts, subjects. */

import { decodeProtectedHeader } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer } from '../fixture.ts'
import { addPerson, newPerson, type Person } from '../relying-party.ts'
import { openParty, type Party } from './openid-party.ts'

describe.each(backends)('openid-client signs in on $name', (backend) => {
  let site: OidcSite
  let app: Party
  let aliceId: string
  let alice: Person
  beforeAll(async () => {
    site = await openIssuer(backend)
    aliceId = await addPerson(site, 'alice')
    alice = newPerson(site)
    app = await openParty(site, { clientId: 'app', scopes: ['email', 'profile'] })
    await app.signIn(alice)
  }, 60_000)
  afterAll(() => site.close())

  const refusal = async (signingIn: Promise<unknown>): Promise<unknown> => {
    const error = await signingIn.then(() => undefined).catch((reason: unknown) => reason)
    if (!(error instanceof openid.AuthorizationResponseError)) throw error
    return error.error
  }

  const modes = ['query', 'fragment', 'form_post']
  it.each(modes)('by response_mode=%s', async (response_mode) => {
    const tokens = await app.signIn(alice, { response_mode })
    expect(tokens.claims()?.sub).toBe(aliceId)
  })

  it.each(['jwt', ...modes.map((mode) => `${mode}.jwt`)])(
    'by response_mode=%s, which is signed (JARM)',
    async (response_mode) => {
      const signed = await openParty(site, { clientId: `signed-${response_mode}` })
      openid.useJwtResponseMode(signed.config)
      const tokens = await signed.signIn(alice, { response_mode })
      expect(tokens.claims()?.sub).toBe(aliceId)
      expect(await refusal(signed.signIn(newPerson(site), { response_mode, prompt: 'none' }))).toBe(
        'login_required',
      )
    },
  )

  it.each(['RS256', 'PS256'] as const)('with id tokens and userinfo signed by %s', async (alg) => {
    const party = await openParty(
      site,
      {
        clientId: `by-${alg}`,
        scopes: ['email'],
        idTokenSignedResponseAlg: alg,
        userinfoSignedResponseAlg: alg,
      },
      { id_token_signed_response_alg: alg, userinfo_signed_response_alg: alg },
    )
    const tokens = await party.signIn(alice, { scope: 'openid email' })
    expect(decodeProtectedHeader(tokens.id_token ?? '').alg).toBe(alg)
    const info = await openid.fetchUserInfo(party.config, tokens.access_token, aliceId)
    expect(info).toMatchObject({ sub: aliceId, email: 'alice@acme.example', aud: `by-${alg}` })
  })

  it('with claims that it asks for one by one', async () => {
    const plain = await app.signIn(alice)
    expect(plain.claims()).not.toHaveProperty('email')
    const claims = JSON.stringify({
      id_token: { email: null },
      userinfo: { preferred_username: null },
    })
    const tokens = await app.signIn(alice, { claims })
    expect(tokens.claims()).toMatchObject({ email: 'alice@acme.example' })
    const info = await openid.fetchUserInfo(app.config, tokens.access_token, aliceId)
    expect(info).toEqual({ sub: aliceId, preferred_username: 'alice' })
  })

  it('in silence as who is signed in, by the class that it asks for, and not otherwise', async () => {
    const prompt = 'none'
    const first = await app.signIn(alice, { prompt, acr_values: '1' })
    expect(first.claims()).toMatchObject({ sub: aliceId, acr: '1' })
    const id_token_hint = first.id_token ?? ''
    expect((await app.signIn(alice, { prompt, id_token_hint })).claims()?.sub).toBe(aliceId)
    expect(await refusal(app.signIn(alice, { prompt, acr_values: '2' }))).toBe('login_required')
    const bobId = await addPerson(site, 'bob')
    const bob = newPerson(site)
    await bob.signIn(`${site.issuer}/login`, 'bob')
    expect((await app.signIn(bob, { prompt })).claims()?.sub).toBe(bobId)
    expect(await refusal(app.signIn(bob, { prompt, id_token_hint }))).toBe('login_required')
    expect(await refusal(app.signIn(newPerson(site), { prompt }))).toBe('login_required')
  })

  it('with a subject of its own per sector (OIDC Core §8.1)', async () => {
    await site.admin('PUT', '/subject-claim', { strategy: 'userId', salt: 'a salt of the realm' })
    const subjects: string[] = []
    for (const [clientId, host] of Object.entries({ one: 'a', same: 'a', other: 'b' })) {
      const redirectUris = [`https://${host}.example/${clientId}`]
      const party = await openParty(site, { clientId, redirectUris, subjectClaim: 'pairwise' })
      const tokens = await party.signIn(alice)
      const sub = tokens.claims()?.sub ?? ''
      const again = await openid.refreshTokenGrant(party.config, tokens.refresh_token ?? '')
      expect(again.claims()?.sub).toBe(sub)
      expect((await openid.fetchUserInfo(party.config, again.access_token, sub)).sub).toBe(sub)
      subjects.push(sub)
    }
    const [one, same, other] = subjects
    expect(one).toBe(same)
    expect(new Set([one, other, aliceId]).size).toBe(3)
  })

  it('before and after the keys rotate, with the key set that it has read already', async () => {
    const before = await app.signIn(alice)
    const read = openid.getJwksCache(app.config)
    await site.admin('POST', '/keys/rotate')
    const after = await app.signIn(alice)
    const kidOf = ({ id_token = '' }): unknown => decodeProtectedHeader(id_token).kid
    expect(kidOf(after)).not.toBe(kidOf(before))
    expect(openid.getJwksCache(app.config)).toEqual(read)
  })

  it('and finds out who issues tokens for the realm, by its address and from a refusal (RFC 9728)', async () => {
    const resource = new URL(site.issuer)
    const insecure = { [oauth.allowInsecureRequests]: true }
    const as = app.config.serverMetadata()
    const me = { client_id: 'app' }
    const challenge: unknown = await oauth
      .processUserInfoResponse(as, me, aliceId, await oauth.userInfoRequest(as, me, 'x', insecure))
      .catch(({ cause }: oauth.WWWAuthenticateChallengeError) => cause[0]?.parameters)
    const { resource_metadata } = challenge as Record<string, string>
    for (const response of [
      await oauth.resourceDiscoveryRequest(resource, insecure),
      await fetch(resource_metadata ?? ''),
    ]) {
      const found = await oauth.processResourceDiscoveryResponse(resource, response)
      expect(found).toMatchObject({ authorization_servers: [as.issuer], jwks_uri: as.jwks_uri })
    }
  })
})
