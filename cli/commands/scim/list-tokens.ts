/** `iamctl scim token list`. */

import { command } from '../../invocation/command.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { printJson } from '../../views/json/json.ts'

export const listScimTokens = command({
  name: 'list',
  description: 'list the tokens of senders, the latest first, without their values',
  help: '\nExample:\n  iamctl scim token list --realm acme',
  flags: realmFlags,
  run: async (call) => {
    const { api, realm } = await openRealm(call)
    return { realm, tokens: await api.scim.tokens(realm) }
  },
  views: {
    human: async () => (await import('../../views/human/live/scim-tokens.ts')).showScimTokens,
    json:
      () =>
      ({ tokens }) =>
        printJson(tokens),
  },
})
