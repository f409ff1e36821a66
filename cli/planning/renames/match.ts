/**
 * Which document of the realm an entry of the files is about. Mostly the one with the same key; where entries say that
 * they were renamed, the renames are carried out on paper, parents first and each when its new key has become free, so
 * that what is below a renamed document is found where it will be.
 */

import { parentKeyOf } from '#schemas/kind.ts'
import type { Desired } from '#schemas/realm/desired.ts'
import { sectionOf } from '#schemas/realm/realm-document.ts'
import type { Actual, ActualDocument } from '../actual.ts'
import { byPlace, depthOf, nameOf, placeKey } from '../names.ts'
import { createPaper, type Paper } from '../paper.ts'
import type { ProblemCode } from '../plan.ts'
import { carriedOut, changingPlaces, placesChange, placesHint, placesOf } from './circles.ts'

export interface Match {
  readonly desired: Desired
  /** Null: it does not exist. */
  readonly actual: ActualDocument | null
  /** Of a rename: the key that it has when its turn comes. */
  readonly from: string | null
}

/** What is wrong with an entry's `renamedFrom`. */
export interface RenameFinding {
  readonly desired: Desired
  readonly code: Extract<ProblemCode, 'rename-cycle' | 'rename-twice'> | 'rename-source-missing'
  readonly message: string
}

export interface Matching {
  /** Where a section has renames, in an order in which they can be carried out. */
  readonly matches: readonly Match[]
  readonly findings: readonly RenameFinding[]
  /** Renames that were done before, while the old key exists (again). */
  readonly undone: readonly { readonly desired: Desired; readonly document: ActualDocument }[]
  /** The new keys of documents that are renamed, or are below one that is. */
  readonly moved: ReadonlyMap<ActualDocument, string>
}

const placeOf = ({ kind, key }: Desired): string => placeKey(kind.kind, key)
const parentPlaceOf = ({ kind, key }: Desired): string | null => {
  const parentKey = parentKeyOf(kind, key)
  return parentKey === null ? null : placeKey(kind.parentKind ?? '', parentKey)
}

const isRenamed = ({ key, renamedFrom }: Desired): boolean =>
  renamedFrom !== null && renamedFrom !== key

const inTurn = (a: Desired, b: Desired): number =>
  depthOf(a.kind, a.key) - depthOf(b.kind, b.key) ||
  byPlace({ kind: a.kind.kind, key: a.key }, { kind: b.kind.kind, key: b.key })

const inTheWay = `${placesChange}; ${placesHint}`

interface Settled {
  readonly matches: readonly Match[]
  readonly findings: readonly RenameFinding[]
}

