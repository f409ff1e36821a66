/** Shared by the authorization endpoint and the endpoint for pushed requests: the rules, and the pushed requests. */

import type { MapError } from '#server/http/errors.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import type { FindClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import type { ClientKeys } from '../client-auth/client-keys.ts'
import { type CheckRequest, createCheckRequest } from './check-request.ts'
import { createPushedRequests, type PushedRequests } from './pushed-requests.ts'
import type { ResponseMode } from './response-modes/mode.ts'
import { createKnownClient } from './steps/client/known-client.ts'
import { createSteps } from './steps/index.ts'
import { createWholeRequest } from './steps/request/whole-request.ts'

export interface AuthorizeRules {
  readonly checkRequest: CheckRequest
  readonly pushedRequests: PushedRequests
}

export interface AuthorizeRulesParts {
  readonly storage: Storage
  readonly clock: Clock
  readonly grantsStore: GrantsStore
  readonly verifier: Verifier
  readonly agents: Pick<Agents, 'insist' | 'granted' | 'within'>
  readonly clientKeys: ClientKeys
  readonly findClient: FindClient
  readonly responseModes: readonly ResponseMode[]
  readonly mapError?: MapError | undefined
}

export const createAuthorizeRules = (parts: AuthorizeRulesParts): AuthorizeRules => {
  const { storage, clock, grantsStore, verifier, agents, clientKeys, findClient } = parts
  const { responseModes, mapError } = parts
  const pushedRequests = createPushedRequests({ storage, clock, grantsStore })
  return {
    pushedRequests,
    checkRequest: createCheckRequest({
      knownClient: createKnownClient(findClient),
      agents,
      steps: createSteps({ responseModes, verifier, agents }),
      responseModes: responseModes.map(({ name }) => name),
      wholeRequest: createWholeRequest({ clientKeys, clock, pushedRequests }),
      mapError,
    }),
  }
}
