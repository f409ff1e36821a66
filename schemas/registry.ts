/** The kinds as a list and by name. Everything that must know all kinds maps over it. */

import type { Kind } from './kind.ts'
import * as list from './kinds/index.ts'

/** By name: plans and exports have this order, which the files of the kinds do not decide. */
export const kinds: readonly Kind[] = Object.values<Kind>(list).toSorted((a, b) =>
  a.kind < b.kind ? -1 : 1,
)

const byName = new Map(kinds.map((kind) => [kind.kind, kind]))

/** The entry of a name that is known to be one, such as a stored row's. */
export const kindNamed = (name: string): Kind => {
  const kind = byName.get(name)
  if (!kind) throw new RangeError(`there is no kind "${name}"`)
  return kind
}

const byParent = Map.groupBy(kinds, ({ parentKind }) => parentKind)

/** The kinds whose documents live below a document of this one. */
export const childrenOf = (kind: Kind): readonly Kind[] => byParent.get(kind.kind) ?? []
