/** `iamctl agents activate`, `suspend` and `attest`: one act each on an agent. */

import type { AgentMove } from '../../client/agents/calls.ts'
import { type AddCommand, command } from '../../invocation/command.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'

interface Act {
  readonly description: string
  /** What it means; the help shows it. */
  readonly help: string
  readonly done: string
}

export const agentArgument = argument('<agent>', 'name or id of the agent')

const mover = (name: AgentMove, { description, help, done }: Act): AddCommand =>
  command({
    name,
    description,
    help: `\n${help}\n\nExample:\n  iamctl agents ${name} order-assistant --realm acme`,
    arguments: [agentArgument],
    flags: realmFlags,
    run: async (call, agent) => {
      const { api, realm } = await openRealm(call)
      return api.agents.move(realm, agent, name)
    },
    views: {
      human: () => (agent, call) => note(call, `agent ${agent.name} ${done}`),
      json: () => printJson,
    },
  })

export const activateAgent = mover('activate', {
  description: 'let an agent get tokens',
  help: 'An agent is PENDING until it is activated, and SUSPENDED after a suspension.',
  done: 'is ACTIVE',
})

export const suspendAgent = mover('suspend', {
  description: 'stop an agent and end all its tokens',
  help: 'Its next request is refused. An activation does not bring old tokens back.',
  done: 'is SUSPENDED; its tokens have ended',
})

export const attestAgent = mover('attest', {
  description: 'confirm that an agent is still needed',
  help: 'The next review is due after its reviewEvery.',
  done: 'is confirmed',
})
