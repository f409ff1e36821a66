/** Every scope that is asked for is one that the client may have, and the agent that it is. */

import type { Agents } from '#server/tokens/agents/agents.ts'
import type { Step } from '../../authorize-request.ts'
import { plainScope } from './organization.ts'

export const scope =
  (agents: Pick<Agents, 'granted'>): Step =>
  async ({ issuer, client, parameters }) => ({
    scope: await agents.granted(issuer.view, client, plainScope(parameters.get('scope'))),
  })