/** Finds the documents of one section's entries, and moves them on paper; `all` are the entries of the files. */
const settle = (desired: readonly Desired[], paper: Paper, all: readonly Desired[]): Settled => {
  const sorted = desired.toSorted(inTurn)
  const renamed = sorted.filter(isRenamed)
  const swapped = changingPlaces(renamed)
  const byFrom = Map.groupBy(renamed, ({ kind, renamedFrom }) =>
    placeKey(kind.kind, renamedFrom ?? ''),
  )
  const pending = new Map(sorted.map((one) => [placeOf(one), one]))
  const done = carriedOut(all.filter(isRenamed), (place) => paper.at(place) !== undefined)
  /** Documents that have their new keys already. */
  const renewed = new Set([...done].flatMap((one) => paper.at(placeOf(one)) ?? []))
  const taken = new Set(renewed)
  const matches: Match[] = []
  /** What `claimants` found since an entry was last concluded. */
  const leaving = new Map<ActualDocument, readonly Desired[]>()
  /** Entries whose key has become free. */
  const freed: Desired[] = []
  const findings = new Map<Desired, RenameFinding>()

  const report = (one: Desired, code: RenameFinding['code'], message: string): void => {
    if (findings.has(one)) return
    const name = nameOf(one.kind.kind, one.key)
    findings.set(one, { desired: one, code, message: `${name}: ${message}` })
  }

  const conclude = (one: Desired, actual: ActualDocument | null, from: string | null): void => {
    pending.delete(placeOf(one))
    leaving.clear()
    if (actual) taken.add(actual)
    matches.push({ desired: one, actual, from })
  }

  const isPending = (one: Desired): boolean => pending.get(placeOf(one)) === one

  /** Only in a tree may a document leave its parent; elsewhere it went along when its parent was renamed. */
  const hasItsParent = ({ kind, key }: Desired, was: ActualDocument): boolean =>
    kind.shape === 'tree' || parentKeyOf(kind, key) === parentKeyOf(kind, paper.keyOf(was))

  /** The document that an entry says it was. */
  const sourceOf = (one: Desired): ActualDocument | undefined => {
    if (!isRenamed(one) || swapped.has(one)) return undefined
    const place = placeKey(one.kind.kind, one.renamedFrom ?? '')
    return [paper.at(place), paper.wasAt(place)].find(
      (was) => was && !taken.has(was) && hasItsParent(one, was),
    )
  }

  /** A document of a tree cannot be moved below itself. */
  const isBelow = (one: Desired, document: ActualDocument): boolean =>
    one.kind.shape === 'tree' && one.key.startsWith(`${paper.keyOf(document)}/`)

  /** The entries that say they were this document, and could be. */
  const namedFor = (document: ActualDocument): Desired[] => {
    const keys = new Set([paper.keyOf(document), document.key])
    return [...keys]
      .flatMap((key) => byFrom.get(placeKey(document.kind.kind, key)) ?? [])
      .filter((one) => isPending(one) && !isBelow(one, document) && sourceOf(one) === document)
  }

  const ask = (document: ActualDocument) => {
    // Where the question leads back to itself, nothing leaves.
    leaving.set(document, [])
    return { document, waiting: namedFor(document).toReversed(), found: [] as Desired[] }
  }

  /**
   * The entries that are still to take this document away, once their own key is free. One question leads to the next along a
   * chain of renames, as long as the files make it: they wait on a stack of their own.
   */
  const claimants = (document: ActualDocument): readonly Desired[] => {
    const known = leaving.get(document)
    if (known) return known
    const questions = [ask(document)]
    for (let last = questions.at(-1); last; last = questions.at(-1)) {
      const one = last.waiting.at(-1)
      if (!one) {
        leaving.set(last.document, last.found)
        questions.pop()
        continue
      }
      const occupant = paper.at(placeOf(one))
      const takers = occupant && leaving.get(occupant)
      if (occupant && !takers) {
        questions.push(ask(occupant))
        continue
      }
      last.waiting.pop()
      if (!takers || takers.length > 0) last.found.push(one)
    }
    return leaving.get(document) ?? []
  }

  const rename = (one: Desired, source: ActualDocument): void => {
    const from = paper.keyOf(source)
    for (const other of claimants(source))
      if (other !== one)
        report(other, 'rename-twice', `${nameOf(one.kind.kind, one.key)} was the same document`)
    paper.move(source, one.key)
    conclude(one, source, from)
    const next = pending.get(placeKey(one.kind.kind, from))
    if (next) freed.push(next)
  }

  const isParentPending = (one: Desired): boolean => {
    const above = parentPlaceOf(one)
    return above !== null && pending.has(above)
  }

  const attempt = (one: Desired): void => {
    if (isParentPending(one)) return
    const occupant = paper.at(placeOf(one))
    if (occupant) {
      if (claimants(occupant).length === 0) conclude(one, occupant, null)
      return
    }
    const source = sourceOf(one)
    if (source && !isBelow(one, source)) rename(one, source)
    else if (!isRenamed(one)) conclude(one, null, null)
  }

  /** No rename can be carried out any more: what this entry says it was does not exist, or they wait for each other. */
  const giveUp = (one: Desired): void => {
    const was = nameOf(one.kind.kind, one.renamedFrom ?? '')
    const at = paper.at(placeKey(one.kind.kind, one.renamedFrom ?? ''))
    if (at && isBelow(one, at)) report(one, 'rename-cycle', 'it would be below itself')
    else if (isParentPending(one) || paper.at(placeOf(one))) report(one, 'rename-cycle', inTheWay)
    else {
      const isOther = at && renewed.has(at)
      const reason = isOther ? `${was} is another document by now` : `there is no ${was} to rename`
      report(one, 'rename-source-missing', `${reason}, so it is created`)
    }
    conclude(one, paper.at(placeOf(one)) ?? null, null)
  }

  for (const [one, circle] of swapped) {
    const { message, hint } = placesOf(circle)
    report(one, 'rename-cycle', `${message}; ${hint}`)
  }
  while (pending.size > 0) {
    const before = pending.size
    for (const one of [...pending.values()]) {
      if (isPending(one)) attempt(one)
      for (let next = freed.pop(); next; next = freed.pop()) if (isPending(next)) attempt(next)
    }
    if (pending.size < before) continue
    const waiting = [...pending.values()]
    const lost = waiting.filter((one) => !isParentPending(one) && !paper.at(placeOf(one)))
    for (const one of lost.length > 0 ? lost : waiting.slice(0, 1)) giveUp(one)
  }
  return { matches, findings: [...findings.values()] }
}

/** The files' entries, each with its document; `all` are those of the files, also where only some are planned. */
export const match = (
  desired: readonly Desired[],
  actual: Actual,
  all: readonly Desired[],
): Matching => {
  const renaming = new Set(desired.filter(isRenamed).map(({ kind }) => sectionOf(kind)))
  const paper = createPaper(actual, renaming)
  const straight = desired.filter(({ kind }) => !renaming.has(sectionOf(kind)))
  const sections = [...renaming].sort().map((name) => {
    const isIn = ({ kind }: Desired): boolean => sectionOf(kind) === name
    return settle(desired.filter(isIn), paper, all.filter(isIn))
  })
  const named = new Set(sections.length === 0 ? [] : all.map(placeOf))
  const undone = sections.flatMap(({ matches }) =>
    matches.flatMap(({ desired: entry, actual: found, from }) => {
      const place = placeKey(entry.kind.kind, entry.renamedFrom ?? '')
      const document = paper.at(place)
      return isRenamed(entry) && found && from === null && document && !named.has(place)
        ? [{ desired: entry, document }]
        : []
    }),
  )
  return {
    matches: [
      ...straight.map((entry) => ({
        desired: entry,
        actual: actual.documents.get(placeOf(entry)) ?? null,
        from: null,
      })),
      ...sections.flatMap(({ matches }) => matches),
    ],
    findings: sections.flatMap(({ findings }) => findings),
    undone,
    moved: paper.moved,
  }
}
