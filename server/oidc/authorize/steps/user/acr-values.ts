/**
 * `acr_values` (OIDC Core §3.1.2.1): wished levels in order of preference. Unknown values are no error. Without the parameter the
 * values of a voluntary `acr` in `claims` count, and without these the default of the client (OIDC Registration §2).
 */

import { levels } from '#server/sign-in/flow/levels.ts'
import type { Step } from '../../authorize-request.ts'

export const acrValues: Step = ({ client, parameters }, read) => {
  const asked = parameters.get('acr_values')?.split(' ') ?? read.acrValues
  const wanted = new Set(asked ?? client.doc.defaultAcrValues ?? [])
  return { acrValues: [...wanted].filter((value) => levels.includes(value)) }
}
