/**
 * Rules across the fields of a document and across documents: what a schema cannot say. Pure, because both sides hold
 * to them: the CLI before anything is sent, on the files and the seeds; the server before anything is written.
 */

import type { Doc } from '../json-schema.ts'
import type { Kind } from '../kind.ts'
import type { SettingsDoc } from '../kinds/settings.ts'
import type { FieldError } from '../problems.ts'

export interface RuleContext {
  /** Another document of the realm as it will be, with every default in its place. */
  find(kind: string, key: string): Doc | undefined
  /** Every document of a kind that the rule names in `looksAt`, by key; the same map for all checks of one change. */
  all(kind: string): ReadonlyMap<string, Doc>
  /** Made by the first check of one change that asks for it, and the same for all others: documents stay as they are. */
  once<T>(name: string, make: () => T): T
  readonly settings: SettingsDoc
  /** Pointers of the secrets that this document has: given now or stored before. */
  readonly secrets: ReadonlySet<string>
  /** Pointers of the secrets that are given now. */
  readonly given: ReadonlySet<string>
  /** The document stays as it is, and is checked because the rule looks at another one that changes. */
  readonly stays?: boolean
}

/** The document comes with every default in its place and fits its schema. */
export type Rule = (doc: Doc, key: string, context: RuleContext) => readonly FieldError[]

export interface KindRule {
  readonly kind: Kind
  readonly check: Rule
  /** Of other kinds that the rule reads: what it says of a document may change when one of them does. */
  readonly looksAt: readonly Kind[]
  /** Kinds whose documents the rule follows from one to the next: all of them are there when it is asked. */
  readonly reads: readonly Kind[]
}

/** A rule that is written against the kind's own type; the value was checked against its schema. */
export const ruleFor = <T>(
  kind: Kind,
  check: (doc: T, key: string, context: RuleContext) => readonly FieldError[],
  looksAt: readonly Kind[] = [],
  reads: readonly Kind[] = [],
): KindRule => ({
  kind,
  check: (doc, key, context) => check(doc as T, key, context),
  looksAt,
  reads,
})

/** For one change: whatever a rule finds out about all documents, under a name of its own. */
export const createOnce = (): RuleContext['once'] => {
  const made = new Map<string, unknown>()
  return <T>(name: string, make: () => T): T => {
    if (!made.has(name)) made.set(name, make())
    return made.get(name) as T
  }
}
