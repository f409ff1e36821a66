/**
 * The modules of the public certification suite for the RP-initiated, back-channel and front-channel logout plans, each
 * under its own name. What a module asks a person to look at is read from the page here.
 */

import { createLocalJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logoutJobs } from '#server/run/background.ts'
import { backends } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import { type LogoutPeer, openLogoutPeer } from '../logout/logout-peer.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  codeOf,
  exchange,
  newPerson,
  type Page,
  type Person,
  redirectUri,
} from '../relying-party.ts'

const after = 'https://app.example/post_logout'

describe.each(backends)('logout certification plans on $name', (backend) => {
  let site: OidcSite
  let peer: LogoutPeer
  let client: TestClient
  let back: TestClient
  let front: TestClient

  beforeAll(async () => {
    site = await openIssuer(backend, {
      env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
    })
    peer = await openLogoutPeer()
    const common = {
      grantTypes: ['authorization_code', 'refresh_token'] as 'authorization_code'[],
      redirectUris: [redirectUri],
      postLogoutRedirectUris: [after],
    }
    client = await site.client({ clientId: 'client', ...common })
    back = await site.client({ clientId: 'back', ...common, backchannelLogoutUri: peer.url })
    front = await site.client({
      clientId: 'front',
      ...common,
      frontchannelLogout: true,
      frontchannelLogoutUri: 'https://app.example/frontchannel_logout',
    })
    await addPerson(site, 'alice')
  }, 60_000)
  afterAll(async () => {
    await site.close()
    await peer.close()
  })

  const signIn = async (of = client): Promise<{ alice: Person; hint: string }> => {
    const alice = newPerson(site)
    const page = await alice.signIn(authorizeUrl(site, of))
    return { alice, hint: (await exchange(site, of, codeOf(page))).body.id_token }
  }
  const logout = (person: Person, query: Readonly<Record<string, string>>): Promise<Page> =>
    person.open(`${site.issuer}/logout?${new URLSearchParams(query)}`)
  /** The last step of each module: a silent request finds no session, or still a session. */
  const isSignedIn = async (person: Person): Promise<boolean> => {
    const page = await person.open(authorizeUrl(site, client, { prompt: 'none' }))
    return answerOf(page)['error'] !== 'login_required'
  }
  /** The suite wants a page that says what is wrong, and no redirect. */
  const isErrorPage = async (person: Person, page: Page): Promise<void> => {
    expect([page.status, page.away]).toEqual([400, undefined])
    expect(await isSignedIn(person)).toBe(true)
  }

  it.each([
    ['oidcc-rp-initiated-logout-discovery-endpoint-verification', []],
    [
      'oidcc-backchannel-logout-discovery-endpoint-verification',
      ['backchannel_logout_supported', 'backchannel_logout_session_supported'],
    ],
    [
      'oidcc-frontchannel-logout-discovery-endpoint-verification',
      ['frontchannel_logout_supported', 'frontchannel_logout_session_supported'],
    ],
  ])('%s', async (_name, members) => {
    const { body } = await site.get('/.well-known/openid-configuration')
    expect(body.end_session_endpoint).toBe(`${site.issuer}/logout`)
    for (const member of members) expect(body[member]).toBe(true)
  })

  it('oidcc-rp-initiated-logout', async () => {
    const { alice, hint } = await signIn()
    const query = { id_token_hint: hint, post_logout_redirect_uri: after, state: 'st' }
    expect((await logout(alice, query)).away).toBe(`${after}?state=st`)
    expect(await isSignedIn(alice)).toBe(false)
  })

  it('oidcc-rp-initiated-logout-bad-post-logout-redirect-uri', async () => {
    const { alice, hint } = await signIn()
    const bad = `${after}/bad`
    const query = { id_token_hint: hint, post_logout_redirect_uri: bad, state: 'st' }
    await isErrorPage(alice, await logout(alice, query))
  })

  it('oidcc-rp-initiated-logout-modified-id-token-hint', async () => {
    const { alice, hint } = await signIn()
    const [header, , signature] = hint.split('.')
    const claims = { ...claimsOf(hint), sub: 'somebody else' }
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
    const modified = [header, payload, signature].join('.')
    const query = { id_token_hint: modified, post_logout_redirect_uri: after, state: 'st' }
    await isErrorPage(alice, await logout(alice, query))
  })

  it('oidcc-rp-initiated-logout-bad-id-token-hint', async () => {
    const { alice } = await signIn()
    const query = { id_token_hint: 'bad', post_logout_redirect_uri: after, state: 'st' }
    await isErrorPage(alice, await logout(alice, query))
  })

  it('oidcc-rp-initiated-logout-no-id-token-hint', async () => {
    const { alice } = await signIn()
    await isErrorPage(alice, await logout(alice, { post_logout_redirect_uri: after, state: 'st' }))
  })

  it('oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri', async () => {
    const { alice, hint } = await signIn()
    const query = { id_token_hint: hint, post_logout_redirect_uri: `${after}?foo=bar`, state: 'st' }
    await isErrorPage(alice, await logout(alice, query))
  })

  it.each([
    ['oidcc-rp-initiated-logout-no-params', {}],
    ['oidcc-rp-initiated-logout-only-state', { state: 'st' }],
  ])('%s', async (_name, query) => {
    const { alice } = await signIn()
    const question = await logout(alice, query)
    expect([question.status, question.away]).toEqual([200, undefined])
    expect(await isSignedIn(alice)).toBe(true)
    const done = await alice.submit(question, {})
    expect([done.status, done.away]).toEqual([200, undefined])
    expect(await isSignedIn(alice)).toBe(false)
  })

  it('oidcc-rp-initiated-logout-no-post-logout-redirect-uri', async () => {
    const { alice, hint } = await signIn()
    const page = await logout(alice, { id_token_hint: hint, state: 'st' })
    expect([page.status, page.away]).toEqual([200, undefined])
    expect(await isSignedIn(alice)).toBe(false)
  })

  it('oidcc-rp-initiated-logout-no-state', async () => {
    const { alice, hint } = await signIn()
    const query = { id_token_hint: hint, post_logout_redirect_uri: after }
    expect((await logout(alice, query)).away).toBe(after)
    expect(await isSignedIn(alice)).toBe(false)
  })

  it('oidcc-backchannel-rp-initiated-logout', async () => {
    const { alice, hint } = await signIn(back)
    const { sub, sid } = claimsOf(hint)
    const query = { id_token_hint: hint, post_logout_redirect_uri: after }
    expect((await logout(alice, query)).away).toBe(after)
    await runJobs(site.server.areas.jobs, logoutJobs(site.server.areas))
    expect(peer.tokens).toHaveLength(1)
    const keys = createLocalJWKSet((await site.get('/.well-known/jwks.json')).body)
    const { payload, protectedHeader } = await jwtVerify(peer.tokens[0] ?? '', keys, {
      issuer: site.issuer,
      audience: 'back',
      typ: 'logout+jwt',
      requiredClaims: ['iat', 'exp', 'jti'],
    })
    expect(protectedHeader.alg).toBe('RS256')
    expect(payload).toMatchObject({
      sub,
      sid,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })
    expect(payload).not.toHaveProperty('nonce')
    expect(peer.types[0]).toContain('application/x-www-form-urlencoded')
  })

  it('oidcc-frontchannel-rp-initiated-logout', async () => {
    const { alice, hint } = await signIn(front)
    const query = { id_token_hint: hint, post_logout_redirect_uri: after, state: 'st' }
    const page = await logout(alice, query)
    const [, src = ''] = /<iframe src="([^"]*)"/.exec(page.body) ?? []
    const frame = new URL(src.replaceAll('&amp;', '&'))
    expect(`${frame.origin}${frame.pathname}`).toBe('https://app.example/frontchannel_logout')
    const { sid } = claimsOf(hint)
    expect(Object.fromEntries(frame.searchParams)).toEqual({ iss: site.issuer, sid })
    expect(page.headers.get('refresh')).toContain(`url=${after}?state=st`)
    expect(await isSignedIn(alice)).toBe(false)
  })
})
