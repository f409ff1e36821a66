/**
 * Documents that are another one's under a new name. One that was renamed outside the files is found by the key that the last
 * apply gave it, and gets its name back; where the files have a new name and do not say so, the plan asks.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Doc } from '#schemas/json-schema.ts'
import { type Kind, parentKeyOf } from '#schemas/kind.ts'
import type { Desired } from '#schemas/realm/desired.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { Actual } from '../actual.ts'
import { nameOf, placeKey } from '../names.ts'
import type { Change, PlanWarning } from '../plan.ts'

export interface HandRenames {
  /** The entries, with `renamedFrom` where the document has another name by now. */
  readonly desired: readonly Desired[]
  readonly warnings: readonly PlanWarning[]
}

const placeOf = ({ kind, key }: Pick<Desired, 'kind' | 'key'>): string => placeKey(kind.kind, key)

/** `all` are the entries of the files, also where only some are planned. */
export const followHandRenames = (
  desired: readonly Desired[],
  { documents }: Actual,
  source: string,
  all: readonly Desired[],
): HandRenames => {
  const renamed = [...documents.values()].filter(
    ({ appliedKey, owner }) => appliedKey !== null && owner === source,
  )
  if (renamed.length === 0) return { desired, warnings: [] }
  const declared = new Set(all.map(placeOf))
  const byPlace = new Map(
    renamed
      // A name that is in the files or taken again is another document.
      .filter((document) => !declared.has(placeOf(document)))
      .map(
        (document) => [placeKey(document.kind.kind, document.appliedKey ?? ''), document] as const,
      )
      .filter(([place]) => !documents.has(place)),
  )
  const warnings: PlanWarning[] = []
  const entries = desired.map((entry) => {
    const document = entry.renamedFrom === null ? byPlace.get(placeOf(entry)) : undefined
    if (!document) return entry
    const { kind, key } = entry
    const above = parentKeyOf(kind, key)
    const parent = above === null ? undefined : placeKey(kind.parentKind ?? '', above)
    // Children of a reported document are not reported again.
    if (parent === undefined || !byPlace.has(parent))
      warnings.push({
        code: 'renamed-by-hand',
        message:
          `${nameOf(kind.kind, key)} was renamed to ${JSON.stringify(document.key)} outside the files and gets its name back; ` +
          'to keep the new name, write it in the files',
        documents: [{ kind: kind.kind, key }],
      })
    return { ...entry, renamedFrom: document.key }
  })
  return { desired: entries, warnings }
}

const withoutKey = ({ keyFields }: Kind, doc: Doc | null): Doc =>
  Object.fromEntries(Object.entries(doc ?? {}).filter(([field]) => !keyFields.includes(field)))

/** As an entry writes it: below another kind of document, the own name alone. */
const writtenKey = (kind: Kind, key: string): string =>
  kind.shape === 'child' ? key.slice((parentKeyOf(kind, key) ?? '').length + 1) : key

/** One is made and one is destroyed in the same list, and they differ by their names alone. */
export const lookalikes = (changes: readonly Change[]): PlanWarning[] => {
  const lists = Map.groupBy(
    changes.filter(({ action }) => action === 'create' || action === 'delete'),
    ({ kind, key }) => placeKey(kind, parentKeyOf(kindNamed(kind), key) ?? ''),
  )
  return [...lists.values()].flatMap((list): PlanWarning[] => {
    const [made, ...others] = list.filter(({ action }) => action === 'create')
    const [gone, ...more] = list.filter(({ action }) => action === 'delete')
    if (!made || !gone || others.length > 0 || more.length > 0) return []
    const kind = kindNamed(made.kind)
    if (!isDeepStrictEqual(withoutKey(kind, made.doc), withoutKey(kind, gone.before))) return []
    return [
      {
        code: 'looks-renamed',
        message:
          `${nameOf(made.kind, made.key)} would be made and ${nameOf(gone.kind, gone.key)} destroyed, with the same content; ` +
          `if it was renamed, write \`renamedFrom: ${writtenKey(kind, gone.key)}\`: it keeps its id, members and references`,
        documents: [
          { kind: made.kind, key: made.key },
          { kind: gone.kind, key: gone.key },
        ],
      },
    ]
  })
}
