/**
 * OpenID Connect as the relying party (OIDC Core §3.1), and OAuth 2.0 of vendors without ID tokens: code flow with state, nonce
 * and PKCE; answers are checked as RFC 9700 and RFC 9207 ask for. Every request goes through the guarded client.
 */

import type { RemoteKeys } from '#server/keys/remote/remote-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { constantTimeEqual, randomToken } from '#server/platform/random.ts'
import {
  type Arrival,
  type BrokerProtocol,
  type Provider,
  type RefusalCause,
  type Trip,
  type UpstreamIdentity,
  UpstreamRefused,
} from '../../protocol.ts'
import { createAsk } from './answers.ts'
import { createCheck } from './check.ts'
import { flatClaims, joinedClaims, textOf } from './claims.ts'
import { createClientProof, type SignForRealm } from './client-authentication.ts'
import { createExchange, type Tokens } from './exchange.ts'
import { createSignedClaims } from './id-token.ts'
import { pkceChallenge } from './pkce.ts'
import { createUpstreams, type Upstream } from './upstream.ts'
import { createUserInfo } from './user-info.ts'
import type { Claims, Vendor } from './vendor.ts'
import { vendors } from './vendors/index.ts'

export interface OidcParts {
  readonly outgoing: Pick<Outgoing, 'request' | 'resolve'>
  readonly clock: Clock
  readonly remoteKeys: RemoteKeys
  readonly signForRealm: SignForRealm
}

/** What a trip keeps between its two ends. */
interface Kept {
  readonly nonce: string
  readonly verifier?: string | undefined
  /** The issuer that the browser was sent to (RFC 9207 §2.4). */
  readonly issuer: string
}

const byName = new Map(vendors.map((vendor) => [vendor.name, vendor]))

const vendorOf = ({ protocol }: Provider): Vendor => {
  const vendor = byName.get(protocol)
  if (!vendor) throw new TypeError(`${protocol} is no vendor of OpenID Connect`)
  return vendor
}

/** What an error of the authorization endpoint means (RFC 6749 §4.1.2.1; Apple and LinkedIn have words of their own). */
const causes: ReadonlyMap<string, RefusalCause> = new Map([
  ['access_denied', 'denied'],
  ['user_cancelled_authorize', 'denied'],
  ['user_cancelled_login', 'denied'],
  ['server_error', 'unavailable'],
  ['temporarily_unavailable', 'unavailable'],
])

const wrong = (message: string): UpstreamRefused => new UpstreamRefused('invalid-answer', message)

const strings = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined

