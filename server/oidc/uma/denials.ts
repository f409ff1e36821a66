/**
 * The response to a denied RPT request (UMA 2.0 Grant §3.3.6). The denial uses up the ticket. A new one comes with
 * `need_info`, where no user is known yet, and with `request_submitted`, where owners are asked to share.
 */

import { AuthzResource } from '#schemas/kinds/authorization/authz-resource.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Resource, ResourceAnswer } from '#server/authz/evaluation/evaluate.ts'
import { isNamed } from '#server/authz/evaluation/facts.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { ResourceServer } from '#server/authz/resource-servers.ts'
import { type SharedScope, shareLimitGuard } from '#server/authz/shares.ts'
import type { Ticket } from '#server/authz/tickets.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Users } from '#server/users/users.ts'
import { type OAuthError, oauthError } from '../errors.ts'
import { doerWith, isDelegated } from '../token/acting.ts'
import type { GrantContext } from '../token/grants/grant.ts'
import { flagIn } from './asked-permissions.ts'
import { idTokenFormat, type RequestingParty } from './requesting-party.ts'

export interface Denied {
  readonly context: GrantContext
  readonly party: RequestingParty
  readonly server: ResourceServer
  readonly ticket: Ticket | undefined
  readonly answers: readonly ResourceAnswer[]
}

/** The error to throw; what belongs to it is durable then. */
export type Denials = (denied: Denied) => Promise<OAuthError>

const requestDenied = oauthError('request_denied', 403)
const needInfo = oauthError('need_info', 403)
const requestSubmitted = oauthError('request_submitted', 403)

/** Seconds between two questions whether the owner has decided. */
const interval = 5

/** Attempts to ask owners; each one that fails means that concurrent requests were taken. */
const rounds = 10

/** Scopes that an owner could share, by resource. */
const deniedScopes = (
  answers: readonly ResourceAnswer[],
): readonly { readonly resource: Resource; readonly scope: string | null }[] =>
  answers.flatMap(({ resource, scopes }) =>
    resource?.doc.ownerManagedAccess && resource.doc.owner
      ? scopes.flatMap(({ scope, status }) => (status === 'DENY' ? [{ resource, scope }] : []))
      : [],
  )

