/** Token exchange of DPoP-bound tokens (RFC 9449 §5): no exchange makes an unbound token of a bound one. */

import { calculateJwkThumbprint, exportJWK } from 'jose'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../../fixture.ts'

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
const accessType = 'urn:ietf:params:oauth:token-type:access_token'
type KeyPair = Awaited<ReturnType<typeof openid.randomDPoPKeyPair>>

describe.each(backends)('exchange of bound tokens on $name', (backend) => {
  let site: OidcSite
  let app: TestClient
  let service: TestClient
  let keyOfApp: KeyPair
  let keyOfService: KeyPair
  let bound: string

  beforeAll(async () => {
    site = await openIssuer(backend)
    const grantTypes = ['client_credentials' as const, 'token-exchange' as const]
    const serviceAccountsEnabled = true
    app = await site.client({
      clientId: 'app',
      grantTypes,
      serviceAccountsEnabled,
      audiences: ['service'],
    })
    service = await site.client({ clientId: 'service', grantTypes, serviceAccountsEnabled })
    keyOfApp = await openid.randomDPoPKeyPair()
    keyOfService = await openid.randomDPoPKeyPair()
    bound = await tokenOf(app, keyOfApp)
  })
  afterAll(() => site.close())

  const configOf = ({ clientId, secret }: TestClient) =>
    openid.discovery(new URL(site.issuer), clientId, undefined, openid.ClientSecretPost(secret), {
      execute: [openid.allowInsecureRequests],
    })
  const tokenOf = async (client: TestClient, pair: KeyPair): Promise<string> => {
    const config = await configOf(client)
    const DPoP = openid.getDPoPHandle(config, pair)
    return (await openid.clientCredentialsGrant(config, {}, { DPoP })).access_token
  }
  const thumbprintOf = async ({ publicKey }: KeyPair) =>
    calculateJwkThumbprint(await exportJWK(publicKey))

  /** What the key of the new token is, or the error. */
  const exchanged = async (
    client: TestClient,
    pair?: KeyPair,
    more: Record<string, string> = {},
  ): Promise<unknown> => {
    const config = await configOf(client)
    const asked = { subject_token: bound, subject_token_type: accessType, ...more }
    const options = pair ? { DPoP: openid.getDPoPHandle(config, pair) } : {}
    try {
      const tokens = await openid.genericGrantRequest(config, grantType, asked, options)
      return claimsOf(tokens.access_token)['cnf']
    } catch (error) {
      return (error as { error?: string }).error
    }
  }

  it('takes the key of the token from the client that it was issued to', async () => {
    expect(await exchanged(app)).toBe('invalid_request')
    expect(await exchanged(app, keyOfService)).toBe('invalid_request')
    expect(await exchanged(app, keyOfApp)).toEqual({ jkt: await thumbprintOf(keyOfApp) })
  })

  it('takes a key of its own from a service that received the token, and binds the new token to it', async () => {
    expect(await exchanged(service)).toBe('invalid_request')
    expect(await exchanged(service, keyOfService)).toEqual({
      jkt: await thumbprintOf(keyOfService),
    })
  })

  it('takes the key of a bound actor_token too', async () => {
    const actor = {
      subject_token: await site.token(app),
      actor_token: await tokenOf(service, keyOfService),
      actor_token_type: accessType,
    }
    expect(await exchanged(service, undefined, actor)).toBe('invalid_request')
    expect(await exchanged(service, keyOfApp, actor)).toBe('invalid_request')
    expect(await exchanged(service, keyOfService, actor)).toEqual({
      jkt: await thumbprintOf(keyOfService),
    })
  })
})
