/** `iamctl invitations revoke`. */

import { CommandError, exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { shellWord } from '../../shell-word.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'
import { organizationArgument } from './place.ts'

export const revokeInvitation = command({
  name: 'revoke',
  description: 'revoke an invitation',
  help: '\nExample:\n  iamctl invitations revoke globex ines@globex.example --realm acme',
  arguments: [organizationArgument, argument('<invitation>', 'id, or the address that it went to')],
  flags: realmFlags,
  run: async (call, organization, name) => {
    const { api, realm } = await openRealm(call)
    const open = await api.invitations.list({ realm, organization })
    const folded = name.toLowerCase()
    const revoked = open.find(({ id, email }) => id === name || email.toLowerCase() === folded)
    if (!revoked)
      throw new CommandError(
        exitCodes.error,
        `no open invitation "${name}" to organization ${organization}`,
        {
          hint: `list open invitations: iamctl invitations list ${shellWord(organization)} --realm ${realm}`,
        },
      )
    await api.invitations.revoke({ realm, organization }, revoked.id)
    return { realm, organization, revoked }
  },
  views: {
    human:
      () =>
      ({ revoked }, call) =>
        note(call, `the invitation of ${revoked.email} is revoked`),
    json: () => printJson,
  },
})
