/** `iamctl authz shares`. */

import { command } from '../../invocation/command.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'

export const listShares = command({
  name: 'shares',
  description: 'list what owners share of the resources of a client, and what they are asked for',
  help: `
A share opens one scope of a resource to one user. It is requested until the owner grants it on the account page.

Example:
  iamctl authz shares orders-api --realm acme`,
  arguments: [argument('<client>', 'client id of the resource server')],
  flags: realmFlags,
  run: async (call, client) => {
    const { api, realm } = await openRealm(call)
    return { client, realm, shares: await api.authz.shares(realm, client) }
  },
  views: {
    human: async () => (await import('../../views/human/live/authz/sharing.ts')).showShares,
    json:
      () =>
      ({ shares }) =>
        printJson(shares),
  },
})
