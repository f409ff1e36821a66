/** `iamctl events verify`: recomputes the chain of the audit trail on the server, part by part. */

import type { ChainFault, ChainPart } from '../../../client/records.ts'
import { CommandError, exitCodes } from '../../../exit.ts'
import { note } from '../../../views/human/elements/note.ts'
import { printJson } from '../../../views/json/json.ts'
import { type Invocation, textOf } from '../../invocation.ts'
import { withRealm } from '../connection.ts'

interface Verdict {
  readonly realm: string
  readonly intact: boolean
  readonly blocks: number
  readonly events: number
  readonly unsealed: number
  readonly head: ChainPart['head']
  readonly fault: ChainFault | null
}

const happened: Readonly<Record<ChainFault['kind'], string>> = {
  changed: 'was changed',
  removed: 'was removed',
  inserted: 'was inserted',
  block: 'was tampered with or follows one that is gone',
}

const sentenceOf = ({ kind, eventId, block }: ChainFault): string => {
  const where = block === null ? 'after the last block' : `block ${block}`
  return eventId === null
    ? `${where} ${happened[kind]}`
    : `event ${eventId} (${where}) ${happened[kind]}`
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

export const verifyEvents = (invocation: Invocation): Promise<void> =>
  withRealm(invocation, async ({ api }, realm) => {
    let verdict: Verdict = {
      realm,
      intact: true,
      blocks: 0,
      events: 0,
      unsealed: 0,
      head: null,
      fault: null,
    }
    const known = textOf(invocation, 'known')
    for (let after: number | null = 0; after !== null; ) {
      const part: ChainPart = await api.events.verify(realm, after, known)
      const isCut = known !== undefined && part.knownBlock === null
      verdict = {
        realm,
        intact: part.fault === null && !isCut,
        blocks: verdict.blocks + part.blocks,
        events: verdict.events + part.events,
        unsealed: part.unsealed ?? 0,
        head: part.head ?? verdict.head,
        fault: part.fault,
      }
      after = part.fault === null ? part.next : null
    }
    if (invocation.output === 'json') printJson(verdict)
    const { events, blocks, unsealed, head, fault } = verdict
    if (fault !== null)
      throw new CommandError(
        exitCodes.error,
        `the audit trail of realm ${realm} was tampered with: ${sentenceOf(fault)}`,
        { hint: 'compare it with a backup, or with the forwarded events' },
      )
    if (!verdict.intact)
      throw new CommandError(
        exitCodes.error,
        `the audit trail of realm ${realm} has no block with the hash ${known}`,
        { hint: 'the trail was cut off or replaced, or retention removed the block' },
      )
    if (invocation.output === 'json') return
    if (head === null)
      return note(
        invocation,
        unsealed === 0
          ? `realm ${realm} has no audit events`
          : `warning: nothing is proved: of ${plural(unsealed, 'event')} of realm ${realm} none is sealed yet; verify again when the server has sealed them (every 5 minutes, after 1,000 events and when it stops)`,
      )
    const rest = unsealed === 0 ? '' : `; ${plural(unsealed, 'newer event')} not sealed yet`
    const at = `\nblock ${head.block} has the hash ${head.hash}, sealed at ${head.sealedAt}`
    note(
      invocation,
      `the audit trail of realm ${realm} is intact: ${plural(events, 'event')} in ${plural(blocks, 'block')}${rest}${at}`,
    )
  })
