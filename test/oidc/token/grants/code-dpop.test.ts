/** Codes that are bound to a key (RFC 9449 §10), with `openid-client` as the client. */

import * as client from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer } from '../../fixture.ts'
import {
  addPerson,
  authorizeUrl,
  newPerson,
  type Person,
  redirectUri,
} from '../../relying-party.ts'

describe.each(backends)('codes that are bound to a key, on $name', (backend) => {
  let site: OidcSite
  let alice: Person

  beforeAll(async () => {
    site = await openIssuer(backend)
    const common = {
      grantTypes: ['authorization_code', 'refresh_token'] as 'authorization_code'[],
      redirectUris: [redirectUri],
      dpopBoundAccessTokens: true,
    }
    const web = await site.client({ clientId: 'web', ...common })
    await site.client({ clientId: 'spa', publicClient: true, ...common })
    await addPerson(site, 'alice')
    alice = newPerson(site)
    await alice.signIn(authorizeUrl(site, web))
    secrets.set('web', web.secret)
  }, 60_000)
  afterAll(() => site.close())

  const secrets = new Map<string, string>()

  /** A client with a key of its own, and a way to its next code. */
  const open = async (clientId: string) => {
    const secret = secrets.get(clientId)
    const auth = secret === undefined ? client.None() : client.ClientSecretPost(secret)
    const config = await client.discovery(new URL(site.issuer), clientId, {}, auth, {
      execute: [client.allowInsecureRequests],
    })
    const verifier = client.randomPKCECodeVerifier()
    const parameters = {
      redirect_uri: redirectUri,
      scope: 'openid',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }
    const newKey = async () => client.getDPoPHandle(config, await client.randomDPoPKeyPair())
    const visit = async (url: URL): Promise<URL> => new URL((await alice.open(url.href)).away ?? '')
    const exchange = (answer: URL, DPoP: client.DPoPHandle) =>
      client.authorizationCodeGrant(config, answer, { pkceCodeVerifier: verifier }, undefined, {
        DPoP,
      })
    return { config, parameters, newKey, visit, exchange }
  }

  it('by dpop_jkt are exchanged with a proof of that key and of no other', async () => {
    const { config, parameters, newKey, visit, exchange } = await open('web')
    const [mine, other] = [await newKey(), await newKey()]
    const dpop_jkt = await mine.calculateThumbprint()
    const url = client.buildAuthorizationUrl(config, { ...parameters, dpop_jkt })
    const answer = await visit(url)
    await expect(exchange(answer, other)).rejects.toMatchObject({ error: 'invalid_grant' })
    const tokens = await exchange(answer, mine)
    expect(tokens.token_type).toBe('dpop')
    expect(claimsOf(tokens.access_token)['cnf']).toEqual({ jkt: dpop_jkt })
  })

  it('by the proof of a pushed request are exchanged with a proof of that key and of no other', async () => {
    const { config, parameters, newKey, visit, exchange } = await open('web')
    const [mine, other] = [await newKey(), await newKey()]
    const url = await client.buildAuthorizationUrlWithPAR(config, parameters, { DPoP: mine })
    const answer = await visit(url)
    await expect(exchange(answer, other)).rejects.toMatchObject({ error: 'invalid_grant' })
    await exchange(answer, mine)
  })

  it('cannot be pushed with the proof of one key and the thumbprint of another', async () => {
    const { config, parameters, newKey } = await open('web')
    const [mine, other] = [await newKey(), await newKey()]
    const mixed = { ...parameters, dpop_jkt: await other.calculateThumbprint() }
    await expect(
      client.buildAuthorizationUrlWithPAR(config, mixed, { DPoP: mine }),
    ).rejects.toMatchObject({ error: 'invalid_dpop_proof' })
  })

  it.each([
    ['bind the refresh tokens of a public client to the key', 'spa', false],
    ['let a confidential client change its key (§5)', 'web', true],
  ])('%s', async (_name, clientId, changes) => {
    const { config, parameters, newKey, visit, exchange } = await open(clientId)
    const [mine, other] = [await newKey(), await newKey()]
    const answer = await visit(client.buildAuthorizationUrl(config, parameters))
    const { refresh_token = '' } = await exchange(answer, mine)
    const refreshed = client.refreshTokenGrant(config, refresh_token, undefined, { DPoP: other })
    if (changes) expect((await refreshed).token_type).toBe('dpop')
    else await expect(refreshed).rejects.toMatchObject({ error: 'invalid_grant' })
  })
})
