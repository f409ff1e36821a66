/** The response mode, resolved before any error that is sent to the client. */

import { invalidRequest } from '../../../errors.ts'
import type { Step } from '../../authorize-request.ts'
import type { ResponseMode } from '../../response-modes/mode.ts'

export const defaultResponseMode = 'query'

export const responseMode =
  (modes: readonly ResponseMode[]): Step =>
  ({ parameters }) => {
    const name = parameters.get('response_mode') ?? defaultResponseMode
    if (!modes.some((mode) => mode.name === name))
      throw invalidRequest('there is no such response_mode')
    return { responseMode: name }
  }
