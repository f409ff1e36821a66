/** Every scope that is asked for is one that the client may have. */

import { grantedScopes } from '#server/tokens/access/scopes.ts'
import type { Step } from '../../authorize-request.ts'
import { plainScope } from './organization.ts'

export const scope: Step = ({ client, parameters }) => ({
  scope: grantedScopes(client, plainScope(parameters.get('scope'))),
})