export const createDenials = ({
  authz,
  users,
  recorder,
}: {
  readonly authz: Pick<AuthzArea, 'tickets' | 'shares' | 'limits'>
  readonly users: Pick<Users, 'find'>
  readonly recorder: Recorder
}): Denials => {
  const { tickets, shares, limits } = authz

  /** The requests to owners that the denial becomes. */
  const requestsOf = async ({
    context,
    party,
    server,
    answers,
  }: Denied): Promise<SharedScope[]> => {
    const { user } = party
    const { name: realm } = context.issuer
    const wanted: SharedScope[] = []
    // An agent asks for the user within what is delegated; an owner is asked by the user.
    if (!user || isDelegated(party.token?.claims['act'])) return wanted
    const owners = new Map<string, UserRow | undefined>()
    for (const { resource, scope } of deniedScopes(answers)) {
      const named = resource.doc.owner ?? ''
      if (!owners.has(named)) owners.set(named, await users.find(realm, named))
      const owner = owners.get(named)
      if (!owner || owner.id === user.id || !isNamed(named, owner)) continue
      wanted.push({
        realm,
        clientId: server.client.id,
        resourceId: resource.id,
        scope,
        ownerId: owner.id,
        requesterId: user.id,
      })
    }
    return wanted
  }

  /** The requests that are new, and why owners are not asked for them where there is no room. */
  const newAmong = async (
    realm: string,
    requests: readonly SharedScope[],
  ): Promise<{ readonly added: readonly SharedScope[]; readonly crowded?: string }> => {
    const { requestsOfRequester, requestsOfOwner } = limits
    const rows = await shares.ofRequester(realm, requests[0]?.requesterId ?? '')
    const known = new Set(
      rows.map(({ resource_id, scope, owner_id }) => `${resource_id} ${owner_id} ${scope}`),
    )
    const added = requests.filter(
      ({ resourceId, scope, ownerId }) => !known.has(`${resourceId} ${ownerId} ${scope ?? ''}`),
    )
    if (added.length === 0) return { added }
    const waiting = rows.filter(({ granted }) => granted === 0).length
    if (waiting + added.length > requestsOfRequester)
      return {
        added: [],
        crowded: `not authorized, and no owner was asked: ${waiting} requests of the user wait, and ${requestsOfRequester} may`,
      }
    for (const [ownerId, ofOwner] of Map.groupBy(added, (one) => one.ownerId)) {
      const before = await shares.waitingFor(realm, ownerId)
      if (before + ofOwner.length > requestsOfOwner)
        return {
          added: [],
          crowded: `not authorized, and the owner was not asked: ${before} requests wait for the owner, and ${requestsOfOwner} may`,
        }
    }
    return { added }
  }

  const isWaiting = async ({ party, context, answers }: Denied): Promise<boolean> => {
    if (!party.user) return false
    const asked = new Set(deniedScopes(answers).map(({ resource }) => resource.id))
    if (asked.size === 0) return false
    const rows = await shares.ofRequester(context.issuer.name, party.user.id)
    return rows.some(({ granted, resource_id }) => granted === 0 && asked.has(resource_id))
  }

  const requestEvents = (
    { context, party: { user, token } }: Denied,
    requests: readonly SharedScope[],
  ): readonly AuditEvent[] =>
    [...new Set(requests.map(({ resourceId }) => resourceId))].map((resourceId) => ({
      type: 'PERMISSION_REQUEST',
      realm: context.issuer.name,
      ...(user ? doerWith(user.id, token?.claims) : { actor: context.client.id }),
      sourceIp: context.sourceIp,
      outcome: 'SUCCESS',
      resourceType: AuthzResource.resourceType,
      resourceId,
      detail: `asked through ${context.client.clientId}`,
    }))

  const answer = async (
    denied: Denied,
    ticket: Ticket,
    wanted: readonly SharedScope[],
  ): Promise<OAuthError> => {
    const { context, party, server } = denied
    const { added, crowded } = await newAmong(context.issuer.name, wanted)
    const requests = crowded === undefined ? wanted : []
    const isSubmitted = crowded === undefined && (requests.length > 0 || (await isWaiting(denied)))
    const isUnknown = party.user === undefined
    const next =
      isSubmitted || isUnknown
        ? tickets.create({
            realm: context.issuer.name,
            clientId: server.client.id,
            permissions: ticket.permissions,
            requesterId: context.client.id,
          })
        : undefined
    await recorder.commit(
      [tickets.use(ticket.id), ...(next?.statements ?? []), ...shares.request(added, limits)],
      requestEvents(denied, requests),
    )
    if (isSubmitted)
      return requestSubmitted('the owner was asked', {
        members: { ticket: next?.ticket, interval },
      })
    if (isUnknown)
      return needInfo('the requesting party is not known', {
        members: {
          ticket: next?.ticket,
          required_claims: [{ name: 'sub', claim_token_format: [idTokenFormat] }],
        },
      })
    return requestDenied(crowded ?? 'not authorized')
  }

  return async (denied) => {
    const { context, ticket } = denied
    if (!ticket) return requestDenied('not authorized')
    // UMA 2.0 Grant §3.3.6 leaves the question to the server; a client of Keycloak, which asks unless told, may forbid it.
    const wanted = flagIn(context.form, 'submit_request', true) ? await requestsOf(denied) : []
    for (let round = 1; ; round += 1)
      try {
        return await answer(denied, ticket, wanted)
      } catch (error) {
        // Concurrent requests took the room that was left: the next look sees them.
        const isCrowded = error instanceof GuardFailedError && error.guard === shareLimitGuard
        if (!isCrowded || round === rounds) throw error
      }
  }
}
