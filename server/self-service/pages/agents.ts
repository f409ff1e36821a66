/** The page of the agents that act for the user, of those that wait for a decision, and of those that the user answers for. */

import type { OwnAgents } from '../agents.ts'
import type { SelfServicePages } from './definitions.ts'
import { type Frame, goTo, selfOf } from './frame.ts'
import type { AccountPage } from './page.ts'

export interface AgentsPageParts {
  readonly pages: SelfServicePages
  readonly frame: Frame
  readonly agents: OwnAgents
}

const path = '/agents'

export const agentsPage = ({ pages, frame, agents }: AgentsPageParts): AccountPage => ({
  path,
  section: 'agents',
  name: 'agents-page',
  summary: 'Agents that act for the user, and those that the user answers for',
  show: async (visit) => {
    const self = selfOf(visit)
    return pages.accountAgents(visit.reply, {
      ...(await frame(visit, path)),
      acting: await agents.acting(self),
      waiting: await agents.waiting(self),
      owned: await agents.owned(self),
    })
  },
  fields: ['revoke', 'attest'],
  events: ['REVOKE_GRANT', 'AGENT_ATTESTED'],
  submit: async (visit, form) => {
    const self = selfOf(visit)
    const attested = form.get('attest')
    if (attested === undefined) await agents.revoke(self, form.get('revoke') ?? '')
    else await agents.attest(self, attested)
    return goTo(visit, path, attested === undefined ? 'removed' : 'saved')
  },
})
