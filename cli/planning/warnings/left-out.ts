/** Documents without an entry in the files: which are pruned, and which are reported. */

import { parentKeyOf } from '#schemas/kind.ts'
import type { Listing } from '#schemas/realm/realm-document.ts'
import type { Place } from '#schemas/wire/wire.ts'
import type { ActualDocument } from '../actual.ts'
import { byPlace, lineage, namesOf, placeKey } from '../names.ts'
import type { PlanWarning, Prune } from '../plan.ts'

export interface Left {
  readonly document: ActualDocument
  /** The key that it has after the renames. */
  readonly key: string
  /** Whether the list in which it would stand is in the files. */
  readonly isListed: boolean
}

export const placeOf = ({ document, key }: Pick<Left, 'document' | 'key'>): Place => ({
  kind: document.kind.kind,
  key,
})

export const leftOut = (
  documents: Iterable<ActualDocument>,
  isMatched: (document: ActualDocument) => boolean,
  keyOf: (document: ActualDocument) => string,
  listings: readonly Listing[],
): Left[] => {
  const lists = new Set(listings.map(({ kind, parentKey }) => placeKey(kind.kind, parentKey ?? '')))
  const left: Left[] = []
  for (const document of documents) {
    if (isMatched(document)) continue
    const key = keyOf(document)
    const list = placeKey(document.kind.kind, parentKeyOf(document.kind, key) ?? '')
    left.push({ document, key, isListed: lists.has(list) })
  }
  return left
}

/** What every realm has, what is made while it runs, and what there is one of always stay. */
const isPrunable = ({ kind, origin }: ActualDocument): boolean =>
  kind.prune === 'allowed' &&
  kind.shape !== 'singleton' &&
  origin !== 'built-in' &&
  origin !== 'runtime'

export const isDoomed = ({ document, isListed }: Left, prune: Prune, source: string): boolean =>
  isListed &&
  isPrunable(document) &&
  (prune === 'all' || (prune === 'owned' && document.owner === source))

const warn = (
  code: PlanWarning['code'],
  documents: readonly Place[],
  words: string,
  count = documents.length,
): PlanWarning[] => {
  const sorted = documents.toSorted(byPlace)
  return sorted.length === 0
    ? []
    : [{ code, message: `${words}: ${namesOf(sorted, count)}`, documents: sorted }]
}

/** Orphans: documents of this source whose list is not in the files. Of many, the first. */
export const orphanWarning = (documents: readonly Place[], count?: number): PlanWarning[] =>
  warn(
    'orphaned',
    documents,
    'documents of this source are in sections or lists that the files do not have; they stay unchanged',
    count,
  )

/** How many files are named in a sentence. */
const mostFiles = 5

/** The plan is about the documents of the named files alone. */
export const narrowedWarning = (files: readonly string[]): PlanWarning[] => {
  if (files.length === 0) return []
  const more = files.length > mostFiles ? ` and ${files.length - mostFiles} more` : ''
  return [
    {
      code: 'narrowed',
      message:
        'only the documents of the named files are planned, and nothing is pruned: the estate has more of this realm in ' +
        `${files.slice(0, mostFiles).join(', ')}${more}; run the command without paths for the whole estate`,
    },
  ]
}

/** `elsewhere`: orphans in sections that were not asked for. */
export const warningsAbout = (
  staying: readonly Left[],
  source: string,
  elsewhere: readonly Place[],
): PlanWarning[] => {
  const own = staying.filter(({ document }) => document.owner === source)
  const listed = own.filter(({ isListed }) => isListed)
  // Children of a reported document are not reported again.
  const told = new Set(listed.map(({ document, key }) => placeKey(document.kind.kind, key)))
  const isOrphan = ({ document, key, isListed }: Left): boolean =>
    !isListed && !lineage(document.kind, key).some((place) => told.has(place))
  const orphans = [...own.filter(isOrphan).map(placeOf), ...elsewhere]
  return [
    ...orphanWarning([
      ...new Map(orphans.map((place) => [placeKey(place.kind, place.key), place])).values(),
    ]),
    ...warn(
      'built-in-kept',
      listed.filter(({ document }) => !isPrunable(document)).map(placeOf),
      'built-in documents left the files and stay as they are; an entry with nothing but a name would put one back',
    ),
    ...warn(
      'not-pruned',
      listed.filter(({ document }) => isPrunable(document)).map(placeOf),
      'documents left the files and stay, because nothing is pruned',
    ),
  ]
}

export const unmanagedIn = (
  staying: readonly Left[],
  source: string,
): (Place & { readonly owner: string | null })[] =>
  staying
    .filter(({ document, isListed }) => isListed && isPrunable(document))
    .filter(({ document }) => document.owner !== source)
    .map((left) => ({ ...placeOf(left), owner: left.document.owner }))
    .sort(byPlace)
