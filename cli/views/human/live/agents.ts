/** Agents, and those that must be confirmed, one a line. */

import type { AgentRecord, ReviewItem } from '#schemas/wire/agents.ts'
import { note } from '../elements/note.ts'
import { printTable } from '../elements/table.ts'
import { ago, moment } from '../elements/values.ts'

interface Call {
  readonly quiet: boolean
}

export const showAgents = (
  { realm, agents }: { readonly realm: string; readonly agents: readonly AgentRecord[] },
  call: Call,
): void => {
  const now = Date.now()
  if (agents.length === 0) note(call, `realm ${realm} has no agents`)
  else
    printTable(
      ['agent', 'state', 'owner', 'client', 'scopes', 'acts for users', 'last used', 'review'],
      agents.map((agent) => [
        agent.name,
        agent.status,
        agent.owner ?? '',
        agent.clientId ?? '',
        agent.allowedScopes.join(', '),
        agent.allowedDelegation ? 'yes' : 'no',
        agent.lastUsedAt === null ? 'never' : ago(agent.lastUsedAt, now),
        moment(agent.nextReviewAt),
      ]),
    )
}

export const showReview = (
  { realm, items }: { readonly realm: string; readonly items: readonly ReviewItem[] },
  call: Call,
): void => {
  if (items.length === 0) note(call, `no agent of realm ${realm} is to be reviewed`)
  else
    printTable(
      ['agent', 'owner', 'due', 'overdue'],
      items.map(({ name, owner, dueAt, overdue }) => [
        name,
        owner ?? '',
        moment(dueAt),
        overdue ? 'yes: SUSPENDED' : 'no',
      ]),
    )
}
