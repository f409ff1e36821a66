/** `iamctl keys delete`. */

import { agreed } from '../../invocation/agreement.ts'
import { command } from '../../invocation/command.ts'
import { flags, toggle } from '../../invocation/flags.ts'
import { argument } from '../../invocation/operand.ts'
import { openRealm } from '../../invocation/realm.ts'
import { approvalFlag } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'
import { keyFlags, ownerName } from './owner.ts'

export const deleteKey = command({
  name: 'delete',
  description: 'remove a key that no longer signs',
  help: '\nExample:\n  iamctl keys delete 0198c0de-0000-7000-8000-000000000000 --realm acme',
  arguments: [argument('<id>', 'of the key')],
  flags: flags(
    { force: toggle('also a key with valid tokens, which become invalid') },
    approvalFlag,
    keyFlags,
  ),
  run: async (call, id) => {
    const { api, realm } = await openRealm(call)
    const { force, client } = call.flags
    const owner = { realm, client }
    const question = force
      ? `Delete key ${id} of ${ownerName(owner)}? Tokens that it signed become invalid now.`
      : `Delete key ${id} of ${ownerName(owner)}?`
    await agreed(call, question)
    await api.keys.remove(owner, id, force)
    return { realm, deleted: [id] }
  },
  views: {
    human:
      () =>
      ({ deleted }, call) =>
        note(call, `key ${deleted.join()} is deleted`),
    json: () => printJson,
  },
})
