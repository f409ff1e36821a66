/** The reply of a changeset or of its dry run. */

import { countChanges } from '#schemas/change-counts.ts'
import { diff, type FieldChange } from '#schemas/diff.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import type { ChangesetChange, ChangesetReply } from '#schemas/wire/wire.ts'
import { opOf } from '../write/commit.ts'
import { type Effect, fieldsChangedBy, keyOf } from '../write/effects.ts'

/** Only a dry run returns the fields of created and deleted documents. */
const fieldsOf = (effect: Effect, dryRun: boolean): readonly FieldChange[] => {
  const { draft, before, after } = effect
  const seed = seedBefore(effect)
  if (seed) return diff(draft.kind, seed, after?.body ?? null)
  return dryRun || (before && after) ? fieldsChangedBy(effect) : []
}

/** A document that its realm is born with is there as far as the sender of the changeset is concerned. */
const seedBefore = ({ draft, before, after }: Effect): Doc | undefined =>
  !before && after?.origin === 'built-in' ? seedOf(draft.kind, after.key)?.doc : undefined

const changeOf = (effect: Effect, dryRun: boolean): ChangesetChange => {
  const { draft, before, after, prepared } = effect
  const op = seedBefore(effect) ? 'update' : opOf(effect)
  return {
    op,
    kind: draft.kind.kind,
    key: keyOf(effect),
    figure: draft.figure ?? null,
    ...(op === 'rename' && before ? { from: before.key } : {}),
    fields: fieldsOf(effect, dryRun),
    secrets: after ? Object.keys({ ...draft.secrets, ...prepared.secrets }).sort() : [],
  }
}

export const replyOf = (
  effects: readonly Effect[],
  { revision, dryRun }: Pick<ChangesetReply, 'revision' | 'dryRun'>,
): Omit<ChangesetReply, 'impacts'> => {
  const changes = effects
    .filter(({ draft }) => !draft.seed)
    .map((effect) => changeOf(effect, dryRun))
  return { revision, dryRun, ...countChanges(changes.map(({ figure = null }) => figure)), changes }
}
