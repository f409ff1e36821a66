/**
 * Renames that depend on each other, in a chain or in a circle. Files that rename in a circle look the same before and after
 * their apply, so that the next apply would change the names back: they are refused.
 */

import type { Kind } from '#schemas/kind.ts'
import { nameOf, placeKey } from '../names.ts'

interface Renamed {
  readonly kind: Kind
  readonly key: string
  readonly renamedFrom: string | null
}

export const placesChange =
  'names cannot change places in one apply: the next one would change them back'
export const placesHint = 'write a third name for one of them, apply, and then write its new name'

/** How many renames of a circle a message lists. */
const mostListed = 5

/** `"a" is to become "b", and "b" is to become "a"`: in the order in which the names are handed on. */
const handedOn = (circle: readonly Renamed[]): string => {
  const steps = circle.map(
    ({ key, renamedFrom }) => `${JSON.stringify(renamedFrom)} is to become ${JSON.stringify(key)}`,
  )
  const rest = steps.length - mostListed
  return rest > 0
    ? `${steps.slice(0, mostListed).join(', ')} and so on for ${rest} more`
    : `${steps.slice(0, -1).join(', ')}, and ${steps.at(-1)}`
}

/** What is wrong with the renames of a circle, and how two applies carry them out. */
export const placesOf = (circle: readonly Renamed[]): { message: string; hint: string } => {
  const [first] = circle
  const name = nameOf(first?.kind.kind ?? '', first?.key ?? '')
  return {
    message: `${placesChange} (${handedOn(circle)})`,
    hint:
      `apply twice: first give ${name} a third name, with the same renamedFrom; ` +
      'then give it its name, with the third name as renamedFrom',
  }
}

/** Entries that would change places, two of them or more in a circle, each with the entries of its circle. */
export const changingPlaces = <Entry extends Renamed>(
  renamed: readonly Entry[],
): Map<Entry, readonly Entry[]> => {
  const byKey = new Map(renamed.map((entry) => [placeKey(entry.kind.kind, entry.key), entry]))
  const found = new Map<Entry, readonly Entry[]>()
  const walked = new Set<Entry>()
  for (const start of renamed) {
    const path = new Set<Entry>()
    let next: Entry | undefined = start
    while (next && !walked.has(next)) {
      walked.add(next)
      path.add(next)
      next = byKey.get(placeKey(next.kind.kind, next.renamedFrom ?? ''))
    }
    if (!next || !path.has(next)) continue
    // From where the way meets itself it goes round; what led there does not.
    const way = [...path]
    const circle = way.slice(way.indexOf(next)).reverse()
    for (const one of circle) found.set(one, circle)
  }
  return found
}

/**
 * Entries whose rename an earlier apply has carried out: their key is taken, and the old one is free or has gone on to the
 * entry before them in a chain. Without this, a document of the chain that was deleted by hand would be made of its neighbour.
 */
export const carriedOut = <Entry extends Renamed>(
  renamed: readonly Entry[],
  isTaken: (place: string) => boolean,
): Set<Entry> => {
  const byKey = new Map(renamed.map((entry) => [placeKey(entry.kind.kind, entry.key), entry]))
  const before = ({ kind, renamedFrom }: Entry): Entry | undefined =>
    byKey.get(placeKey(kind.kind, renamedFrom ?? ''))
  const done = new Set<Entry>()
  const walked = new Set<Entry>()
  for (const start of renamed) {
    const path: Entry[] = []
    for (let next: Entry | undefined = start; next && !walked.has(next); next = before(next)) {
      walked.add(next)
      path.push(next)
    }
    for (const one of path.reverse()) {
      const { kind, key, renamedFrom } = one
      const above = before(one)
      const isFree = !isTaken(placeKey(kind.kind, renamedFrom ?? ''))
      if (isTaken(placeKey(kind.kind, key)) && (isFree || (above && done.has(above)))) done.add(one)
    }
  }
  return done
}
