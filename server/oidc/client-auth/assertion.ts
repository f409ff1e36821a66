/**
 * Assertions by which clients authenticate (RFC 7523 §2.2, §3; OIDC Core §9): JWTs that a client makes about itself,
 * for this issuer alone, for five minutes at most, each good once. Clocks may differ by a minute.
 *
 * The audience is one string, the issuer; at the token endpoint its address is taken too, as clients of old send it.
 * A list is refused: an assertion that is also for somebody else could be passed on by them.
 */

import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import { ConstraintError } from '#server/storage/contract.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { clientSigningAlgorithms } from '../client-keys.ts'
import { invalidClient, invalidRequest } from '../errors.ts'
import type { Parameters } from '../parameters.ts'
import type { OidcParts } from '../parts.ts'
import { typeOf, type VerifyJwt } from '../verify-jwt.ts'
import { assertionType } from '../vocabulary.ts'
import type { Attempt, Presented } from './method.ts'

export type AssertionParts = Pick<OidcParts, 'storage' | 'grantsStore' | 'clock'>

/** What a client may sign an assertion with: with its keys, or with its secret. */
export const secretAlgorithms = ['HS256'] as const
const allAlgorithms = [...clientSigningAlgorithms, ...secretAlgorithms]

const tolerance = 60
const longestLife = 300
const longestAssertion = 8192
const longestId = 255
const purpose = 'client-assertion'
const types = new Set<unknown>([undefined, 'jwt', 'client-authentication+jwt'])

const malformed = () => invalidClient('client_assertion is not an assertion about a client')

/** What the form asserts with one of the algorithms; the claims are believed in nothing but whom to ask for. */
export const presentedAssertion = (
  form: Parameters,
  algorithms: readonly string[],
): Presented | undefined => {
  const credential = form.get('client_assertion')
  if (credential === undefined) return undefined
  if (form.require('client_assertion_type') !== assertionType)
    throw invalidRequest('there is no such client_assertion_type')
  if (credential.length > longestAssertion) throw malformed()
  try {
    const { alg } = decodeProtectedHeader(credential)
    if (alg === undefined || !allAlgorithms.some((one) => one === alg)) throw malformed()
    if (!algorithms.includes(alg)) return undefined
    const { sub } = decodeJwt(credential)
    if (sub === undefined || sub === '') throw malformed()
    return { clientId: sub, credential }
  } catch {
    throw malformed()
  }
}

const isShortLived = ({ exp = 0, iat }: JWTPayload, now: number): boolean =>
  exp - now <= longestLife + tolerance &&
  (iat === undefined || (iat - now <= tolerance && now - iat <= longestLife + tolerance))

const isForUs = ({ aud }: JWTPayload, { issuer, endpointOf }: Attempt): boolean =>
  aud === issuer.url || (aud === `${issuer.url}/token` && aud === endpointOf())

/** Whether the client made the assertion of the attempt, for us, and nobody has used it before. */
export const createAssertionCheck = ({ storage, grantsStore, clock }: AssertionParts) => {
  /** Durable before anything is answered: of any number of equal assertions, on any node, one passes. */
  const isFirst = async (realm: string, { id }: TokenClient, payload: JWTPayload) => {
    const { jti = '', exp = 0 } = payload
    const until = (exp + tolerance) * 1000
    try {
      await storage.append(grantsStore.once(realm, purpose, `${id} ${jti}`, until))
      return true
    } catch (error) {
      if (error instanceof ConstraintError) return false
      throw error
    }
  }

  return async (
    attempt: Attempt,
    client: TokenClient,
    verify: VerifyJwt,
    algorithms: readonly string[],
  ): Promise<boolean> => {
    const now = clock.now()
    const { payload, protectedHeader } = await verify(attempt.credential, {
      algorithms: [...algorithms],
      issuer: client.clientId,
      subject: client.clientId,
      requiredClaims: ['aud', 'exp', 'jti'],
      clockTolerance: tolerance,
      currentDate: new Date(now),
    })
    const { jti } = payload
    if ('crit' in protectedHeader || !types.has(typeOf(protectedHeader))) return false
    if (typeof jti !== 'string' || jti === '' || jti.length > longestId) return false
    if (!isForUs(payload, attempt) || !isShortLived(payload, Math.floor(now / 1000))) return false
    return isFirst(attempt.issuer.name, client, payload)
  }
}
