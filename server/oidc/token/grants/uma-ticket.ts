/**
 * Requesting party tokens (UMA 2.0 Grant §3.3): access tokens for one resource server that name the resources and scopes
 * that its policies permit. The request brings a permission ticket, or names permissions itself, as clients of Keycloak do.
 * The RPT belongs to the same grant as the token that it came of, so that both end together, and it never lives longer.
 */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { ResourceAnswer } from '#server/authz/evaluation/evaluate.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { ResourceServer } from '#server/authz/resource-servers.ts'
import type { Ticket } from '#server/authz/tickets.ts'
import type { Clock } from '#server/platform/clock.ts'
import { createPace } from '#server/platform/pace.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import { isFor } from '#server/tokens/access/presented.ts'
import { serverScopes } from '#server/tokens/access/scopes.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { lifetimesOf } from '#server/tokens/lifetimes.ts'
import { endingsOf } from '#server/tokens/token-ids.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import { invalidGrant, invalidRequest, invalidTarget } from '../../errors.ts'
import {
  type Asked,
  askedFor,
  flagIn,
  type GrantedPermission,
  grantedIn,
  refuseStrangeScopes,
} from '../../uma/asked-permissions.ts'
import type { Denials } from '../../uma/denials.ts'
import {
  clientByToken,
  createReadParty,
  isAllowedAt,
  type RequestingParty,
  withinDelegation,
} from '../../uma/requesting-party.ts'
import { actingChain } from '../acting.ts'
import { authenticationOf } from './exchange/exchange-request.ts'
import type { Grant, GrantContext, Issuance } from './grant.ts'

export interface UmaTicketParts {
  readonly authz: Pick<AuthzArea, 'resourceServers' | 'factsOf' | 'tickets'>
  readonly denials: Denials
  readonly verifier: Verifier
  readonly grantsStore: GrantsStore
  readonly clock: Clock
}

/** A token with more of them is too large for most headers. */
const mostPermissions = 1000

const responseModes = ['token', 'decision', 'permissions'] as const
type ResponseMode = (typeof responseModes)[number]

const responseModeIn = ({ form }: GrantContext): ResponseMode => {
  const given = form.get('response_mode') ?? 'token'
  const mode = responseModes.find((one) => one === given)
  if (!mode) throw invalidRequest('response_mode must be decision or permissions')
  return mode
}

/** The most permissions that the client wants. */
const limitIn = ({ form }: GrantContext): number => {
  const text = form.get('response_permissions_limit')
  if (text === undefined) return Number.POSITIVE_INFINITY
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw invalidRequest('response_permissions_limit must be a number from 1 to 9999')
  return Number(text)
}

/** What the policies say to everything that was asked. */
interface Decided {
  readonly granted: readonly GrantedPermission[]
  /** Whether every scope is permitted. */
  readonly isWhole: boolean
  /** Of a ticket alone: owners may be asked for what is denied of it. */
  readonly answers: readonly ResourceAnswer[]
}

/** For a client without a user and without a service account. */
const nothing: Decided = { granted: [], isWhole: true, answers: [] }

/** What a token says of its actors stays said of what comes of it, or an RPT could be exchanged by others (RFC 8693 §4.4). */
const kept = ({ may_act, nhi }: Claims): Claims => ({
  ...(may_act === undefined ? {} : { may_act }),
  ...(nhi === true ? { nhi } : {}),
})

const ticketUsed = (): Error => invalidGrant('the ticket has expired or was used before')

