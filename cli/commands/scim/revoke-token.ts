/** `iamctl scim token revoke`. */

import { agreed } from '../../invocation/agreement.ts'
import { command } from '../../invocation/command.ts'
import { flags } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { approvalFlag, realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'

export const revokeScimToken = command({
  name: 'revoke',
  description: 'revoke a token at once; users and groups of the sender stay',
  help: `
Example:
  iamctl scim token revoke 0198c0de-0000-7000-8000-000000000000 --realm acme --auto-approve`,
  arguments: [argument('<id>', 'id of the token')],
  flags: flags(approvalFlag, realmFlags),
  run: async (call, id) => {
    const { api, realm } = await openRealm(call)
    await agreed(call, `Revoke SCIM token ${id} of realm ${realm}? Its sender is refused at once.`)
    await api.scim.revokeToken(realm, id)
    return { realm, revoked: id }
  },
  views: {
    human:
      () =>
      ({ revoked }, call) =>
        note(call, `SCIM token ${revoked} is revoked`),
    json: () => printJson,
  },
})
