/**
 * What the modules of the FAPI 2 security profile start from: an issuer with two clients that push their requests,
 * sign what they are (private_key_jwt) and prove a key (DPoP), and a user who is signed in.
 */

import { createHash } from 'node:crypto'
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  type JWK,
  SignJWT,
} from 'jose'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Backend } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type Reply } from '../fixture.ts'
import {
  addPerson,
  answerOf,
  newPerson,
  newVerifier,
  type Page,
  type Person,
  password,
  redirectUri,
} from '../relying-party.ts'

export interface Key {
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
  readonly jkt: string
}

export interface FapiClient {
  readonly clientId: string
  /** What it signs assertions with. */
  readonly key: Key
}

/** A field that is undefined is left out. */
export type Some = Readonly<Record<string, string | undefined>>
type Claims = Readonly<Record<string, unknown>>

export interface Sending {
  readonly by?: FapiClient
  /** The client assertion, where it is not a good one. */
  readonly assertion?: string | undefined
  /** The key to prove; without one there is no proof. */
  readonly key?: Key | undefined
  /** Claims of the proof. */
  readonly proof?: Claims
  readonly proofHeader?: Claims
}

export interface Fapi {
  readonly site: OidcSite
  readonly client: FapiClient
  readonly client2: FapiClient
  /** The key that tokens are bound to, unless a test takes another. */
  readonly key: Key
  readonly alice: Person
  readonly verifier: string
  readonly challenge: string
  assertion(claims?: Claims, header?: Claims, by?: FapiClient): Promise<string>
  proof(key: Key, claims: Claims, header?: Claims): Promise<string>
  /** As the client, with an assertion and the nonce that the server wants. */
  send(path: string, fields: Some, sending?: Sending): Promise<Reply>
  push(asked?: Some, sending?: Sending): Promise<Reply>
  /** The address for a request that was pushed. */
  url(requestUri: string, of?: FapiClient): string
  /** Pushes, opens, and reads the answer. */
  authorize(asked?: Some, sending?: Sending): Promise<Record<string, string>>
  exchange(code: string | undefined, fields?: Some, sending?: Sending): Promise<Reply>
  userinfo(token: string, sending?: Sending & { readonly scheme?: string }): Promise<Reply>
  close(): Promise<void>
}

export const makeKey = async (alg = 'ES256'): Promise<Key> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return { alg, privateKey, jwk, jkt: await calculateJwkThumbprint(jwk) }
}

/** That resources are asked with. */
export const interactionId = 'c4405450-febe-11e8-80a5-0fcebb157400'

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const addClient = async (
  site: OidcSite,
  clientId: string,
  profile: ClientDoc['profile'],
): Promise<FapiClient> => {
  const key = await makeKey('PS256')
  await site.client({
    clientId,
    grantTypes: ['authorization_code', 'refresh_token'],
    redirectUris: [redirectUri],
    scopes: ['profile', 'email'],
    tokenEndpointAuthMethod: 'private_key_jwt',
    jwks: { keys: [{ ...key.jwk, kid: clientId, alg: 'PS256', use: 'sig' }] },
    profile,
  })
  return { clientId, key }
}

const present = (fields: Some): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

export const openFapi = async (
  backend: Backend,
  clock: Clock,
  profile: ClientDoc['profile'] = 'fapi-2-security',
  env: Readonly<Record<string, string>> = {},
): Promise<Fapi> => {
  const site = await openIssuer(backend, { clock, env })
  const client = await addClient(site, 'client', profile)
  const client2 = await addClient(site, 'client2', profile)
  const key = await makeKey()
  await addPerson(site, 'alice')
  const alice = newPerson(site)
  await alice.submit(await alice.open(`${site.issuer}/login`), { username: 'alice', password })
  const { verifier, challenge } = newVerifier()
  const seconds = (): number => Math.floor(clock.now() / 1000)

  const assertion: Fapi['assertion'] = (claims = {}, header = {}, { clientId, key } = client) =>
    new SignJWT({
      iss: clientId,
      sub: clientId,
      aud: site.issuer,
      jti: newId(),
      iat: seconds(),
      exp: seconds() + 60,
      ...claims,
    })
      .setProtectedHeader({ alg: key.alg, kid: clientId, ...header })
      .sign(key.privateKey)

  const proof: Fapi['proof'] = ({ alg, jwk, privateKey }, claims, header = {}) =>
    new SignJWT({ jti: newId(), iat: seconds(), ...claims })
      .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk, ...header })
      .sign(privateKey)

  const send: Fapi['send'] = async (path, fields, sending = {}) => {
    const { by = client, proof: claims, proofHeader } = sending
    // As the suite, and most clients: the repetition with the nonce has a new proof and the same assertion.
    const client_assertion =
      'assertion' in sending ? sending.assertion : await assertion({}, {}, by)
    const attempt = async (nonce?: string): Promise<Reply> => {
      const headers: Record<string, string> = {}
      const about = { htm: 'POST', htu: `${site.issuer}${path}`, nonce, ...claims }
      if (sending.key) headers['dpop'] = await proof(sending.key, about, proofHeader)
      const authenticated = { client_assertion_type: assertionType, client_assertion }
      return site.post(path, present({ ...authenticated, ...fields }), headers)
    }
    const first = await attempt()
    const nonce = first.headers.get('dpop-nonce')
    return first.body.error === 'use_dpop_nonce' && nonce ? attempt(nonce) : first
  }

  const push: Fapi['push'] = (asked = {}, sending = {}) =>
    send(
      '/par',
      {
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: 'openid',
        state: 'a state',
        nonce: 'a nonce',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...asked,
      },
      sending,
    )

  const url: Fapi['url'] = (request_uri, { clientId } = client) =>
    `${site.issuer}/authorize?${new URLSearchParams({ client_id: clientId, request_uri })}`

  return {
    site,
    client,
    client2,
    key,
    alice,
    verifier,
    challenge,
    assertion,
    proof,
    send,
    push,
    url,
    authorize: async (asked, sending) => {
      const { status, body } = await push(asked, sending)
      if (status !== 201) throw new Error(JSON.stringify(body))
      const page: Page = await alice.open(url(body.request_uri, sending?.by))
      return answerOf(page)
    },
    exchange: (code, fields = {}, sending = {}) =>
      send(
        '/token',
        {
          grant_type: 'authorization_code',
          code,
          redirect_uri: redirectUri,
          code_verifier: verifier,
          ...fields,
        },
        { key, ...sending },
      ),
    userinfo: async (
      token,
      { scheme = 'DPoP', key: by = key, proof: claims, proofHeader } = {},
    ) => {
      const ath = createHash('sha256').update(token).digest('base64url')
      const about = { htm: 'GET', htu: `${site.issuer}/userinfo`, ath, ...claims }
      const dpop = await proof(by, about, proofHeader)
      return site.get('/userinfo', {
        authorization: `${scheme} ${token}`,
        dpop,
        'x-fapi-interaction-id': interactionId,
      })
    },
    close: () => site.close(),
  }
}
