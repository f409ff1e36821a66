/** Between deciding and committing: what the kinds add, for all documents of one kind at once. */

import type { Vault } from '#server/keys/vault.ts'
import { createPace } from '#server/platform/pace.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Behaviours, Prepared, PrepareTools } from '../behaviours/behaviour.ts'
import type { Draft } from './drafts.ts'
import { type Effect, effectOf } from './effects.ts'
import { createFaults } from './faults.ts'

/** The documents as they will stand, and what their kinds write beside them. */
export const prepare = async (
  changed: readonly Draft[],
  tools: PrepareTools,
  { behaviours, vault }: { readonly behaviours: Behaviours; readonly vault: Vault },
): Promise<{ readonly effects: Effect[]; readonly beside: readonly Statement[] }> => {
  const found = new Map<Draft, Prepared>()
  const beside: Statement[][] = []
  const faults = createFaults()
  for (const [kind, drafts] of Map.groupBy(changed, (draft) => draft.kind)) {
    const made = await behaviours.get(kind.kind)?.prepare?.(drafts, tools)
    for (const [i, draft] of drafts.entries()) {
      const prepared = made?.prepared[i] ?? {}
      if (prepared.refused) faults.take(draft.at, prepared.refused)
      if (prepared.id !== undefined) draft.id = prepared.id
      found.set(draft, prepared)
    }
    if (made?.statements) beside.push([...made.statements])
  }
  faults.settle()
  const context = {
    realm: tools.realm,
    drafts: tools.drafts,
    now: tools.now,
    vault,
    revealable: tools.drafts.revealable,
  }
  const effects: Effect[] = []
  const pace = createPace()
  for (const draft of changed) {
    effects.push(effectOf(draft, found.get(draft) ?? {}, context))
    if (pace.over()) await pace.rest()
  }
  return { effects, beside: beside.flat() }
}
