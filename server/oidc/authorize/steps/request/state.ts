/** `state` (RFC 6749 §4.1.1). Every answer has it, also the one that refuses it (§4.1.2.1): it is known before this step. */

import { stateOf } from '../../../parameters.ts'
import type { Step } from '../../authorize-request.ts'

export const state: Step = ({ parameters }) => {
  stateOf(parameters)
  return {}
}
