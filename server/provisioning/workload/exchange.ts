/**
 * The exchange of a workload's JWT for an access token (RFC 8693). The token is of the client of the credential, and
 * names the issuer and the subject of the workload. Both outcomes are audited (server/audit/floods/refusals.ts).
 */

import { planScope } from '#schemas/access/admin-access.ts'
import { WorkloadIdentity } from '#schemas/kinds/provisioning/workload-identity.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Refusals } from '#server/audit/floods/refusals.ts'
import type { RateLimiter } from '#server/http/rate-limit.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Mint } from '#server/tokens/mint.ts'
import { workloadState } from '#server/tokens/workload-state.ts'
import { printable } from '#server/users/names.ts'
import type { Accepted, Judge, Judgement } from './judge.ts'
import { workloadScopes } from './judge.ts'
import { runUrlOf } from './run-url.ts'
import type { WorkloadClaims, WorkloadToken } from './workload-token.ts'

export interface ExchangeParts {
  readonly judge: Judge
  readonly mint: Pick<Mint, 'accessToken'>
  readonly agents: Pick<Agents, 'within' | 'touch'>
  readonly recorder: Pick<Recorder, 'append'>
  readonly refusals: Pick<Refusals, 'record'>
  readonly metrics: Pick<Metrics, 'tokenIssued' | 'workloadToken'>
  /** Of JWTs that were verified, per issuer: a forged one takes nothing from the others. */
  readonly perIssuer: RateLimiter
}

export interface ExchangeRequest {
  /** With the fault of the request, where its form alone is refused. */
  readonly token: WorkloadToken
  readonly scope: string | undefined
  readonly sourceIp: string
}

export interface ExchangeAnswer {
  readonly access_token: string
  readonly issued_token_type: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  readonly scope: string
}

export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'

const shown = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(printable(value, 400)) : 'none'

const causeOf = (claims: WorkloadClaims, fault: string | undefined): string =>
  [...(fault === undefined ? [] : [printable(fault, 300)]), `issuer ${shown(claims['iss'])}`].join(
    '; ',
  )

const detailOf = (claims: WorkloadClaims, fault: string | undefined, run?: string): string =>
  [
    causeOf(claims, fault),
    `subject ${shown(claims['sub'])}`,
    ...(run === undefined ? [] : [`run ${run}`]),
  ].join('; ')

/** The subject of a JWT that no key verified is a text that its sender chose: the detail alone tells it. */
const refusedActor = (claims: WorkloadClaims, { isVerified }: Judgement): string =>
  (isVerified && printable(String(claims['sub'] ?? ''), 255)) || 'anonymous'

export type Exchange = (
  issuer: Issuer,
  request: ExchangeRequest,
) => Promise<ExchangeAnswer | undefined>

/** Returns undefined where it refuses: the caller learns no reason. */
export const createExchange = (parts: ExchangeParts): Exchange => {
  const { judge, mint, agents, recorder, refusals, metrics, perIssuer } = parts

  const eventOf = (
    { name: realm }: Issuer,
    { sourceIp }: ExchangeRequest,
    claims: WorkloadClaims,
    { credential, fault }: Judgement | Accepted,
    actor: string,
  ): AuditEvent => ({
    type: 'WORKLOAD_TOKEN',
    realm,
    actor,
    sourceIp,
    outcome: fault === undefined ? 'SUCCESS' : 'FAILURE',
    resourceType: WorkloadIdentity.resourceType,
    ...(credential ? { resourceId: credential.document.id } : {}),
    detail: detailOf(claims, fault, fault === undefined ? runUrlOf(claims) : undefined),
  })

  const refuse = async (
    issuer: Issuer,
    request: ExchangeRequest,
    claims: WorkloadClaims,
    judgement: Judgement,
  ): Promise<undefined> => {
    await refusals.record({
      event: eventOf(issuer, request, claims, judgement, refusedActor(claims, judgement)),
      cause: causeOf(claims, judgement.fault),
      isKnown: judgement.credential !== undefined,
    })
    metrics.workloadToken(issuer.name, 'refused')
  }

  const issue = async (
    issuer: Issuer,
    request: ExchangeRequest,
    claims: WorkloadClaims,
    accepted: Accepted,
    scope: readonly string[],
  ): Promise<ExchangeAnswer> => {
    const { credential, client } = accepted
    const access = await mint.accessToken({
      issuer,
      client,
      scope,
      claims: { wif_iss: credential.doc.issuer, wif_sub: credential.doc.subject },
      workload: workloadState(credential.document),
      lifespan: credential.doc.accessTokenLifespan,
    })
    const touches = await agents.touch(issuer.view, client)
    await recorder.append(touches, [eventOf(issuer, request, claims, accepted, client.id)])
    metrics.workloadToken(issuer.name, 'success')
    metrics.tokenIssued(issuer.name)
    return {
      access_token: access.token,
      issued_token_type: accessTokenType,
      token_type: 'Bearer',
      expires_in: access.expiresIn,
      scope: scope.join(' '),
    }
  }

  return async (issuer, request) => {
    const { claims } = request.token
    const judged = await judge(issuer, request.token)
    if (judged.fault !== undefined) return refuse(issuer, request, claims, judged)
    const { credential } = judged
    const wait = await perIssuer.take(`${issuer.name}\n${credential.doc.issuer}`)
    if (wait > 0)
      throw new Problem('rate-limited', `Try again in ${wait} s.`, { extra: { retryAfter: wait } })
    const scope = workloadScopes(judged, request.scope, [planScope])
    if (!scope)
      return refuse(issuer, request, claims, {
        credential,
        isVerified: true,
        fault: 'the request asks for a scope that the credential does not grant',
      })
    const allowed = await agents.within(issuer.view, judged.client, scope)
    return issue(issuer, request, claims, judged, allowed)
  }
}
