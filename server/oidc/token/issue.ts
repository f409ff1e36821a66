/** From what a grant says to the answer: sign, write durably with the audit event, count. */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Doer } from '#server/sessions/doer.ts'
import { ConstraintError, GuardFailedError } from '#server/storage/contract.ts'
import { confirmedFor, highRiskScopes } from '#server/tokens/access/high-risk.ts'
import { openidScope, stillAllowed } from '#server/tokens/access/scopes.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import { refreshMembers } from '#server/tokens/keycloak/refresh-token.ts'
import { lifetimesOf } from '#server/tokens/lifetimes.ts'
import type { Mint, MintedToken } from '#server/tokens/mint.ts'
import { invalidRequest } from '../errors.ts'
import { doerWith } from './acting.ts'
import type { Grant, GrantContext, Issuance } from './grants/grant.ts'

/** JSON: tokens, or what a grant answers instead. */
export type TokenResponse = unknown

export interface IssueParts {
  readonly clock: Clock
  readonly mint: Mint
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'tokenIssued'>
  readonly agents: Pick<Agents, 'within' | 'granted' | 'touch'>
}

/** The most that one token ends with: each makes it larger, and its verification dearer. */
const mostEndings = 20

/** Client, grant type and endpoint: known before the grant is evaluated. */
export type GrantPlace = Pick<GrantContext, 'issuer' | 'client' | 'sourceIp'>

export const grantEvent = (
  type: EventType,
  { issuer, client, sourceIp }: GrantPlace,
  outcome: AuditEvent['outcome'],
  doer: Doer,
  detail: string,
): AuditEvent => ({
  type,
  realm: issuer.name,
  ...doer,
  sourceIp,
  outcome,
  resourceType: Client.resourceType,
  resourceId: client.id,
  detail,
})

/** Seconds, where it is not the client's or the realm's: what a user has confirmed this once is not for long. */
const lifespanOf = async (
  { issuer, client, ownToken }: GrantContext,
  { user, lifespan }: Issuance,
  scope: readonly string[],
  now: number,
): Promise<number | undefined> => {
  const isConfirmed = user !== undefined && (await highRiskScopes(issuer.view, scope)).length > 0
  if (!isConfirmed && !ownToken) return lifespan
  return Math.min(
    lifespan ?? lifetimesOf(issuer.settings, client.doc).accessToken,
    isConfirmed ? confirmedFor : Number.POSITIVE_INFINITY,
    ownToken ? ownToken.exp - Math.floor(now / 1000) : Number.POSITIVE_INFINITY,
  )
}

interface SignedTokens {
  readonly access: MintedToken
  readonly id?: string
}

export const createIssue = ({ clock, mint, recorder, metrics, agents }: IssueParts) => {
  const write = async (
    { issuer, client }: GrantContext,
    issuance: Issuance,
    event: AuditEvent,
  ): Promise<void> => {
    const touches = await agents.touch(issuer.view, client)
    try {
      await recorder.append([...(issuance.statements ?? []), ...touches], [event])
    } catch (error) {
      const lost = error instanceof GuardFailedError || error instanceof ConstraintError
      throw lost && issuance.onConflict ? await issuance.onConflict(error) : error
    }
  }

  /** The event of a token that never came to be is durable, or will be in a moment: another one takes it back. */
  const takeBack = async (signing: Promise<unknown>, writing: Promise<void>, event: AuditEvent) => {
    const [signed, written] = await Promise.allSettled([signing, writing])
    if (signed.status === 'fulfilled' || written.status === 'rejected') return
    const detail = `${event.detail}: not issued after all, the token could not be signed`
    await recorder.append([], [{ ...event, outcome: 'FAILURE', detail }])
  }

  const sign = async (
    context: GrantContext,
    scope: readonly string[],
    issuance: Issuance,
  ): Promise<SignedTokens> => {
    const { issuer, client, jkt, ownToken } = context
    const { user, account, resources, authentication, claims, idToken } = issuance
    const lifespan = await lifespanOf(context, issuance, scope, clock.now())
    const actorGrantIds = [
      ...new Set([...(issuance.actorGrantIds ?? []), ...(ownToken?.endings ?? [])]),
    ]
    if (actorGrantIds.length > mostEndings)
      throw invalidRequest('the token comes of too many exchanges')
    const access = await mint.accessToken({
      issuer,
      client,
      user,
      account,
      scope,
      resources,
      authentication,
      actorGrantIds,
      jkt,
      claims,
      lifespan,
    })
    if (!idToken || !user || !authentication || !scope.includes(openidScope)) return { access }
    const id = await mint.idToken({
      issuer,
      client,
      user,
      scope,
      authentication,
      accessToken: access.token,
      claims,
      ...idToken,
    })
    return { access, id }
  }

  return async (
    grant: Grant,
    context: GrantContext,
    issuance: Issuance,
  ): Promise<TokenResponse> => {
    const { issuer, client, jkt } = context
    const { user, refresh, statements } = issuance
    const scope = await agents.within(issuer.view, client, stillAllowed(client, issuance.scope))
    const detail = issuance.detail ?? grant.name
    const doer = issuance.doer ?? (user ? doerWith(user.id, issuance.claims) : { actor: client.id })
    const event = grantEvent(issuance.event ?? grant.event, context, 'SUCCESS', doer, detail)
    if (issuance.instead !== undefined) {
      await write(context, issuance, event)
      return issuance.instead
    }
    const signing = sign(context, scope, issuance)
    // What uses up a code or a refresh token waits for the signatures: a failure must not cost the client its grant. So
    // does what is for a user, who may have no subject. A client alone has its token signed while the event is written.
    if (statements || user) await signing
    const writing = write(context, issuance, event)
    const [{ access, id }] = await Promise.all([signing, writing]).catch(async (error) => {
      await takeBack(signing, writing, event)
      throw error
    })
    metrics.tokenIssued(issuer.name)
    return {
      access_token: access.token,
      token_type: jkt === undefined ? 'Bearer' : 'DPoP',
      expires_in: access.expiresIn,
      ...(scope.length === 0 ? {} : { scope: scope.join(' ') }),
      ...(refresh ? refreshMembers(issuer, refresh, clock) : {}),
      ...(id === undefined ? {} : { id_token: id }),
      ...issuance.answer,
    }
  }
}
