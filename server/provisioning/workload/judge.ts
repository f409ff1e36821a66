/**
 * Decides whether the JWT of a workload is accepted, and for which credential (docs/workload-identity.md). The reason of a
 * refusal is in the audit event alone, and a refusal takes the same time for every cause (refusal-time.ts).
 */

import { errors } from 'jose'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { WorkloadIdentityDoc } from '#schemas/kinds/provisioning/workload-identity.ts'
import { isAboutKeys } from '#server/keys/remote/verify-jwt.ts'
import type { Clock } from '#server/platform/clock.ts'
import { allowedScopes, parseScope } from '#server/tokens/access/scopes.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { FindCredential, WorkloadCredential } from './credentials.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import { type WorkloadClaims, type WorkloadToken, workloadAlgorithms } from './workload-token.ts'

export interface Judgement {
  /** The one that the JWT asks for, whether it is accepted or not. */
  readonly credential?: WorkloadCredential | undefined
  readonly fault: string
  /** Whether a key of the credential verified the JWT: its claims are those of the workload then. */
  readonly isVerified?: true
}

export interface Accepted {
  readonly credential: WorkloadCredential
  readonly client: TokenClient
  readonly fault?: undefined
}

export type Judge = (issuer: Issuer, token: WorkloadToken) => Promise<Judgement | Accepted>

export interface JudgeParts {
  readonly clock: Clock
  readonly find: FindCredential
  readonly keysOf: IssuerKeys
  readonly agents: Pick<Agents, 'endOf'>
}

/** Seconds that two clocks may differ by. */
const skew = 60

const isTime = (value: unknown): value is number => typeof value === 'number' && value >= 0

const timeFault = (
  { exp, iat, nbf }: WorkloadClaims,
  now: number,
  longest: number,
): string | undefined => {
  if (!isTime(exp) || !isTime(iat)) return 'exp or iat is missing, or not a time'
  if (nbf !== undefined && !isTime(nbf)) return 'nbf is not a time'
  if (exp <= now - skew) return 'the JWT has expired'
  if (iat > now + skew || (nbf ?? 0) > now + skew) return 'the JWT is not valid yet'
  return exp - iat > longest ? `the JWT lives longer than ${longest} s` : undefined
}

/** Numbers and booleans as they are written; objects, lists and null are equal to nothing. */
const textOf = (value: unknown): string | undefined =>
  ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined

const claimFault = (
  claims: WorkloadClaims,
  { claims: wanted }: WorkloadIdentityDoc,
): string | undefined => {
  const other = Object.entries(wanted).find(
    ([name, value]) => !Object.hasOwn(claims, name) || textOf(claims[name]) !== value,
  )
  return other && `the claim ${other[0]} has another value`
}

const signatureFault = (error: unknown): string => {
  if (isAboutKeys(error)) return 'no key of the issuer verifies the signature'
  if (error instanceof errors.JWTExpired) return 'the JWT has expired'
  if (error instanceof errors.JWTClaimValidationFailed) return 'the JWT is not valid now'
  return `the keys of the issuer cannot be used: ${error instanceof Error ? error.message : error}`
}

export const createJudge = ({ clock, find, keysOf, agents }: JudgeParts): Judge => {
  const verify = async ({ text }: WorkloadToken, { doc }: WorkloadCredential) => {
    try {
      await keysOf(doc)(text, {
        algorithms: [...workloadAlgorithms],
        currentDate: new Date(clock.now()),
        clockTolerance: skew,
      })
      return undefined
    } catch (error) {
      return signatureFault(error)
    }
  }

  return async (issuer, token) => {
    const { view } = issuer
    const { claims } = token
    const credential = await find(view, claims)
    if (token.fault !== undefined) return { credential, fault: token.fault }
    if (!credential) return { fault: 'no credential has this issuer, subject and audience' }
    const { doc } = credential
    if (!doc.enabled) return { credential, fault: 'the credential is disabled' }
    const fault = await verify(token, credential)
    if (fault !== undefined) return { credential, fault }
    const refused = (why: string): Judgement => ({ credential, fault: why, isVerified: true })
    const now = Math.floor(clock.now() / 1000)
    const later = timeFault(claims, now, doc.maxTokenLifespan) ?? claimFault(claims, doc)
    if (later !== undefined) return refused(later)
    const document = await view.get(Client.kind, doc.clientId)
    const client = document && clientOf(document)
    if (!client?.doc.enabled) return refused('the client is disabled')
    if ((await agents.endOf(issuer, client.clientId)) === undefined)
      return refused('the agent of the client is not active')
    if (client.doc.dpopBoundAccessTokens)
      return refused('the client takes tokens that are bound to a key only')
    return { credential, client }
  }
}

/**
 * What the credential grants and the client may still have. A request may ask for less; a default scope that keeps tokens
 * of the client from doing more (`admin:plan`) stays. Undefined where it asks for more.
 */
export const workloadScopes = (
  { credential: { doc }, client }: Accepted,
  requested: string | undefined,
  narrowing: readonly string[],
): readonly string[] | undefined => {
  const allowed = allowedScopes(client)
  const granted = parseScope(doc.scopes).filter((one) => allowed.has(one))
  const wanted = requested === undefined ? granted : parseScope(requested)
  if (wanted.some((one) => !granted.includes(one))) return undefined
  const kept = client.doc.defaultScopes.filter((one) => narrowing.includes(one))
  return [...new Set([...wanted, ...kept])]
}
