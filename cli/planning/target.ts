/**
 * A plan of some documents only: those that are named, what stands below them in the files, and the parents and
 * references they need that do not exist yet. Everything else is left alone.
 */

import type { Kind } from '#schemas/kind.ts'
import type { Desired } from '#schemas/realm/desired.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { referencesOf } from '#schemas/walk.ts'
import type { Place } from '#schemas/wire/wire.ts'
import type { Actual } from './actual.ts'
import { lineage, nameOf, placeKey } from './names.ts'
import type { PlanProblem } from './plan.ts'
import { match } from './renames/match.ts'

/** `client/web`, `group/Staff/Helpdesk`, `settings`; null where there is no such kind. */
export const parseTarget = (text: string): Place | null => {
  const cut = text.indexOf('/')
  const name = cut < 0 ? text : text.slice(0, cut)
  const kind = kinds.find((one) => one.kind === name)
  if (!kind) return null
  if (kind.shape === 'singleton') return { kind: name, key: kind.kind }
  const key = cut < 0 ? '' : text.slice(cut + 1)
  if (key === '') return null
  return { kind: name, key: kind.shape === 'tree' && !key.startsWith('/') ? `/${key}` : key }
}

export interface Scope {
  readonly desired: readonly Desired[]
  /** Whether a document that left the files may be deleted. */
  isInScope(place: Place): boolean
  readonly problems: readonly PlanProblem[]
}

/** What an entry cannot be without: what is above it, and everything it names with what is above that. */
const needsOf = ({ kind, key, body }: Desired): string[] => [
  ...lineage(kind, key).slice(1),
  ...referencesOf(kind, body, key).flatMap((reference) =>
    lineage(kindNamed(reference.kind), reference.key),
  ),
]

export const scopeOf = (
  desired: readonly Desired[],
  actual: Actual,
  targets: readonly Place[],
): Scope => {
  if (targets.length === 0) return { desired, isInScope: () => true, problems: [] }
  const byKey = new Map(desired.map((one) => [placeKey(one.kind.kind, one.key), one]))
  const byFrom = new Map(
    desired.flatMap((one): [string, Desired][] =>
      one.renamedFrom === null ? [] : [[placeKey(one.kind.kind, one.renamedFrom), one]],
    ),
  )
  const { matches, findings } = match(desired, actual, desired)
  /** Entries that get their key by the plan of all files: they are created or renamed, or ask for a rename that is refused. */
  const made = new Set([
    ...matches.flatMap(({ desired: one, actual: document, from }) =>
      document === null || from !== null ? [one] : [],
    ),
    ...findings.map((finding) => finding.desired),
  ])
  /** The document that takes the key which a rename frees, and the one that must free a key first. */
  const inChain = ({ kind, key, renamedFrom }: Desired): (Desired | undefined)[] => {
    const leaver = byFrom.get(placeKey(kind.kind, key))
    return [
      renamedFrom === null ? undefined : byKey.get(placeKey(kind.kind, renamedFrom)),
      leaver && made.has(leaver) ? leaver : undefined,
    ]
  }
  const roots = new Set<string>()
  const problems: PlanProblem[] = []
  for (const { kind, key } of targets) {
    const place = placeKey(kind, key)
    const entry = byKey.get(place) ?? byFrom.get(place)
    if (entry) roots.add(placeKey(kind, entry.key))
    else if (actual.documents.has(place)) roots.add(place)
    else
      problems.push({
        code: 'unknown-target',
        kind,
        key,
        message: `there is no ${nameOf(kind, key)}, neither in the files nor in the realm`,
        place: null,
      })
  }
  const isBelow = (kind: Kind, key: string): boolean =>
    lineage(kind, key).some((place) => roots.has(place))

  const chosen = new Set(desired.filter(({ kind, key }) => isBelow(kind, key)))
  for (const one of chosen) {
    const needed = needsOf(one).map((place) => byKey.get(place))
    for (const other of needed) if (other && made.has(other)) chosen.add(other)
    if (made.has(one)) for (const other of inChain(one)) if (other) chosen.add(other)
  }
  return {
    desired: desired.filter((one) => chosen.has(one)),
    isInScope: ({ kind, key }) => isBelow(kindNamed(kind), key),
    problems,
  }
}
