/** A weak choice: allowed, and reported as a warning. */

import type { Kind } from '#schemas/kind.ts'
import type { Declared, Model } from '../../model.ts'

export interface Weakness {
  /** Pointer into the document. */
  readonly field: string
  readonly message: string
  readonly hint?: string
}

export interface WeakChoice {
  readonly kind: Kind
  readonly code: string
  /** For the list of codes. */
  readonly meaning: string
  find(document: Declared, model: Model): readonly Weakness[]
}

/** A choice that is looked for in documents of a kind with every default in its place. */
export const weakChoice = <T>(
  kind: Kind,
  code: string,
  meaning: string,
  find: (doc: T, model: Model) => readonly (Weakness | false)[],
): WeakChoice => ({
  kind,
  code,
  meaning,
  find: (document, model) =>
    find(model.complete(document) as T, model).filter((weakness) => weakness !== false),
})
