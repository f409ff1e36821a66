/** The differences between a realm and its files, and the selection of those to adopt. */

import { isDeepStrictEqual } from 'node:util'
import { parentKeyOf } from '#schemas/kind.ts'
import { type Desired, desiredOf } from '#schemas/realm/desired.ts'
import { sectionOf } from '#schemas/realm/realm-document.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import type { Place } from '#schemas/wire/wire.ts'
import type { LoadedRealm } from '../load/loaded.ts'
import type { Actual, ActualDocument } from '../planning/actual.ts'
import { withoutUnstated } from '../planning/followed.ts'
import { lineage, placeKey } from '../planning/names.ts'
import type { DesiredRealm } from '../planning/plan-realm.ts'

export type Difference =
  /** In the files and in the realm. */
  | { readonly type: 'changed'; readonly desired: Desired; readonly document: ActualDocument }
  /** Only in the files. */
  | {
      readonly type: 'gone'
      readonly desired: Desired
      /** It is there, under the name that it had before. */
      readonly isRenamed: boolean
    }
  /** Only in the realm. */
  | { readonly type: 'live'; readonly document: ActualDocument }

export interface AdoptScope {
  readonly source: string
  /** Only these and what is below them; none: all that a plan would change. */
  readonly names: readonly Place[]
  /** Also what no estate owns, in the lists of the files. */
  readonly unmanaged: boolean
}

export const filesOf = ({ flat }: LoadedRealm): DesiredRealm => {
  const { entries, listings } = flat
  return { desired: entries.map(desiredOf), listings }
}

const placeOf = ({ kind, key }: Pick<Desired, 'kind' | 'key'>): string => placeKey(kind.kind, key)

export const keyOfDifference = (one: Difference): Place => {
  const { kind, key } = one.type === 'live' ? one.document : one.desired
  return { kind: kind.kind, key }
}

/** What adopt changes; `unmanaged` are the documents that only `--unmanaged` adopts. */
export interface Found {
  readonly differences: readonly Difference[]
  readonly unmanaged: readonly Place[]
  /** Names that neither the files nor the realm have. */
  readonly unknown: readonly Place[]
}

/** `added`: what was taken in before, by `placeKey`; what is below it follows. */
export const differencesIn = (
  files: DesiredRealm,
  actual: Actual,
  scope: AdoptScope,
  added: ReadonlySet<string> = new Set(),
): Found => {
  const { source, names, unmanaged } = scope
  const named = new Set(names.map(({ kind, key }) => placeKey(kind, key)))
  const isKnown = ({ kind }: Pick<Desired, 'kind'>): boolean =>
    !actual.omitted.has(sectionOf(kind)) &&
    (actual.asked === null || actual.asked.has(sectionOf(kind)))
  const isNamed = ({ kind, key }: Pick<Desired, 'kind' | 'key'>): boolean =>
    lineage(kind, key).some((place) => named.has(place))
  const desired = new Map(files.desired.filter(isKnown).map((one) => [placeOf(one), one]))
  const former = new Set(
    files.desired.flatMap(({ kind, renamedFrom }) =>
      renamedFrom === null ? [] : [placeKey(kind.kind, renamedFrom)],
    ),
  )
  const lists = new Set(
    files.listings.map(({ kind, parentKey }) => placeKey(kind.kind, parentKey ?? '')),
  )

  const differences: Difference[] = []
  for (const [place, one] of desired) {
    if (named.size > 0 && !isNamed(one)) continue
    const found = actual.documents.get(place)
    const document = found && withoutUnstated(one, found)
    const { kind, renamedFrom } = one
    const isRenamed = renamedFrom !== null && actual.documents.has(placeKey(kind.kind, renamedFrom))
    if (!document) differences.push({ type: 'gone', desired: one, isRenamed })
    else if (document.hash !== one.hash || document.protected !== one.protected)
      differences.push({ type: 'changed', desired: one, document })
  }

  const taken = new Set<string>(added)
  const others: Place[] = []
  /** Nothing is to be said about what is as every realm has it. */
  const isBorn = ({ kind, key, body }: ActualDocument): boolean =>
    isDeepStrictEqual(seedOf(kind, key)?.doc, body)
  const isFree = ({ owner }: ActualDocument): boolean => owner === null || owner === source
  const isWanted = (document: ActualDocument): boolean => {
    if (named.size > 0) return isNamed(document) && !isBorn(document)
    const [, above] = lineage(document.kind, document.key)
    if (above !== undefined && taken.has(above) && isFree(document)) return true
    const { kind, key, owner, origin } = document
    const isListed =
      lists.has(placeKey(kind.kind, parentKeyOf(kind, key) ?? '')) ||
      (unmanaged && above !== undefined && desired.has(above))
    const isDeclarable = kind.prune === 'allowed' && origin !== 'built-in' && origin !== 'runtime'
    if (!isListed || !isDeclarable || kind.shape === 'singleton') return false
    if (owner === null && !unmanaged) others.push({ kind: kind.kind, key })
    return owner === source || (owner === null && unmanaged)
  }
  for (const [place, document] of actual.documents) {
    if (desired.has(place) || former.has(place) || !isKnown(document) || !isWanted(document))
      continue
    taken.add(place)
    differences.push({ type: 'live', document })
  }
  const exists = ({ kind, key }: Place): boolean =>
    desired.has(placeKey(kind, key)) || actual.documents.has(placeKey(kind, key))
  return { differences, unmanaged: others, unknown: names.filter((name) => !exists(name)) }
}
