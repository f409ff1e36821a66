/**
 * Assertions by which clients authenticate (RFC 7523 §2.2, §3; OIDC Core §9): JWTs that a client makes about itself,
 * for this issuer alone, each good once, and for five minutes at most: after its `iat`, which counts where `exp` is later, because
 * libraries ask for ten minutes or an hour (pyoidc, Authlib). Clocks may differ by a minute.
 *
 * The audience is the issuer, the token endpoint by any of its paths, or the endpoint that is called (RFC 7523 §3, RFC 9126 §2,
 * CIBA Core §7.1). In a list every value must be one of them: any other audience could replay the assertion. Under a FAPI profile it
 * is the issuer, as a string (FAPI 2.0 §5.3.2.1).
 */

import { decodeJwt, decodeProtectedHeader, type JWTHeaderParameters, type JWTPayload } from 'jose'
import { isFapi } from '#schemas/access/client-profile.ts'
import { clientSigningAlgorithms, secretSigningAlgorithms } from '#schemas/kinds/clients/client.ts'
import { own } from '#schemas/own.ts'
import { typeOf, type VerifyJwt } from '#server/keys/remote/verify-jwt.ts'
import type { Clock } from '#server/platform/clock.ts'
import { ConstraintError, type Storage } from '#server/storage/contract.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { invalidClient, invalidRequest } from '../errors.ts'
import { keycloakPaths } from '../keycloak-paths.ts'
import type { Parameters } from '../parameters.ts'
import { assertionType } from '../vocabulary.ts'
import { signingAlgorithmsFor } from './client-keys.ts'
import type { Attempt, Presented } from './method.ts'

export interface AssertionParts {
  readonly storage: Storage
  readonly grantsStore: GrantsStore
  readonly clock: Clock
}

const allAlgorithms = [...clientSigningAlgorithms, ...secretSigningAlgorithms]

const tolerance = 60
const longestLife = 300
const longestAssertion = 8192
const longestId = 255
const purpose = 'client-assertion'
const types = new Set<unknown>([undefined, 'jwt', 'client-authentication+jwt'])

/**
 * What a signed request says and an assertion does not (RFC 9101 §10.8): a request travels through the browser, and who
 * reads it there must not become the client. Every request object has the second, every CIBA request the first.
 */
const ofRequests = ['scope', 'client_id', 'response_type', 'redirect_uri', 'request', 'request_uri']

const malformed = () => invalidClient('client_assertion is not an assertion about a client')

/** The unverified assertion of the form; its claims only select the client. */
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
    // Nothing has verified the claims: they are of any type.
    const { sub }: { readonly sub?: unknown } = decodeJwt(credential)
    if (typeof sub !== 'string' || sub === '') throw malformed()
    return { clientId: sub, credential }
  } catch {
    throw malformed()
  }
}

/** Seconds since 1970 after which the assertion is no longer accepted, clocks aside. */
const endOf = ({ exp = 0, iat }: JWTPayload): number =>
  iat === undefined ? exp : Math.min(exp, iat + longestLife)

const isOfNow = (payload: JWTPayload, now: number): boolean => {
  const { iat = now } = payload
  const left = endOf(payload) - now
  return left >= -tolerance && left <= longestLife + tolerance && iat - now <= tolerance
}

/** What the client wrote, short and in one line. */
const shown = (value: unknown): string => JSON.stringify(value ?? null).slice(0, 300)

const tokenPath = '/token'

const tokenEndpointsOf = ({ url, settings }: Issuer): string[] =>
  [tokenPath, ...(settings.keycloakPaths ? [own(keycloakPaths, tokenPath) ?? tokenPath] : [])].map(
    (path) => `${url}${path}`,
  )

const audienceFault = (
  { aud }: JWTPayload,
  { issuer, endpointOf }: Attempt,
  { doc }: TokenClient,
): string | undefined => {
  const ours = isFapi(doc)
    ? [issuer.url]
    : [...new Set([issuer.url, ...tokenEndpointsOf(issuer), endpointOf()])]
  const named = typeof aud === 'string' || !isFapi(doc) ? [aud ?? []].flat() : []
  return named.length > 0 && named.every((one) => ours.includes(one))
    ? undefined
    : `its assertion has the audience ${shown(aud)}, which must be one of ${ours.join(', ')}`
}

/** What is wrong with an assertion that a key of the client signed. */
const faultOf = (
  payload: JWTPayload,
  header: JWTHeaderParameters,
  attempt: Attempt,
  client: TokenClient,
  now: number,
): string | undefined => {
  const { jti } = payload
  if (!types.has(typeOf(header))) return `its assertion has the type ${shown(header.typ)}`
  const foreign = ofRequests.filter((name) => name in payload)
  if (foreign.length > 0) return `its assertion is a signed request: it has ${foreign.join(', ')}`
  if (typeof jti !== 'string' || jti === '' || jti.length > longestId)
    return `its assertion needs a jti of ${longestId} characters at most`
  if (!isOfNow(payload, now))
    return `its assertion was made more than ${longestLife} seconds ago, has no iat and a later exp than that, or is not yet valid`
  return audienceFault(payload, attempt, client)
}

/** The error of an assertion with a wrong signature, audience or lifetime, or of a replay. */
export const createAssertionCheck = ({ storage, grantsStore, clock }: AssertionParts) => {
  /** Durable before anything is answered: of any number of equal assertions, on any node, one passes. */
  const isFirst = async (realm: string, { id }: TokenClient, payload: JWTPayload) => {
    const { jti = '' } = payload
    const until = (endOf(payload) + tolerance) * 1000
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
  ): Promise<string | undefined> => {
    const now = clock.now()
    const { payload, protectedHeader } = await verify(attempt.credential, {
      algorithms: signingAlgorithmsFor(client, algorithms, client.doc.tokenEndpointAuthSigningAlg),
      issuer: client.clientId,
      subject: client.clientId,
      requiredClaims: ['aud', 'exp', 'jti'],
      clockTolerance: tolerance,
      currentDate: new Date(now),
    })
    const fault = faultOf(payload, protectedHeader, attempt, client, Math.floor(now / 1000))
    if (fault !== undefined) return fault
    const isNew = await isFirst(attempt.issuer.name, client, payload)
    return isNew ? undefined : 'its assertion was used before'
  }
}
