/** Identifies and authenticates the client of a request. A request uses one authentication method (RFC 6749 §2.3). */

import type { FastifyRequest } from 'fastify'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { Refusals } from '#server/audit/floods/refusals.ts'
import type { SlowRefusal } from '#server/http/limits/slow-refusals.ts'
import { AgentInactiveError, type Agents } from '#server/tokens/agents/agents.ts'
import type { FindClient, TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import {
  agentNotUsable,
  invalidClient,
  invalidRequest,
  OAuthError,
  unauthorizedClient,
} from '../errors.ts'
import { addressOf } from '../issuer.ts'
import type { Parameters } from '../parameters.ts'
import type { Attempt, ClientAuthMethod, Presented } from './method.ts'

export interface AuthenticatedClient {
  readonly client: TokenClient
  readonly method: ClientAuthMethod['name']
}

/**
 * Throws invalid_client, which tells nothing about the reason; the audit event of a known client does. The client of an
 * agent that is not ACTIVE has proven who it is, and learns it by unauthorized_client.
 */
export type AuthenticateClient = (
  issuer: Issuer,
  request: FastifyRequest,
  form: Parameters,
) => Promise<AuthenticatedClient>

interface AttemptPlace {
  readonly method: string
  readonly sourceIp: string
}

const refused = (detail: string) => invalidClient('client authentication failed', { detail })

export interface AuthenticateParts {
  readonly methods: readonly ClientAuthMethod[]
  readonly refusals: Pick<Refusals, 'record'>
  readonly agents: Pick<Agents, 'insist'>
  readonly findClient: FindClient
  readonly clientUsed: (client: TokenClient) => Promise<void>
  readonly slowRefusal: SlowRefusal
}

export const createAuthenticateClient = ({
  methods,
  refusals,
  agents,
  findClient,
  clientUsed,
  slowRefusal,
}: AuthenticateParts): AuthenticateClient => {
  const find = (
    request: FastifyRequest,
    form: Parameters,
  ): { method: ClientAuthMethod; presented: Presented } => {
    let first: { method: ClientAuthMethod; presented: Presented } | undefined
    for (const method of methods) {
      const presented = method.presented(request, form)
      if (!presented) continue
      if (first) throw invalidRequest('the client authenticates in more than one way')
      first = { method, presented }
    }
    if (!first) throw invalidClient('the client does not authenticate')
    const named = form.get('client_id')
    if (named !== undefined && named !== first.presented.clientId)
      throw invalidRequest('client_id is not the client that authenticates')
    return first
  }

  const faultOf = async (
    issuer: Issuer,
    client: TokenClient | undefined,
    method: ClientAuthMethod,
    proof: Pick<Attempt, 'credential' | 'endpointOf'>,
  ): Promise<string | undefined> => {
    const suits = client !== undefined && method.suits(client.doc)
    const wrong = await method.verify({ issuer, client: suits ? client : undefined, ...proof })
    if (!suits) return client ? `it may not use ${method.name}` : 'there is no such client'
    if (wrong !== undefined) return wrong
    return client.doc.enabled ? undefined : 'it is disabled'
  }

  const recordFault = async (
    { name: realm }: Issuer,
    { id, clientId }: TokenClient,
    { method, sourceIp }: AttemptPlace,
    { code, fault }: { readonly code: string; readonly fault: string },
  ): Promise<void> => {
    await refusals.record({
      event: {
        type: 'CLIENT_LOGIN',
        realm,
        actor: id,
        sourceIp,
        outcome: 'FAILURE',
        resourceType: Client.resourceType,
        resourceId: id,
        detail: `${code}: ${fault}`,
      },
      // The fault may quote an assertion, whose content anyone can choose.
      cause: `${code} of client ${clientId}, by ${method}`,
      isKnown: true,
    })
  }

  const insistOnAgent = async (
    issuer: Issuer,
    client: TokenClient,
    place: AttemptPlace,
  ): Promise<void> => {
    try {
      await agents.insist(issuer, client)
    } catch (error) {
      if (!(error instanceof AgentInactiveError)) throw error
      const { message: fault } = error
      await recordFault(issuer, client, place, { code: 'unauthorized_client', fault })
      throw place.method === 'none' ? agentNotUsable(error) : unauthorizedClient(error.message)
    }
  }

  const authenticate: AuthenticateClient = async (issuer, request, form) => {
    const { method, presented } = find(request, form)
    const { client, refused: reason } = await findClient(issuer, presented.clientId)
    const { credential } = presented
    const endpointOf = (): string => addressOf(issuer, request)
    const fault = await faultOf(issuer, client, method, { credential, endpointOf })
    const place = { method: method.name, sourceIp: request.ip }
    if (client && fault === undefined) {
      await insistOnAgent(issuer, client, place)
      await clientUsed(client)
      return { client, method: method.name }
    }
    const why = reason ?? fault ?? ''
    if (client) await recordFault(issuer, client, place, { code: 'invalid_client', fault: why })
    throw refused(why)
  }

  return async (issuer, request, form) => {
    try {
      return await authenticate(issuer, request, form)
    } catch (error) {
      if (error instanceof OAuthError && error.code === 'invalid_client')
        await slowRefusal(issuer.name)
      throw error
    }
  }
}
