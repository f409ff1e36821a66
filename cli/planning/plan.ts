/**
 * A plan is one value: the same object is shown, saved and applied. It is bound to the revision it was made on and never
 * holds the value of a secret, only where each comes from.
 */

import type { Caution } from '#schemas/access/shared-issuers.ts'
import { type ChangeCounts, countChanges, type Figure, figureOf } from '#schemas/change-counts.ts'
import type { FieldChange } from '#schemas/diff.ts'
import type { Doc } from '#schemas/json-schema.ts'
import type { Impact, LastChange, Place, SecretPlace } from '#schemas/wire/wire.ts'
import type { Place as SourcePlace } from '../diagnostics.ts'
import { type ExitCode, exitCodes } from '../exit.ts'
import type { SecretSource } from '../load/loaded.ts'

export type Prune = 'owned' | 'all' | 'none'

export type Action =
  | 'create'
  | 'update'
  /** Under a new key; fields may change along with it. */
  | 'rename'
  | 'delete'
  /** Nothing changes but who owns it, or whether it is protected. */
  | 'adopt'

export interface SecretChange {
  readonly pointer: string
  /** `again`: the value that is stored, given again because it is sent elsewhere from now on. */
  readonly change: 'set' | 'changed' | 'again'
  readonly source: SecretSource
}

/** A secret of the files whose variable is not set where the plan is made. */
export interface UnknownSecret extends SecretPlace {
  readonly source: SecretSource
}

export interface Change {
  readonly action: Action
  readonly kind: string
  readonly key: string
  /** The key it has when its turn comes, of a rename: spelled with the new key of a parent that is renamed too. */
  readonly from: string | null
  /** Full state now, without secrets, references already following what is renamed; null: it does not exist. */
  readonly before: Doc | null
  /** Full state afterwards, without secrets; null of a deletion. */
  readonly doc: Doc | null
  /** The content hash it has now; null: it does not exist. */
  readonly ifHash: string | null
  /** From `before` to `doc`; empty where one of them is null. */
  readonly fields: readonly FieldChange[]
  readonly secrets: readonly SecretChange[]
  readonly protected: { readonly before: boolean; readonly after: boolean }
  /** It exists and becomes owned by this source, which it was not. */
  readonly adopts: boolean
  /** The source that owns it now, where that is another one; of a deletion, also of what goes along. */
  readonly takenFrom: string | null
  /** Of a deletion: what goes along, below it or because it cannot be without it. */
  readonly cascades: readonly Place[]
  /** Where the files say so; null of a deletion. */
  readonly place: SourcePlace | null
  /** The actor of the last change, where drift asks; of a document to be created again, the actor of its deletion. */
  readonly lastChange: LastChange | null
}

export type WarningCode =
  /** What `renamedFrom` names does not exist, nor does the new key: it is created. */
  | 'rename-source-missing'
  /** Both the old and the new key exist; the old one, which others own, stays. */
  | 'rename-not-done'
  /** It has another name by now, given outside the files: the plan gives its own back. */
  | 'renamed-by-hand'
  /** One is made and one destroyed that differ by their names alone. */
  | 'looks-renamed'
  /** Owned by this source, in lists that the files no longer have. */
  | 'orphaned'
  /** It left the files, and stays as it is because it is part of every realm. */
  | 'built-in-kept'
  /** It left the files, and stays because nothing is pruned. */
  | 'not-pruned'
  /** Only a part was planned. */
  | 'targeted'
  /** A document holds admin permissions afterwards that it did not hold before. */
  | 'rise-of-privilege'
  /** Exists without a file: the apply replaces what the files say otherwise or leave out. */
  | 'user-exists'
  /** The server generates a secret for a new document and shows it nowhere. */
  | 'secret-not-kept'
  /** The variables of secrets are not set, and the caller may only plan: they were not compared. */
  | 'secret-unknown'
  /** Files were named, and other files of the estate hold more of the realm. */
  | 'narrowed'
  /** A rollback gave users back, and they have no credentials since. */
  | 'without-credentials'
  /** Fields that the server reads from elsewhere differ from the files, and are left alone. */
  | 'followed'
  /** A document allows what its author may not have meant. */
  | Caution['code']
/** It is stored, and nothing in this version uses documents of its kind. */

export interface PlanWarning {
  readonly code: WarningCode
  readonly message: string
  /** Those that the message speaks of. */
  readonly documents?: readonly Place[]
}