export const createOidc = ({
  outgoing,
  clock,
  remoteKeys,
  signForRealm,
}: OidcParts): BrokerProtocol => {
  const ask = createAsk(outgoing)
  const upstreams = createUpstreams({ ask, clock })
  const signedClaims = createSignedClaims({ clock, remoteKeys })
  const userInfo = createUserInfo({ ask, signedClaims })
  const exchange = createExchange({
    ask,
    clock,
    clientProof: createClientProof({ clock, signForRealm }),
  })

  const parameterOf = (vendor: Vendor, arrival: Arrival, name: string): string | undefined =>
    vendor.responseMode === 'form_post' ? arrival.form(name) : arrival.query(name)

  /** The code of an answer that is of the provider that the browser was sent to. */
  const codeOf = (trip: Trip, kept: Kept, upstream: Upstream, arrival: Arrival): string => {
    const vendor = vendorOf(trip.provider)
    const read = (name: string) => parameterOf(vendor, arrival, name)
    const issuer = read('iss')
    const isTemplate = vendor.issuerClaim && kept.issuer.includes(vendor.issuerClaim.template)
    // RFC 9207 §2.4: missing where it was promised, or of another issuer, is a mix-up.
    if (issuer === undefined ? upstream.namesIssuer : !isTemplate && issuer !== kept.issuer)
      throw wrong('the answer is of another issuer')
    const error = read('error')
    if (error !== undefined)
      throw new UpstreamRefused(
        causes.get(error) ?? 'invalid-answer',
        `the provider refuses: ${/^[\w.-]{1,60}$/.test(error) ? error : 'error'}`,
      )
    const code = read('code')
    if (code === undefined) throw wrong('the answer has no code')
    return code
  }

  const claimsOf = async (
    trip: Trip,
    kept: Kept,
    upstream: Upstream,
    tokens: Tokens,
    arrival: Arrival,
  ): Promise<Claims> => {
    const { provider } = trip
    const vendor = vendorOf(provider)
    const { accessToken, idToken } = tokens
    if (vendor.hasIdTokens && idToken === undefined)
      throw wrong('the token response has no ID token')
    const signed: Claims =
      idToken === undefined || !vendor.hasIdTokens
        ? {}
        : await signedClaims.idToken(provider, vendor, upstream, idToken, {
            nonce: kept.nonce,
            accessToken,
            authenticatedSince: trip.forceAuthn ? trip.begunAt : undefined,
            needsProof: trip.needsProof,
          })
    const subject = textOf(signed['sub'])
    const told = await userInfo(provider, vendor, upstream, { accessToken, subject })
    return joinedClaims({ ...vendor.answerClaims?.(arrival), ...told }, signed)
  }

  const identityOf = (
    provider: Provider,
    upstream: Upstream,
    claims: Claims,
    tokens: Tokens,
  ): UpstreamIdentity => {
    const vendor = vendorOf(provider)
    const refusal = vendor.refusal?.(claims, provider)
    if (refusal !== undefined) throw new UpstreamRefused('not-allowed', refusal)
    const { subject, ...person } = vendor.personOf(claims, provider)
    if (subject === undefined || subject.length > 255) throw wrong('the provider names no subject')
    return {
      issuer: textOf(claims['iss']) ?? upstream.issuer,
      subject,
      ...person,
      attributes: flatClaims(claims),
      amr: strings(claims['amr']),
      acr: textOf(claims['acr']),
      authTime: typeof claims['auth_time'] === 'number' ? claims['auth_time'] : undefined,
      session: {
        id: textOf(claims['sid']),
        idToken: tokens.idToken,
        subject: textOf(claims['sub']),
      },
      tokens,
    }
  }

  return {
    names: vendors.map(({ name }) => name),

    begin: async (trip) => {
      const { provider, endpoint, state } = trip
      const { config } = provider
      const vendor = vendorOf(provider)
      if (trip.needsProof && vendor.returnsAuthTime === 'never')
        throw new UpstreamRefused(
          'not-fresh',
          `${vendor.name} does not tell when a person has signed in: it cannot prove a fresh sign-in`,
        )
      const upstream = await upstreams.of(provider, vendor)
      const verifier = (config.pkceEnabled ?? vendor.pkce) ? randomToken() : undefined
      const kept: Kept = { nonce: randomToken(), verifier, issuer: upstream.issuer }
      const url = new URL(upstream.authorizationUrl)
      const parameters: Readonly<Record<string, string | undefined>> = {
        response_type: 'code',
        client_id: config.clientId ?? '',
        redirect_uri: endpoint,
        scope: config.defaultScope ?? vendor.preset.defaultScope,
        state,
        nonce: vendor.hasIdTokens ? kept.nonce : undefined,
        code_challenge: verifier === undefined ? undefined : pkceChallenge(verifier),
        code_challenge_method: verifier === undefined ? undefined : 'S256',
        response_mode: vendor.responseMode,
        prompt: config.prompt,
        login_hint: trip.loginHint,
        acr_values: trip.acr?.join(' '),
        ui_locales: trip.locales,
        ...vendor.parameters?.(provider),
        ...(trip.forceAuthn ? vendor.freshParameters : {}),
      }
      for (const [name, value] of Object.entries(parameters))
        if (value !== undefined && value !== '') url.searchParams.set(name, value)
      return { departure: { kind: 'redirect', url: url.href }, kept }
    },

    stateOf: (arrival) =>
      arrival.method === 'POST' ? arrival.form('state') : arrival.query('state'),

    finish: async (trip, stored, arrival) => {
      const { provider } = trip
      const vendor = vendorOf(provider)
      const kept = stored as Kept
      const upstream = await upstreams.of(provider, vendor)
      if (!constantTimeEqual(upstream.issuer, kept.issuer))
        throw wrong('the issuer of the provider has changed')
      const tokens = await exchange(provider, vendor, upstream, {
        grant_type: 'authorization_code',
        code: codeOf(trip, kept, upstream, arrival),
        redirect_uri: trip.endpoint,
        ...(kept.verifier === undefined ? {} : { code_verifier: kept.verifier }),
      })
      return identityOf(
        provider,
        upstream,
        await claimsOf(trip, kept, upstream, tokens, arrival),
        tokens,
      )
    },

    idJag: async (provider, token, audience) => {
      const vendor = vendorOf(provider)
      const upstream = await upstreams.of(provider, vendor)
      return signedClaims.idJag(provider, vendor, upstream, token, audience)
    },

    refresh: async (provider, { refreshToken, givenBy }) => {
      if (refreshToken === undefined)
        throw new UpstreamRefused('denied', 'there is no refresh token')
      const vendor = vendorOf(provider)
      const upstream = await upstreams.of(provider, vendor)
      // A refresh token opens the account of the person there: an administrator who changes the provider must not get it.
      if (givenBy !== new URL(upstream.tokenUrl).origin)
        throw new UpstreamRefused('denied', 'the refresh token is of another token endpoint')
      const grant = { grant_type: 'refresh_token', refresh_token: refreshToken }
      const tokens = await exchange(provider, vendor, upstream, grant)
      // A provider that does not rotate sends none (RFC 6749 §6). An ID token would have to be verified first.
      const { idToken: _, ...others } = tokens
      return { ...others, refreshToken: tokens.refreshToken ?? refreshToken }
    },

    logout: async (provider, { idToken }, back) => {
      const { logoutUrl } = await upstreams.of(provider, vendorOf(provider))
      if (logoutUrl === undefined || idToken === undefined) return undefined
      const url = new URL(logoutUrl)
      url.searchParams.set('id_token_hint', idToken)
      url.searchParams.set('client_id', provider.config.clientId ?? '')
      url.searchParams.set('post_logout_redirect_uri', back.url)
      url.searchParams.set('state', back.state)
      return { kind: 'browser', departure: { kind: 'redirect', url: url.href }, kept: null }
    },

    logoutAnswer: ({ method, query }) => (method === 'GET' ? { state: query('state') } : undefined),

    endSession: async (provider, arrival) => {
      const vendor = vendorOf(provider)
      const token = arrival.form('logout_token')
      if (token === undefined || !vendor.hasIdTokens) throw wrong('there is no logout token')
      const upstream = await upstreams.of(provider, vendor)
      const claims = await signedClaims.logoutToken(provider, vendor, upstream, token)
      return {
        issuer: claims.iss ?? upstream.issuer,
        subject: textOf(claims.sub),
        session: textOf(claims['sid']),
        replay: { id: claims.jti ?? '', until: (Number(claims.iat) + 600) * 1000 },
      }
    },

    check: createCheck({ upstreams, ask, exchange, vendorOf, outgoing, clock }),
  }
}
