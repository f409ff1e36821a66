/** Every requested scope is allowed to the client and, where the client is an agent, to the agent. */

import type { Agents } from '#server/tokens/agents/agents.ts'
import type { Step } from '../../authorize-request.ts'
import { plainScope } from './organization.ts'

export const scope =
  (agents: Pick<Agents, 'granted'>): Step =>
  async ({ issuer, client, parameters }) => ({
    scope: await agents.granted(issuer.view, client, plainScope(parameters.get('scope'))),
  })
