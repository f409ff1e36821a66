/** `iamctl agents list`. */

import { command } from '../../invocation/command.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'

export const listAgents = command({
  name: 'list',
  description: 'list agents with their state, owner and last use',
  help: '\nExample:\n  iamctl agents list --realm acme',
  flags: realmFlags,
  run: async (call) => {
    const { api, realm } = await openRealm(call)
    return { realm, agents: await api.agents.list(realm) }
  },
  views: {
    human: async () => (await import('../../views/human/live/agents.ts')).showAgents,
    json:
      () =>
      ({ agents }) =>
        printJson(agents),
  },
})
