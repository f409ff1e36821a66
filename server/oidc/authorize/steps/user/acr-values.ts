/**
 * `acr_values` (OIDC Core §3.1.2.1): wished levels in order of preference. Unknown values are no error. Without the parameter the
 * default of the client counts (OIDC Registration §2).
 */

import { levels } from '#server/sign-in/flow/levels.ts'
import type { Step } from '../../authorize-request.ts'

export const acrValues: Step = ({ client, parameters }) => {
  const wanted = parameters.get('acr_values')?.split(' ') ?? client.doc.defaultAcrValues ?? []
  const known = wanted.filter((value) => levels.includes(value))
  return known.length > 0 ? { acrValues: known } : {}
}