/** Why a plan cannot be applied, and the code with which a command ends because of it. */
export const problemExitCodes = {
  /** A field that is set once would change; a document is never deleted and made again for it. */
  immutable: exitCodes.invalid,
  /** A stored secret would be sent elsewhere, and the files do not hold it. */
  'secret-moved': exitCodes.invalid,
  /** Names that change places, or a document that would move below itself. */
  'rename-cycle': exitCodes.invalid,
  /** Two entries say that they were the same document. */
  'rename-twice': exitCodes.invalid,
  /** Both keys exist, and the old one would be deleted instead of renamed. */
  'rename-conflict': exitCodes.conflict,
  /** The files name what would be destroyed, because it left them. */
  'missing-reference': exitCodes.invalid,
  /** Neither the files nor the realm have what is to be planned. */
  'unknown-target': exitCodes.invalid,
  /** A name that the server takes for that of another document: only its case differs. */
  'same-name': exitCodes.invalid,
  /** Another source owns it. */
  owned: exitCodes.conflict,
  protected: exitCodes.guarded,
  /** The document has what only a newer version knows, and the change would take it away. */
  'newer-server': exitCodes.error,
  /** The files have a section that the caller may not read. */
  unreadable: exitCodes.denied,
} as const satisfies Record<string, ExitCode>

export type ProblemCode = keyof typeof problemExitCodes

export interface PlanProblem extends Place {
  readonly code: ProblemCode
  readonly message: string
  readonly place: SourcePlace | null
}

export interface RealmPlan {
  readonly realm: string
  readonly baseRevision: number
  /** The realm does not exist yet: it is made by the apply. */
  readonly createRealm: boolean
  readonly source: string
  readonly prune: Prune
  /** In the order in which they are applied: parents and what is referred to first, deletions last. */
  readonly changes: readonly Change[]
  /** Configuration that this source does not own, in the lists of the files; the first of them. */
  readonly unmanaged: readonly (Place & { readonly owner: string | null })[]
  readonly unmanagedCount: number
  readonly warnings: readonly PlanWarning[]
  /** With any of these, the plan is shown and refused. */
  readonly problems: readonly PlanProblem[]
  /** Of destructive changes and rises of privilege, as the server's dry run told. */
  readonly impacts: readonly Impact[]
  /** Secrets of the files whose variables are not set; absent where there is none. */
  readonly unknownSecrets?: readonly UnknownSecret[]
  readonly summary: PlanSummary
}

export interface PlanSummary {
  /** Documents: a realm that is made is none. */
  readonly add: number
  /** Updated, renamed, protected. */
  readonly change: number
  /** With what goes along. */
  readonly destroy: number
  /** Adopted or taken over: nothing changes but their owner. */
  readonly adopt: number
  /** Changed by the server because of others, as its dry run told: references follow a rename or a deletion. */
  readonly along: number
}

/** Limits that an apply does not go beyond: exit code 7. */
export interface Guards {
  /** At most so many documents may be destroyed in one realm by one apply. */
  readonly maxDeletions: number
}

export interface Plan {
  readonly formatVersion: 1
  /** Of the program that made it. */
  readonly version: string
  readonly createdAt: string
  readonly server: string
  /** Those that it was made under; an apply of the saved plan may have stricter ones. */
  readonly guards: Guards
  readonly realms: readonly RealmPlan[]
}

/** The document matches the files and has no owner: the apply records the owner and changes nothing else. */
export const isAdoption = ({ action, takenFrom, protected: guard }: Change): boolean =>
  action === 'adopt' && takenFrom === null && guard.before === guard.after

/** Whether the realm will be another one. */
export const hasChanges = ({ changes, createRealm }: RealmPlan): boolean =>
  createRealm || changes.some((change) => !isAdoption(change))

export const isEmpty = ({ realms }: Plan): boolean => !realms.some(hasChanges)

/** Whether there is anything to send, if only to note owners. */
export const hasWork = ({ changes, createRealm }: RealmPlan): boolean =>
  createRealm || changes.length > 0

export const emptySummary: PlanSummary = { add: 0, change: 0, destroy: 0, adopt: 0, along: 0 }

const figureOfChange = ({ action, protected: guard }: Change): Figure => {
  if (action !== 'adopt') return figureOf[action]
  return guard.before === guard.after ? 'adopted' : 'updated'
}

/** What the server counted, in the words of a plan. */
export const summaryOfCounts = (counts: ChangeCounts): PlanSummary => ({
  add: counts.created,
  change: counts.updated,
  destroy: counts.deleted,
  adopt: counts.adopted,
  along: counts.along,
})

/** `along` is known to the server alone. */
export const summaryOf = (changes: readonly Change[], along = 0): PlanSummary => {
  const cascades = new Set(
    changes.flatMap(({ cascades }) => cascades.map(({ kind, key }) => `${kind}\n${key}`)),
  )
  const counts = countChanges([
    ...changes.map(figureOfChange),
    ...Array.from(cascades, () => 'deleted' as const),
  ])
  return { ...summaryOfCounts(counts), along }
}

export const totalOf = (realms: readonly Pick<RealmPlan, 'summary'>[]): PlanSummary =>
  realms.reduce<PlanSummary>(
    (total, { summary }) => ({
      add: total.add + summary.add,
      change: total.change + summary.change,
      destroy: total.destroy + summary.destroy,
      adopt: total.adopt + summary.adopt,
      along: total.along + summary.along,
    }),
    emptySummary,
  )

/** With any problem in it, an apply refuses. */
export const isApplicable = ({ realms }: Plan): boolean =>
  realms.every(({ problems }) => problems.length === 0)