export const umaTicket = (parts: UmaTicketParts): Grant => {
  const { authz, denials, verifier, grantsStore, clock } = parts
  const readParty = createReadParty({ verifier, grantsStore, clock })

  const ticketIn = async ({ issuer, client, form }: GrantContext): Promise<Ticket | undefined> => {
    const value = form.get('ticket')
    if (value === undefined) return undefined
    const ticket = await authz.tickets.find(issuer.name, value, client.id)
    if (!ticket) throw ticketUsed()
    return ticket
  }

  /** The resource server of the ticket, or the one that `audience` names. */
  const serverIn = async (
    { issuer: { view }, form }: GrantContext,
    ticket: Ticket | undefined,
  ): Promise<ResourceServer> => {
    const [audience, ...others] = form.all('audience')
    if (others.length > 0) throw invalidRequest('name one audience')
    if (!ticket && audience === undefined)
      throw invalidRequest('send a ticket, or the resource server as audience')
    const document = ticket
      ? await view.byId(Client.kind, ticket.clientId)
      : await view.get(Client.kind, audience ?? '')
    const client: TokenClient | undefined = document && clientOf(document)
    if (!client?.doc.enabled || !client.doc.authorizationServicesEnabled)
      throw invalidTarget('the audience is not a resource server')
    if (audience !== undefined && client.clientId !== audience)
      throw invalidTarget('the ticket is of another resource server')
    return authz.resourceServers(view, client)
  }

  /** The RPT to upgrade: of the same client, party and resource server, else it would move permissions between them. */
  const upgradedIn = async (
    { issuer, client, form }: GrantContext,
    { user, token }: RequestingParty,
    server: ResourceServer,
  ): Promise<VerifiedToken | undefined> => {
    const value = form.get('rpt')
    if (value === undefined) return undefined
    const rpt = await verifier.accessToken(issuer, value)
    const isOwn =
      rpt?.client.id === client.id &&
      rpt.user?.id === user?.id &&
      rpt.account?.id === (user ? undefined : (token?.account ?? client).id) &&
      isFor(rpt.claims, server.client.clientId)
    if (!isOwn)
      throw invalidGrant('the rpt is not good', { detail: 'it is of others, or not alive' })
    return rpt
  }

  /** Stops as soon as the answer is known: a resource server may have a hundred thousand resources. */
  const evaluate = async (
    context: GrantContext,
    party: RequestingParty,
    server: ResourceServer,
    { questions, isEverything }: Asked,
    ticket: Ticket | undefined,
  ): Promise<Decided> => {
    const { issuer, client, form } = context
    const { view } = issuer
    const isDecision = responseModeIn(context) === 'decision'
    const withNames = flagIn(form, 'response_include_resource_name', true)
    const enough = isDecision
      ? isEverything
        ? 1
        : Number.POSITIVE_INFINITY
      : Math.min(limitIn(context), mostPermissions + 1)
    const decide = server.evaluator(
      await authz.factsOf(
        { view, server },
        { user: party.user, client, account: party.token?.account },
      ),
    )
    const granted: GrantedPermission[] = []
    const answers: ResourceAnswer[] = []
    let isWhole = true
    const pace = createPace()
    for (const question of questions) {
      const answer = withinDelegation(party, decide(question))
      if (ticket) answers.push(answer)
      isWhole &&= answer.scopes.every(({ status }) => status === 'PERMIT')
      const permission = grantedIn(answer, withNames)
      if (permission) granted.push(permission)
      if (granted.length >= enough || (isDecision && !isEverything && !isWhole && !ticket)) break
      // Other requests get their turn in between.
      if (pace.over()) await pace.rest()
    }
    if (!isDecision && granted.length > mostPermissions)
      throw invalidRequest(
        `there are more than ${mostPermissions} permissions: name some, or set response_permissions_limit`,
      )
    return { granted, isWhole, answers }
  }

  const issuanceFor = (
    { issuer, client }: GrantContext,
    { user, token, scope }: RequestingParty,
    server: ResourceServer,
    permissions: readonly GrantedPermission[],
  ): Issuance => {
    const longest = lifetimesOf(issuer.settings, client.doc).accessToken
    const rest = token ? Number(token.claims['exp']) - Math.floor(clock.now() / 1000) : longest
    const authentication = token && authenticationOf(token, grantsStore)
    return {
      ...(user ? { user } : {}),
      ...(token?.account ? { account: token.account } : {}),
      scope: scope.filter((one) => !serverScopes.has(one)),
      resources: [server.client.clientId],
      ...(authentication ? { authentication } : {}),
      ...(token ? { actorGrantIds: endingsOf(token.claims['jti']) } : {}),
      claims: {
        ...actingChain(token?.claims['act'], undefined),
        ...kept(token?.claims ?? {}),
        authorization: { permissions },
      },
      lifespan: Math.min(rest, longest),
    }
  }

  const decide = async (context: GrantContext): Promise<Issuance> => {
    const { client, form } = context
    const mode = responseModeIn(context)
    const party = await readParty(context)
    const ticket = await ticketIn(context)
    const server = await serverIn(context, ticket)
    if (!isAllowedAt(context, party, server.client))
      throw invalidGrant('the token of the party is not for this resource server', {
        detail: 'it was issued to another client, and its audience is another',
      })
    const upgraded = await upgradedIn(context, party, server)
    if (ticket) refuseStrangeScopes(server, form, ticket, client)
    const asked = await askedFor(server, form, ticket, upgraded?.claims)
    const hasParty = party.token !== undefined || client.doc.serviceAccountsEnabled
    const { granted, isWhole, answers } = hasParty
      ? await evaluate(context, party, server, asked, ticket)
      : nothing
    if (granted.length === 0 || (mode === 'decision' && !asked.isEverything && !isWhole))
      throw await denials({ context, party, server, ticket, answers })
    const detail = `uma-ticket of ${server.client.clientId}, ${granted.length} permissions`
    const use = ticket
      ? { statements: [authz.tickets.use(ticket.id)], onConflict: async () => ticketUsed() }
      : {}
    const issuance = { ...issuanceFor(context, party, server, granted), ...use, detail }
    if (mode === 'decision') return { ...issuance, instead: { result: true } }
    if (mode === 'permissions') return { ...issuance, instead: granted }
    return { ...issuance, answer: { upgraded: upgraded !== undefined } }
  }

  return {
    name: 'uma-ticket',
    event: 'PERMISSION_TOKEN',
    readsScope: true,
    clientByToken: clientByToken({ verifier }),
    parameters: {
      ticket: 'Permission ticket of a resource server (UMA 2.0).',
      permission: 'resource#scope, by name or id; may be repeated.',
      permission_resource_format: 'id (default, also names) or uri.',
      permission_resource_matching_uri: 'Whether patterns of URIs are matched.',
      claim_token: 'An id token of the requesting party, or claims in base64url.',
      claim_token_format: 'The format of the claim_token.',
      rpt: 'An RPT whose permissions are asked for again.',
      submit_request: 'Whether owners are asked for what is denied of a ticket; true unless told.',
      response_mode: 'decision or permissions instead of a token.',
      response_include_resource_name: 'Whether permissions carry names; true unless told.',
      response_permissions_limit: 'The most permissions to answer.',
    },
    handle: async (context) => {
      try {
        return await decide(context)
      } catch (error) {
        if (error instanceof GuardFailedError) throw ticketUsed()
        throw error
      }
    },
  }
}
