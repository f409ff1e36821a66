/** Deletes one document, after a question. */

import { findKind } from '../../client/kind-names.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'
import { agreed } from './agreement.ts'
import { withRealm } from './connection.ts'

export const remove = async (invocation: Invocation, word: string, key: string): Promise<void> => {
  const kind = findKind(word)
  if (kind.shape === 'singleton')
    throw new CommandError(exitCodes.error, `${kind.kind} cannot be deleted: every realm has it`, {
      hint: 'change it with an apply',
    })
  await withRealm(invocation, async ({ api }, realm) => {
    // Who is asked about something that does not exist was asked in vain.
    await api.documents.get(realm, kind, key)
    await agreed(invocation, `Delete ${kind.kind} ${key} of realm ${realm} at ${api.server}?`)
    await api.documents.remove(realm, kind, key)
    if (invocation.output === 'json') printJson({ realm, kind: kind.kind, key, deleted: true })
    else note(invocation, `${kind.kind} ${key} is deleted from realm ${realm}`)
  })
}
