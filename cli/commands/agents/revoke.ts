/** `iamctl agents revoke`: for good, so that it asks first. */

import { agreed } from '../../invocation/agreement.ts'
import { command } from '../../invocation/command.ts'
import { flags } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { approvalFlag, realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'
import { agentArgument } from './move.ts'

export const revokeAgent = command({
  name: 'revoke',
  description: 'stop an agent for good and end all its tokens',
  help: `
A revoked agent cannot be activated again.

Example:
  iamctl agents revoke order-assistant --realm acme --auto-approve`,
  arguments: [agentArgument],
  flags: flags({}, approvalFlag, realmFlags),
  run: async (call, agent) => {
    const { api, realm } = await openRealm(call)
    await agreed(call, `Revoke agent ${agent} of realm ${realm} for good?`)
    return api.agents.move(realm, agent, 'revoke')
  },
  views: {
    human: () => (agent, call) =>
      note(call, `agent ${agent.name} is REVOKED; its tokens have ended`),
    json: () => printJson,
  },
})
