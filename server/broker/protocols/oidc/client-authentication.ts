/**
 * How we prove to a provider which client we are (OIDC Core §9). Assertions name the token endpoint and the issuer as audience.
 * `private_key_jwt` signs with the key of the realm, whose JWK set the provider reads at our `jwks_uri`.
 */

import { createPrivateKey } from 'node:crypto'
import { SignJWT } from 'jose'
import type { Clock } from '#server/platform/clock.ts'
import { randomToken } from '#server/platform/random.ts'
import { type Provider, UpstreamRefused } from '../../protocol.ts'
import type { Upstream } from './upstream.ts'
import type { Vendor } from './vendor.ts'

/** Signs claims with the active key of the realm. */
export type SignForRealm = (
  realm: string,
  claims: Readonly<Record<string, unknown>>,
) => Promise<string>

export interface ClientProof {
  readonly headers: Readonly<Record<string, string>>
  readonly fields: Readonly<Record<string, string>>
}

type Method = NonNullable<Provider['config']['clientAuthMethod']>

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const assertionSeconds = 60
/** Apple takes a secret of up to six months; a minute is enough for one request. */
const appleAudience = 'https://appleid.apple.com'

const methodOf = ({ config }: Provider, { preset }: Vendor, { authMethods }: Upstream): Method => {
  if (config.clientAuthMethod !== undefined) return config.clientAuthMethod
  if (preset.clientAuthMethod !== undefined) return preset.clientAuthMethod
  const isPostOnly =
    authMethods?.includes('client_secret_post') && !authMethods.includes('client_secret_basic')
  return isPostOnly ? 'client_secret_post' : 'client_secret_basic'
}

/** Both parts are form-encoded before they are joined (RFC 6749 §2.3.1). */
const encoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)

export const createClientProof = ({
  clock,
  signForRealm,
}: {
  readonly clock: Clock
  readonly signForRealm: SignForRealm
}) => {
  const claimsOf = ({ config }: Provider, audience: string) => {
    const now = Math.floor(clock.now() / 1000)
    return {
      iss: config.clientId ?? '',
      sub: config.clientId ?? '',
      aud: audience,
      jti: randomToken(16),
      iat: now,
      exp: now + assertionSeconds,
    }
  }

  /** The secret of Sign in with Apple: a JWT, signed with the key that `clientSecret` holds as PKCS #8. */
  const appleSecret = async ({ config }: Provider): Promise<string> => {
    const now = Math.floor(clock.now() / 1000)
    return new SignJWT({
      iss: config.teamId ?? '',
      sub: config.clientId ?? '',
      aud: appleAudience,
      iat: now,
      exp: now + assertionSeconds,
    })
      .setProtectedHeader({ alg: 'ES256', kid: config.keyId ?? '' })
      .sign(createPrivateKey(config.clientSecret ?? ''))
  }

  return async (provider: Provider, vendor: Vendor, upstream: Upstream): Promise<ClientProof> => {
    const { config, realm } = provider
    const { clientId = '' } = config
    const method = methodOf(provider, vendor, upstream)
    const assertion = (token: string): ClientProof => ({
      headers: {},
      fields: {
        client_id: clientId,
        client_assertion_type: assertionType,
        client_assertion: token,
      },
    })
    if (method === 'private_key_jwt')
      return assertion(await signForRealm(realm, claimsOf(provider, upstream.tokenUrl)))
    if (config.teamId !== undefined)
      return {
        headers: {},
        fields: { client_id: clientId, client_secret: await appleSecret(provider) },
      }
    const secret = config.clientSecret
    // A public client is identified by its name alone; PKCE protects its codes.
    if (secret === undefined) return { headers: {}, fields: { client_id: clientId } }
    if (method === 'client_secret_post')
      return { headers: {}, fields: { client_id: clientId, client_secret: secret } }
    if (method === 'client_secret_basic') {
      const pair = `${encoded(clientId)}:${encoded(secret)}`
      return {
        headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
        fields: {},
      }
    }
    if (method === 'client_secret_jwt')
      return assertion(
        await new SignJWT(claimsOf(provider, upstream.tokenUrl))
          .setProtectedHeader({ alg: 'HS256' })
          .sign(Buffer.from(secret)),
      )
    throw new UpstreamRefused('unavailable', `the client authentication ${method} is not known`)
  }
}

export type ClientProofOf = ReturnType<typeof createClientProof>
