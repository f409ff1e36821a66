/**
 * Validation of what a provider signs (OIDC Core §3.1.3.7): the algorithm comes from a list, never from the token alone; keys
 * come from the provider's JWK set, or are the client secret where `useJwksUrl` is off, never both.
 */

import { createHash, createSecretKey } from 'node:crypto'
import { decodeJwt, errors, type JWTPayload } from 'jose'
import type { RemoteKeys } from '#server/keys/remote/remote-keys.ts'
import { typeOf, type VerifyJwt, verifyWith } from '#server/keys/remote/verify-jwt.ts'
import type { Clock } from '#server/platform/clock.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { constantTimeEqual } from '#server/platform/random.ts'
import { type Provider, UpstreamRefused } from '../../protocol.ts'
import { textOf } from './claims.ts'
import type { Upstream } from './upstream.ts'
import type { Vendor } from './vendor.ts'

/** With keys of the provider: asymmetric, and never `none`. */
const asymmetric = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
/** With the client secret. */
const symmetric = ['HS256', 'HS384', 'HS512']

/** Seconds that the clock of a provider may differ from ours. */
const tolerance = 60
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
/** Seconds for which a logout token is accepted after it was made (Back-Channel Logout §2.6). */
const logoutAge = 300

const wrong = (message: string): UpstreamRefused => new UpstreamRefused('invalid-answer', message)

const digests: Readonly<Record<string, string>> = {
  '256': 'sha256',
  '384': 'sha384',
  '512': 'sha512',
}

