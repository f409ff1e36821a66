/**
 * Refresh tokens in the form of Keycloak's, for realms with `keycloakPaths`. Its adapters decode a refresh token, and sign the
 * user out unless they find `exp`. The last of the three parts is our refresh token and all that counts; the server reads
 * nothing of the others, which are not signed.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { Issuer } from '../issuers.ts'

export interface IssuedRefreshToken {
  readonly refreshToken: string
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const header = encode({ typ: 'JWT' })

/** Our refresh token, whatever its form. */
export const bareRefreshToken = (token: string): string => {
  const parts = token.split('.')
  return parts.length === 3 ? (parts[2] ?? '') : token
}

/** The members of a token response (RFC 6749 §5.1). */
export const refreshMembers = (
  { url, settings }: Issuer,
  { refreshToken, expiresAt }: IssuedRefreshToken,
  clock: Clock,
): Readonly<Record<string, unknown>> => {
  if (!settings.keycloakPaths) return { refresh_token: refreshToken }
  const iat = Math.floor(clock.now() / 1000)
  const exp = Math.floor(expiresAt / 1000)
  const told = encode({ typ: 'Refresh', iss: url, iat, exp })
  return { refresh_token: `${header}.${told}.${refreshToken}`, refresh_expires_in: exp - iat }
}
