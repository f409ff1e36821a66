/** `iamctl keys prune`. */

import { isProblem } from '../../client/http/errors.ts'
import { agreed } from '../../invocation/agreement.ts'
import { command } from '../../invocation/command.ts'
import { flags } from '../../invocation/flags.ts'
import { openRealm } from '../../invocation/realm.ts'
import { approvalFlag } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { moment } from '../../views/human/elements/values.ts'
import { printJson } from '../../views/json/json.ts'
import { keyFlags, ownerName } from './owner.ts'

interface Kept {
  readonly keyId: string
  /** When the last token that it signed expires; null where it is kept for another reason. */
  readonly validUntil: number | null
  readonly reason: string
}

/** The time is in the refusal of the server. */
const keptBecause = (keyId: string, error: unknown): Kept => {
  if (!isProblem(error, 409, 'key-in-use')) throw error
  const until = error.extra['validUntil']
  return { keyId, validUntil: typeof until === 'number' ? until : null, reason: error.message }
}

export const pruneKeys = command({
  name: 'prune',
  description: 'remove every key whose tokens have all expired',
  help: '\nExample:\n  iamctl keys prune --realm acme --auto-approve',
  flags: flags(approvalFlag, keyFlags),
  run: async (call) => {
    const { api, realm } = await openRealm(call)
    const owner = { realm, client: call.flags.client }
    const retained = (await api.keys.list(owner)).filter(({ status }) => status === 'PASSIVE')
    if (retained.length > 0)
      await agreed(
        call,
        `Delete those of ${retained.length} retained keys of ${ownerName(owner)} whose tokens have all expired?`,
      )
    const deleted: string[] = []
    const kept: Kept[] = []
    for (const { keyId } of retained)
      try {
        await api.keys.remove(owner, keyId)
        deleted.push(keyId)
      } catch (error) {
        kept.push(keptBecause(keyId, error))
      }
    return { realm, deleted, kept }
  },
  views: {
    human:
      () =>
      ({ deleted, kept }, call) => {
        for (const { keyId, validUntil, reason } of kept)
          note(
            call,
            validUntil === null
              ? `key ${keyId} is kept: ${reason}`
              : `key ${keyId} is kept: its tokens may be valid until ${moment(validUntil)}`,
          )
        note(call, `${deleted.length} keys are deleted, ${kept.length} kept`)
      },
    json: () => printJson,
  },
})
