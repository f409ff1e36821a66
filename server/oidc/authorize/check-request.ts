/**
 * Puts an authorize request through its steps. An error before the redirect URI is known to be the client's is thrown; a
 * later error comes with the redirect URI that it is returned to.
 */

import type { MapError } from '#server/http/errors.ts'
import { AgentInactiveError, type Agents } from '#server/tokens/agents/agents.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { agentNotUsable, type OAuthError, toOAuthError } from '../errors.ts'
import type { Parameters } from '../parameters.ts'
import type { AuthorizeRequest, SentRequest, Step } from './authorize-request.ts'
import type { KnownClient } from './steps/client/known-client.ts'
import { registeredRedirectUri } from './steps/client/registered-redirect-uri.ts'
import { defaultResponseMode, wantedResponseMode } from './steps/client/response-mode.ts'
import type { WholeRequest } from './steps/request/whole-request.ts'

/** What an answer needs. */
export type Target = Pick<AuthorizeRequest, 'redirectUri' | 'responseMode' | 'state'>

export interface Checked {
  readonly client: TokenClient
  readonly request: AuthorizeRequest
  /** Those that count. */
  readonly parameters: Parameters
}

export interface Refused {
  readonly client: TokenClient
  readonly target: Target
  readonly error: OAuthError
}

export interface CheckParts {
  readonly knownClient: KnownClient
  readonly agents: Pick<Agents, 'insist'>
  readonly steps: readonly Step[]
  /** By name. */
  readonly responseModes: readonly string[]
  readonly wholeRequest: (
    issuer: Issuer,
    client: TokenClient,
    sent: Parameters,
  ) => Promise<WholeRequest>
  readonly mapError?: MapError | undefined
}

export type CheckRequest = (
  issuer: Issuer,
  sent: Parameters,
  pushing?: boolean,
) => Promise<Checked | Refused>

const start = (redirectUri: string, parameters: Parameters): AuthorizeRequest => {
  const state = parameters.get('state')
  return {
    redirectUri,
    responseMode: defaultResponseMode(parameters),
    ...(state === undefined ? {} : { state }),
    scope: [],
    resources: [],
    prompt: [],
  }
}

export const createCheckRequest = (parts: CheckParts): CheckRequest => {
  const { knownClient, agents, steps, responseModes, wholeRequest, mapError } = parts

  /** Through the list; what was read up to an error tells how to answer it. */
  const run = async (sent: SentRequest, begun: AuthorizeRequest): Promise<Checked | Refused> => {
    const { client } = sent
    let request = begun
    try {
      for (const step of steps) request = { ...request, ...(await step(sent, request)) }
      return { client, request, parameters: sent.parameters }
    } catch (error) {
      return { client, target: request, error: toOAuthError(error, mapError) }
    }
  }

  /** Where the object or the pushed request cannot be used: answered as it asks from outside, where that is a way at all. */
  const outsideOf = (redirectUri: string, sent: Parameters): AuthorizeRequest => {
    const begun = start(redirectUri, sent)
    const wanted = wantedResponseMode(sent)
    return responseModes.includes(wanted) ? { ...begun, responseMode: wanted } : begun
  }

  /** As before a client is known: nothing is redirected to an agent that is not ACTIVE. */
  const insist = async (issuer: Issuer, client: TokenClient): Promise<void> => {
    try {
      await agents.insist(issuer, client)
    } catch (error) {
      throw error instanceof AgentInactiveError
        ? agentNotUsable(error)
        : toOAuthError(error, mapError)
    }
  }

  return async (issuer, sent, pushing = false) => {
    const client = await knownClient(issuer, sent.require('client_id'))
    await insist(issuer, client)
    try {
      const whole = await wholeRequest(issuer, client, sent)
      const uri = registeredRedirectUri(client, whole.parameters.get('redirect_uri'))
      return await run({ issuer, client, ...whole, pushing }, start(uri, whole.parameters))
    } catch (error) {
      const outside = sent.get('redirect_uri')
      if (outside === undefined) throw error
      const uri = registeredRedirectUri(client, outside)
      return { client, target: outsideOf(uri, sent), error: toOAuthError(error, mapError) }
    }
  }
}
