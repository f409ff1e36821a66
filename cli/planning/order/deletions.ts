/** Deletions: each with what goes along, in an order in which nothing is held on to, and the reasons to refuse one. */

import type { Doc } from '#schemas/json-schema.ts'
import { type Kind, parentKeyOf } from '#schemas/kind.ts'
import { sectionOf } from '#schemas/realm/realm-document.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { referencesOf } from '#schemas/walk.ts'
import type { ActualDocument } from '../actual.ts'
import { byPlace, nameOf, placeKey } from '../names.ts'
import type { Change, PlanProblem } from '../plan.ts'
import { referredKinds } from '../renames/follow.ts'
import { type Left, placeOf } from '../warnings/left-out.ts'
import { inOrder } from './order.ts'

/** A document as it will stand. */
export interface Standing {
  readonly document: ActualDocument
  readonly key: string
  readonly body: Doc
}

export interface Deletion {
  readonly left: Left
  readonly along: readonly Standing[]
}

const place = (one: Pick<Left, 'document' | 'key'>): string =>
  placeKey(one.document.kind.kind, one.key)

const clingsTo = (kind: ActualDocument['kind']): boolean =>
  [...referredKinds(kind).values()].flat().some(({ onDelete }) => onDelete === 'cascade')

/** Other sections whose documents are deleted together with documents of the given sections. */
export const clingingSections = (sections: readonly string[]): string[] => {
  const known = new Set(sections)
  const isReached = (kind: Kind): boolean =>
    [...referredKinds(kind)].some(
      ([name, marks]) =>
        known.has(sectionOf(kindNamed(name))) &&
        marks.some(({ onDelete }) => onDelete === 'cascade'),
    )
  const more: string[] = []
  for (;;) {
    const next = kinds.find((kind) => !known.has(sectionOf(kind)) && isReached(kind))
    if (!next) return more
    known.add(sectionOf(next))
    more.push(sectionOf(next))
  }
}

/** Everything below a deleted document goes along, and so does what refers to it and cannot be without it. */
export const withCascades = (
  doomed: readonly Left[],
  standing: readonly Standing[],
): Deletion[] => {
  const below = Map.groupBy(standing, ({ document: { kind }, key }) =>
    placeKey(kind.parentKind ?? '', parentKeyOf(kind, key) ?? ''),
  )
  const clinging = new Map<string, Standing[]>()
  for (const one of standing.filter(({ document }) => clingsTo(document.kind)))
    for (const reference of referencesOf(one.document.kind, one.body, one.key)) {
      if (reference.onDelete !== 'cascade') continue
      const target = placeKey(reference.kind, reference.key)
      const known = clinging.get(target)
      if (known) known.push(one)
      else clinging.set(target, [one])
    }
  const explicit = new Set(doomed.map(({ document }) => document))
  return doomed.map((left) => {
    const along = new Map<ActualDocument, Standing>()
    const queue = [place(left)]
    for (let next = queue.shift(); next !== undefined; next = queue.shift())
      for (const one of [...(below.get(next) ?? []), ...(clinging.get(next) ?? [])]) {
        if (explicit.has(one.document) || along.has(one.document)) continue
        along.set(one.document, one)
        queue.push(place(one))
      }
    return { left, along: [...along.values()] }
  })
}

/** A referring document is deleted before the one it names: the server refuses to delete a document that is still referenced. */
export const referrersFirst = (
  deletions: readonly Deletion[],
  bodyOf: (document: ActualDocument) => Doc,
): readonly Deletion[] => {
  const sorted = deletions.toSorted((a, b) => byPlace(placeOf(a.left), placeOf(b.left)))
  const indexes = new Map(
    sorted.flatMap(({ left, along }, i) =>
      [left, ...along].map((one): [string, number] => [place(one), i]),
    ),
  )
  const before: number[][] = sorted.map(() => [])
  for (const [i, { left, along }] of sorted.entries())
    for (const { document, key } of [left, ...along])
      for (const reference of referencesOf(document.kind, bodyOf(document), key)) {
        const target = indexes.get(placeKey(reference.kind, reference.key))
        if (target !== undefined && target !== i) before[target]?.push(i)
      }
  return inOrder(sorted, (_, i) => ({ must: [], should: before[i] ?? [] }))
}

export const deletionOf = (
  { left, along }: Deletion,
  source: string,
  bodyOf: (document: ActualDocument) => Doc,
): Change => {
  const { document } = left
  const owners = [document, ...along.map((one) => one.document)].map(({ owner }) => owner)
  return {
    action: 'delete',
    ...placeOf(left),
    from: null,
    before: bodyOf(document),
    doc: null,
    ifHash: document.hash,
    fields: [],
    secrets: [],
    protected: { before: document.protected, after: false },
    adopts: false,
    takenFrom: owners.find((owner) => owner !== null && owner !== source) ?? null,
    cascades: along.map(placeOf).sort(byPlace),
    place: null,
    lastChange: document.lastChange,
  }
}

export const refusalsOf = (
  { left, along }: Deletion,
  source: string,
  takeOver: boolean,
): PlanProblem[] =>
  [left, ...along].flatMap((one): PlanProblem[] => {
    const { kind, key } = placeOf(one)
    const going =
      one === left
        ? `${nameOf(kind, key)} left the files`
        : `${nameOf(kind, key)} would go along with ${nameOf(left.document.kind.kind, left.key)}`
    const { owner } = one.document
    if (one.document.protected)
      return [
        {
          code: 'protected',
          kind,
          key,
          message: `${going}, but it is protected; apply it once without \`protected\` before it is removed`,
          place: null,
        },
      ]
    if (owner === null || owner === source || takeOver) return []
    const message = `${going}, but it belongs to the source ${JSON.stringify(owner)}`
    return [{ code: 'owned', kind, key, message, place: null }]
  })
