/** `iamctl authz owner-policies`. */

import { command } from '../../invocation/command.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'

export const listOwnerPolicies = command({
  name: 'owner-policies',
  description: 'list the policies of owners about the resources of a client',
  help: `
Owners of resources with ownerManagedAccess open them to roles, groups, clients and users (uma-policy). These policies are no
configuration: no file and no plan shows them.

Example:
  iamctl authz owner-policies orders-api --realm acme`,
  arguments: [argument('<client>', 'client id of the resource server')],
  flags: realmFlags,
  run: async (call, client) => {
    const { api, realm } = await openRealm(call)
    return { client, realm, policies: await api.authz.ownerPolicies(realm, client) }
  },
  views: {
    human: async () => (await import('../../views/human/live/authz/sharing.ts')).showOwnerPolicies,
    json:
      () =>
      ({ policies }) =>
        printJson(policies),
  },
})
