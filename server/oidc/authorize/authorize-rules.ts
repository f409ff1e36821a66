/** What the authorization endpoint and the one for pushed requests share: the rules, and the requests that were pushed. */

import type { ClientKeys } from '../client-auth/client-keys.ts'
import type { OidcParts } from '../parts.ts'
import { type CheckRequest, createCheckRequest } from './check-request.ts'
import { createPushedRequests, type PushedRequests } from './pushed-requests.ts'
import type { ResponseMode } from './response-modes/mode.ts'
import { createSteps } from './steps/index.ts'
import { createWholeRequest } from './steps/whole-request.ts'

export interface AuthorizeRules {
  readonly checkRequest: CheckRequest
  readonly pushedRequests: PushedRequests
}

export const createAuthorizeRules = (
  parts: OidcParts & { readonly clientKeys: ClientKeys },
  responseModes: readonly ResponseMode[],
): AuthorizeRules => {
  const pushedRequests = createPushedRequests(parts)
  return {
    pushedRequests,
    checkRequest: createCheckRequest({
      steps: createSteps({ ...parts, responseModes }),
      responseModes: responseModes.map(({ name }) => name),
      wholeRequest: createWholeRequest({ ...parts, pushedRequests }),
      mapError: parts.mapError,
    }),
  }
}
