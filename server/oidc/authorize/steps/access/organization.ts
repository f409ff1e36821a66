/**
 * The organization that tokens are to be for, by alias: the parameter `organization`, or the scope `organization:<alias>`,
 * which implies the scope `organization`. Membership is checked after the sign-in.
 */

import { organizationScope } from '#server/tokens/access/organizations.ts'
import { parseScope } from '#server/tokens/access/scopes.ts'
import { invalidRequest } from '../../../errors.ts'
import type { Step } from '../../authorize-request.ts'

/** Of any alias. */
const longest = 255

const prefix = `${organizationScope}:`

/** The scope as clients may have it. */
export const plainScope = (text: string | undefined): string =>
  parseScope(text)
    .map((one) => (one.startsWith(prefix) ? organizationScope : one))
    .join(' ')

export const organization: Step = ({ parameters }) => {
  const named = parseScope(parameters.get('scope'))
    .filter((one) => one.startsWith(prefix))
    .map((one) => one.slice(prefix.length))
  const wanted = new Set([...named, ...parameters.all('organization')])
  if (wanted.size > 1) throw invalidRequest('a request is for one organization only')
  const [alias] = wanted
  if (alias !== undefined && alias.length > longest)
    throw invalidRequest(`the organization is longer than ${longest} characters`)
  return alias === undefined ? {} : { organization: alias }
}
