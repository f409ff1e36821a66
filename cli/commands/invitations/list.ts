/** `iamctl invitations list`. */

import { command } from '../../invocation/command.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'
import { organizationArgument } from './place.ts'

export const listInvitations = command({
  name: 'list',
  description: 'list the invitations that can still be accepted, the latest first',
  help: '\nExample:\n  iamctl invitations list globex --realm acme',
  arguments: [organizationArgument],
  flags: realmFlags,
  run: async (call, organization) => {
    const { api, realm } = await openRealm(call)
    return { organization, invitations: await api.invitations.list({ realm, organization }) }
  },
  views: {
    human: async () => (await import('../../views/human/live/invitations.ts')).showInvitations,
    json:
      () =>
      ({ invitations }) =>
        printJson(invitations),
  },
})
