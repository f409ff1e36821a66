/** Finds out which client a request is from, and whether it is. One way of authentication a request (RFC 6749 §2.3). */

import type { FastifyRequest } from 'fastify'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { FindClient, TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { invalidClient, invalidRequest } from '../errors.ts'
import { addressOf } from '../issuer.ts'
import type { Parameters } from '../parameters.ts'
import type { Attempt, ClientAuthMethod, Presented } from './method.ts'

export interface AuthenticatedClient {
  readonly client: TokenClient
  readonly method: ClientAuthMethod['name']
}

/** Throws invalid_client, which tells nothing about the reason; the audit event of a known client does. */
export type AuthenticateClient = (
  issuer: Issuer,
  request: FastifyRequest,
  form: Parameters,
) => Promise<AuthenticatedClient>

const refused = (detail: string) => invalidClient('client authentication failed', { detail })

export interface AuthenticateParts {
  readonly methods: readonly ClientAuthMethod[]
  readonly recorder: Recorder
  readonly findClient: FindClient
  readonly clientUsed: (client: TokenClient) => Promise<void>
}

export const createAuthenticateClient = ({
  methods,
  recorder,
  findClient,
  clientUsed,
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

  return async (issuer, request, form) => {
    const { method, presented } = find(request, form)
    const { client, refused: reason } = await findClient(issuer, presented.clientId)
    const { credential } = presented
    const endpointOf = (): string => addressOf(issuer, request)
    const fault = await faultOf(issuer, client, method, { credential, endpointOf })
    if (client && fault === undefined) {
      await clientUsed(client)
      return { client, method: method.name }
    }
    if (client)
      await recorder.append(
        [],
        [
          {
            type: 'CLIENT_LOGIN',
            realm: issuer.name,
            actor: client.id,
            sourceIp: request.ip,
            outcome: 'FAILURE',
            resourceType: Client.resourceType,
            resourceId: client.id,
            detail: `invalid_client: ${fault}`,
          },
        ],
      )
    throw refused(reason ?? fault ?? '')
  }
}
