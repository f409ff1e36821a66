/**
 * The code a kind may bring along, where data is not enough: three hooks and no more. A kind that needs a
 * fourth, or must rewrite a generic verb, is not a kind: write actions.
 */

import type { Kysely } from 'kysely'
import type { FieldError, Problem } from '#schemas/problems.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import type { Draft, Drafts } from '../write/drafts.ts'
import type { WriteChannel } from '../write/operations.ts'

export interface PrepareTools {
  readonly realm: string
  readonly db: Kysely<Tables>
  readonly drafts: Drafts
  readonly caller: Caller
  readonly channel: WriteChannel
  readonly now: number
  /** Nothing will be written: work whose result only the database sees can be left out. */
  readonly dryRun: boolean
}

/** Server-made values of one changed document. */
export interface Prepared {
  /** The id of the existing row of the document, instead of the generated one. */
  readonly id?: string
  /** Secrets to keep, instead of those given. */
  readonly secrets?: Readonly<Record<string, string>>
  /** Fields shown once, in the reply to this write. */
  readonly answer?: Readonly<Record<string, unknown>>
  /** Why it cannot be; the operation that names the document is pointed at. */
  readonly refused?: Problem
}

/** Of all changed documents of one kind at once, so that none costs a query of its own. */
export interface Preparation {
  /** In the order of the documents. */
  readonly prepared: readonly Prepared[]
  /** What else the transaction must write, after the documents. */
  readonly statements?: readonly Statement[]
}

export interface PresentTools {
  readonly db: Kysely<Tables>
  readonly view: RealmView
  readonly now: number
}

export interface Behaviour {
  /** Rules across fields and documents; pure. */
  check?(draft: Draft, drafts: Drafts): readonly FieldError[]
  /** Before the transaction; slow work belongs here. */
  prepare?(drafts: readonly Draft[], tools: PrepareTools): Promise<Preparation>
  /** Fields that the document does not hold, or not as they are now, for many documents at once. */
  present?(
    documents: readonly StoredDocument[],
    tools: PresentTools,
  ): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export type Behaviours = ReadonlyMap<string, Behaviour>
