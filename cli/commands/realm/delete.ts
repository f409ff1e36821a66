/** `iamctl delete`. */

import { CommandError, exitCodes } from '../../exit.ts'
import { agreed } from '../../invocation/agreement.ts'
import { command } from '../../invocation/command.ts'
import { flags } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { approvalFlag, realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'

export const deleteDocument = command({
  name: 'delete',
  description: 'delete a document of a realm',
  help: `
The next apply creates a document again that a file declares: remove it from the file instead.

Examples:
  iamctl delete client web --realm acme
  iamctl delete group /Staff/Helpdesk --realm acme --auto-approve`,
  arguments: [argument('<kind>', 'such as client'), argument('<key>', 'natural key or id')],
  flags: flags(approvalFlag, realmFlags),
  run: async (call, word, key) => {
    const { findKind } = await import('../../client/kind-names.ts')
    const kind = findKind(word)
    if (kind.shape === 'singleton')
      throw new CommandError(
        exitCodes.error,
        `${kind.kind} cannot be deleted: every realm has it`,
        { hint: 'change it with an apply' },
      )
    const { api, realm } = await openRealm(call)
    // A missing document is reported before the confirmation.
    await api.documents.get(realm, kind, key)
    await agreed(call, `Delete ${kind.kind} ${key} of realm ${realm} at ${api.server}?`)
    await api.documents.remove(realm, kind, key)
    return { realm, kind: kind.kind, key, deleted: true }
  },
  views: {
    human:
      () =>
      ({ realm, kind, key }, call) =>
        note(call, `${kind} ${key} is deleted from realm ${realm}`),
    json: () => printJson,
  },
})
