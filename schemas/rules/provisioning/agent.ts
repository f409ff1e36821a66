/** Agents: a client is one agent at most, so that its lifecycle has one answer. */

import type { Doc } from '../../json-schema.ts'
import { Agent, type AgentDoc } from '../../kinds/provisioning/agent.ts'
import { ruleFor } from '../rule.ts'

const countByClient = (all: ReadonlyMap<string, Doc>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const doc of all.values()) {
    const { clientId } = doc as AgentDoc
    if (clientId !== undefined) counts.set(clientId, (counts.get(clientId) ?? 0) + 1)
  }
  return counts
}

export const agent = ruleFor<AgentDoc>(
  Agent,
  ({ clientId }, _key, { all, once }) => {
    if (clientId === undefined) return []
    const count = once('agents by client', () => countByClient(all(Agent.kind))).get(clientId) ?? 0
    return count < 2
      ? []
      : [
          {
            field: '/clientId',
            code: 'duplicate',
            message:
              'another agent authenticates as this client; give each agent a client of its own',
          },
        ]
  },
  [Agent],
)
