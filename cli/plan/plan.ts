/**
 * A plan is one value: the same object is shown, saved and applied. It is bound to the revision it was made on and never
 * holds the value of a secret, only where each comes from.
 */

import type { FieldChange } from '#schemas/diff.ts'
import type { Doc } from '#schemas/json-schema.ts'
import type { Impact, LastChange, Place } from '#schemas/wire.ts'
import type { Place as SourcePlace } from '../diagnostics.ts'
import type { SecretSource } from '../load/loaded.ts'

export type Prune = 'owned' | 'all' | 'none'

export type Action =
  | 'create'
  | 'update'
  /** Under a new key; fields may change along with it. */
  | 'rename'
  | 'delete'
  /** Nothing changes but who owns it. */
  | 'adopt'

export interface SecretChange {
  readonly pointer: string
  readonly change: 'set' | 'changed'
  readonly source: SecretSource
}

export interface Change {
  readonly action: Action
  readonly kind: string
  readonly key: string
  /** The key it has now, of a rename. */
  readonly from: string | null
  /** Full state afterwards, without secrets; null of a deletion. */
  readonly doc: Doc | null
  /** The content hash it has now; null: it does not exist. */
  readonly ifHash: string | null
  readonly fields: readonly FieldChange[]
  readonly secrets: readonly SecretChange[]
  readonly protected: { readonly before: boolean; readonly after: boolean }
  /** The source that owns it now, where that is another one. */
  readonly takenFrom: string | null
  /** Where the files say so; null of a deletion. */
  readonly place: SourcePlace | null
  /** Who changed it last, where drift asks. */
  readonly lastChange: LastChange | null
}

export interface PlanWarning {
  readonly code: string
  readonly message: string
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
  /** Configuration that this source does not own, in the sections of the files; the first of them. */
  readonly unmanaged: readonly (Place & { readonly owner: string | null })[]
  readonly unmanagedCount: number
  readonly warnings: readonly PlanWarning[]
  /** Of destructive changes, as the server's dry run told. */
  readonly impacts: readonly Impact[]
  readonly summary: PlanSummary
}

export interface PlanSummary {
  readonly add: number
  readonly change: number
  readonly destroy: number
}

export interface Plan {
  readonly formatVersion: 1
  /** Of the program that made it. */
  readonly version: string
  readonly createdAt: string
  readonly server: string
  readonly realms: readonly RealmPlan[]
}

export const isEmpty = ({ realms }: Plan): boolean =>
  realms.every(({ changes, createRealm }) => changes.length === 0 && !createRealm)
