/** `iamctl agents review`. */

import { command } from '../../invocation/command.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'

export const reviewAgents = command({
  name: 'review',
  description: 'list agents that their owners must confirm, the most urgent first',
  help: `
An agent with reviewEvery must be confirmed by its owner on the account page, or with
\`iamctl agents attest\`. An overdue agent is SUSPENDED until then.

Example:
  iamctl agents review --realm acme`,
  flags: realmFlags,
  run: async (call) => {
    const { api, realm } = await openRealm(call)
    return { realm, items: await api.agents.review(realm) }
  },
  views: {
    human: async () => (await import('../../views/human/live/agents.ts')).showReview,
    json:
      () =>
      ({ items }) =>
        printJson(items),
  },
})
