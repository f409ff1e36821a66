/** `iamctl whoami`: the signed-in user, and the permissions on the server. */

import { command } from '../../invocation/command.ts'
import { openConnection } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'

export const whoami = command({
  name: 'whoami',
  description: 'show the signed-in user, server and permissions',
  help: '\nExample:\n  iamctl whoami --realm acme',
  flags: realmFlags,
  run: async (call) => {
    const { api, target } = await openConnection(call)
    const about = target.realm ?? target.authRealm
    const { userId, username, realm, permissions } = await api.whoami(about)
    const { server, context = null } = target
    return { server, context, userId, username, realm, about, permissions }
  },
  views: {
    human: async () => (await import('../../views/human/machine/whoami.ts')).showCaller,
    json: () => printJson,
  },
})
