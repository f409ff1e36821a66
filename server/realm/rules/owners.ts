/** A document of another owner is replaced or deleted only with `takeOver`. */

import { Problem } from '#schemas/problems.ts'
import type { Place } from '#schemas/wire/wire.ts'
import type { WriteChannel } from '../write/operations.ts'

export interface Owned extends Place {
  readonly owner: string
}

/** Writes without an owner, such as those of the admin API, leave documents with theirs. */
export const mayTakeOver = ({ owner, takeOver }: WriteChannel): boolean =>
  owner === null || takeOver === true

export const ownedByOthers = (documents: readonly Owned[]): Problem => {
  const names = documents.map(({ kind, key, owner }) => `${kind} "${key}" belongs to ${owner}`)
  return new Problem('owned', names.slice(0, 20).join('; '), { extra: { documents } })
}
