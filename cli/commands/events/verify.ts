/** `iamctl events verify`: recomputes the chain of the audit trail on the server, part by part. */

import type { ChainFault, ChainPart } from '#schemas/wire/events.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { command } from '../../invocation/command.ts'
import { flags, text } from '../../invocation/flags.ts'
import { type OnRealm, openRealm } from '../../invocation/realm.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import { printJson } from '../../views/json/json.ts'

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

const verdictOf = async ({ api, realm }: OnRealm, known: string | undefined): Promise<Verdict> => {
  let verdict: Verdict = {
    realm,
    intact: true,
    blocks: 0,
    events: 0,
    unsealed: 0,
    head: null,
    fault: null,
  }
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
  return verdict
}

const refuseBroken = ({ realm, intact, fault }: Verdict, known: string | undefined): void => {
  if (fault !== null)
    throw new CommandError(
      exitCodes.error,
      `the audit trail of realm ${realm} was tampered with: ${sentenceOf(fault)}`,
      { hint: 'compare it with a backup, or with the forwarded events' },
    )
  if (!intact)
    throw new CommandError(
      exitCodes.error,
      `the audit trail of realm ${realm} has no block with the hash ${known}`,
      { hint: 'the trail was cut off or replaced, or retention removed the block' },
    )
}

const intactText = ({ realm, events, blocks, unsealed, head }: Verdict): string => {
  if (head === null)
    return unsealed === 0
      ? `realm ${realm} has no audit events`
      : `warning: nothing is proved: of ${plural(unsealed, 'event')} of realm ${realm} none is sealed yet; verify again when the server has sealed them (every 5 minutes, after 1,000 events and when it stops)`
  const rest = unsealed === 0 ? '' : `; ${plural(unsealed, 'newer event')} not sealed yet`
  const at = `\nblock ${head.block} has the hash ${head.hash}, sealed at ${head.sealedAt}`
  return `the audit trail of realm ${realm} is intact: ${plural(events, 'event')} in ${plural(blocks, 'block')}${rest}${at}`
}

export const verifyEvents = command({
  name: 'verify',
  description: 'check that no event was changed, removed or inserted since it was sealed',
  help: `
The server seals events every 5 minutes, after 1,000 events and when it stops; the number of newer, unchecked events is
printed. A trail that was tampered with is an error that names the first event. Store the printed hash elsewhere and
give it with --known the next time: only that detects a trail that was cut off at its end.

Examples:
  iamctl events verify --realm acme
  iamctl events verify --realm acme --known 3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`,
  flags: flags(
    { known: text('<hash>', 'hash from an earlier check, which the trail must still contain') },
    realmFlags,
  ),
  run: async (call) => verdictOf(await openRealm(call), call.flags.known),
  views: {
    human: () => (verdict, call) => {
      if (verdict.intact) note(call, intactText(verdict))
    },
    json: () => printJson,
  },
  conclude: (verdict, { flags: { known } }) => {
    refuseBroken(verdict, known)
    return undefined
  },
})