/** OIDC Core §3.1.3.6; Ed25519 hashes with SHA-512. */
const halfHash = (alg: string, value: string): string => {
  const digest = createHash(digests[alg.slice(-3)] ?? 'sha512')
    .update(value)
    .digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

/** What stands in an issuer for the place that its template has. */
const tenantIn = (issuer: string, template: string, value: string | undefined) => {
  const [before = '', after = ''] = issuer.split(template)
  return value?.startsWith(before) && value.endsWith(after)
    ? value.slice(before.length, value.length - after.length)
    : undefined
}

/**
 * The issuer of a multi-tenant vendor has a place for the tenant, which a claim of the token fills. A logout token need not
 * have the claim: it ends sessions of its own issuer alone.
 */
const expectedIssuer = (
  { issuer }: Upstream,
  { issuerClaim }: Vendor,
  claims: JWTPayload,
): string => {
  if (!issuerClaim || !issuer.includes(issuerClaim.template)) return issuer
  const { template, claim } = issuerClaim
  const value =
    textOf(claims[claim]) ??
    ('events' in claims ? tenantIn(issuer, template, claims.iss) : undefined)
  if (value === undefined || !/^[0-9a-zA-Z.-]{1,100}$/.test(value))
    throw wrong(`the token has no ${claim}`)
  return issuer.replace(template, value)
}

/**
 * `auth_time` proves a fresh sign-in. Some vendors do not send it: of theirs a new ID token, for our nonce where they return it, is
 * accepted where nothing but this server relies on it.
 */
const checkFresh = (
  { returnsAuthTime }: Vendor,
  { auth_time: at, iat }: JWTPayload,
  {
    authenticatedSince: since,
    needsProof = false,
  }: {
    readonly authenticatedSince?: number | undefined
    readonly needsProof?: boolean | undefined
  },
): void => {
  if (since === undefined) return
  const isUntold = at === undefined && returnsAuthTime !== 'always' && !needsProof
  if (!(Number(isUntold ? iat : at) >= since / 1000 - tolerance))
    throw new UpstreamRefused('not-fresh', 'the user did not sign in again there')
}

export const createSignedClaims = ({
  clock,
  remoteKeys,
}: {
  readonly clock: Clock
  readonly remoteKeys: RemoteKeys
}) => {
  /** The algorithms and the keys that go together. */
  const verifierOf = (
    { config }: Provider,
    { jwksUrl, algorithms }: Upstream,
  ): { readonly verify: VerifyJwt; readonly algorithms: readonly string[] } => {
    if (config.useJwksUrl === false) {
      const key = createSecretKey(Buffer.from(config.clientSecret ?? ''))
      return { algorithms: symmetric, verify: (token, options) => verifyWith(token, key, options) }
    }
    if (jwksUrl === undefined) throw new UpstreamRefused('unavailable', 'the provider has no keys')
    const listed = asymmetric.filter((one) => algorithms?.includes(one) ?? true)
    return { algorithms: listed.length > 0 ? listed : asymmetric, verify: remoteKeys(jwksUrl) }
  }

  /** Signature, issuer, audience and times. Throws `UpstreamRefused`. */
  const verify = async (
    provider: Provider,
    vendor: Vendor,
    upstream: Upstream,
    token: string,
    required: readonly string[],
    audience = provider.config.clientId ?? '',
  ): Promise<{ readonly claims: JWTPayload; readonly alg: string; readonly typ: unknown }> => {
    try {
      const checks = {
        issuer: expectedIssuer(upstream, vendor, decodeJwt(token)),
        audience,
        clockTolerance: tolerance,
        currentDate: new Date(clock.now()),
        requiredClaims: [...required],
      }
      const { verify: check, algorithms } = verifierOf(provider, upstream)
      const { payload, protectedHeader } = await check(token, {
        ...checks,
        algorithms: [...algorithms],
      })
      return { claims: payload, alg: protectedHeader.alg, typ: typeOf(protectedHeader) }
    } catch (error) {
      if (error instanceof OutgoingError)
        throw new UpstreamRefused('unavailable', `the keys of the provider: ${error.message}`)
      if (error instanceof errors.JWKSInvalid)
        throw new UpstreamRefused('unavailable', 'the keys of the provider cannot be read')
      if (error instanceof errors.JOSEError) throw wrong(`its token is refused: ${error.code}`)
      throw error
    }
  }

  return {
    idToken: async (
      provider: Provider,
      vendor: Vendor,
      upstream: Upstream,
      token: string,
      expected: {
        readonly nonce: string
        readonly accessToken: string
        /** The user had to prove who they are after this time, in epoch milliseconds. */
        readonly authenticatedSince?: number | undefined
        /** A new ID token is not enough. */
        readonly needsProof?: boolean | undefined
      },
    ): Promise<JWTPayload> => {
      const { claims, alg } = await verify(provider, vendor, upstream, token, ['exp', 'iat', 'sub'])
      const { clientId = '' } = provider.config
      const audiences = [claims.aud ?? []].flat()
      const azp = claims['azp']
      // §3.1.3.7 4. and 5.: a token for several parties names the one that asked.
      if (audiences.length > 1 && azp === undefined) throw wrong('the ID token has no azp')
      if (azp !== undefined && azp !== clientId) throw wrong('the ID token is for another party')
      const nonce = claims['nonce']
      if (nonce === undefined ? vendor.returnsNonce : nonce !== expected.nonce)
        throw wrong('the ID token has another nonce')
      const hash = claims['at_hash']
      if (
        hash !== undefined &&
        !constantTimeEqual(String(hash), halfHash(alg, expected.accessToken))
      )
        throw wrong('the ID token belongs to another access token')
      checkFresh(vendor, claims, expected)
      return claims
    },

    /** A signed userinfo response (OIDC Core §5.3.2). */
    userInfo: async (
      provider: Provider,
      vendor: Vendor,
      upstream: Upstream,
      token: string,
    ): Promise<JWTPayload> =>
      (await verify(provider, vendor, upstream, token, ['iss', 'aud'])).claims,

    /** An ID-JAG by its type, which no other JWT of the provider has (RFC 8725 §3.11). */
    idJag: async (
      provider: Provider,
      vendor: Vendor,
      upstream: Upstream,
      token: string,
      audience: string,
    ): Promise<JWTPayload> => {
      const required = ['sub', 'aud', 'exp', 'iat', 'jti', 'client_id']
      const { claims, typ } = await verify(provider, vendor, upstream, token, required, audience)
      if (typ !== 'oauth-id-jag+jwt') throw wrong('the JWT is no ID-JAG')
      return claims
    },

    /** OpenID Connect Back-Channel Logout §2.6. */
    logoutToken: async (
      provider: Provider,
      vendor: Vendor,
      upstream: Upstream,
      token: string,
    ): Promise<JWTPayload> => {
      const { claims, typ } = await verify(provider, vendor, upstream, token, [
        'iat',
        'jti',
        'events',
      ])
      const events = claims['events']
      const isLogout =
        typeof events === 'object' &&
        events !== null &&
        typeof (events as Record<string, unknown>)[logoutEvent] === 'object'
      if (!isLogout) throw wrong('the token is no logout token')
      if (typ !== undefined && typ !== 'logout+jwt' && typ !== 'jwt')
        throw wrong('the token is no logout token')
      // An ID token of the same provider must not pass for a logout token.
      if ('nonce' in claims) throw wrong('a logout token has no nonce')
      if (textOf(claims.jti) === undefined) throw wrong('the jti of the logout token is no text')
      if (textOf(claims['sid']) === undefined && textOf(claims.sub) === undefined)
        throw wrong('the logout token names no session')
      const age = clock.now() / 1000 - Number(claims.iat)
      if (!(age <= logoutAge && age >= -tolerance)) throw wrong('the logout token is too old')
      return claims
    },
  }
}

export type SignedClaims = ReturnType<typeof createSignedClaims>
