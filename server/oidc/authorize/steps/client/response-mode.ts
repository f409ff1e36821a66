/** The response mode, resolved before any error that is sent to the client. */

import { invalidRequest } from '../../../errors.ts'
import type { Parameters } from '../../../parameters.ts'
import type { Step } from '../../authorize-request.ts'
import type { ResponseMode } from '../../response-modes/mode.ts'

/**
 * The mode of the response type where the request names none: of a type with a token in it, the fragment. No such type is offered, but
 * its client looks there for the error as well (OAuth 2.0 Multiple Response Types §5, OIDC Core §3.2.2.6).
 */
export const defaultResponseMode = (parameters: Parameters): 'fragment' | 'query' => {
  const types = parameters.get('response_type')?.split(' ') ?? []
  return types.includes('token') || types.includes('id_token') ? 'fragment' : 'query'
}

/** Which way `jwt` goes is also a matter of the response type (JARM §2.3.4). */
export const wantedResponseMode = (parameters: Parameters): string => {
  const asked = parameters.get('response_mode')
  const usual = defaultResponseMode(parameters)
  return asked === 'jwt' ? `${usual}.jwt` : (asked ?? usual)
}

export const responseMode =
  (modes: readonly ResponseMode[]): Step =>
  ({ parameters }) => {
    const wanted = wantedResponseMode(parameters)
    if (!modes.some(({ name }) => name === wanted))
      throw invalidRequest(
        `response_mode has an unknown value: use ${modes.map(({ name }) => name).join(', ')}`,
      )
    return { responseMode: wanted }
  }
