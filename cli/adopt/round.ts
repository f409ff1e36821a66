/**
 * One pass over the files: as many operations as do not touch each other are carried out on their texts. What waits is
 * found again, in the changed texts, by the next pass.
 */

import type { Node } from 'yaml'
import type { Place } from '../diagnostics.ts'
import type { Difference } from './differences.ts'
import { editAll } from './edits.ts'
import type { Located } from './locate.ts'
import { createEditor, type Operation, Refused } from './operations.ts'
import { collide, inOrder, type Splice, spliced } from './text/lines.ts'
import { splicesOf } from './text/write.ts'

export interface Refusal {
  readonly difference: Difference
  /** Null where it is about the whole document. */
  readonly field: string | null
  readonly message: string
  readonly place: Place | null
}

export interface Round {
  /** By absolute path. */
  readonly texts: ReadonlyMap<string, string>
  readonly refusals: readonly Refusal[]
}

interface Owned {
  readonly operation: Operation
  readonly on: readonly Difference[]
  readonly field: string | null
}

/** Operations that have to be carried out together, because they share a list or a map. */
const grouped = (all: readonly Owned[]): Owned[][] => {
  const names = new Map<Node, number>()
  const nameOf = (node: Node | null): string => {
    if (node === null) return ''
    const known = names.get(node) ?? names.size
    names.set(node, known)
    return String(known)
  }
  const filled = new Set(
    all.flatMap(({ operation: { type, at } }) =>
      type === 'insert-pair' || type === 'insert-item' ? [nameOf(at.written)] : [],
    ),
  )
  const seen = new Set<string>()
  const groups = Map.groupBy(all.entries(), ([i, { operation }]) => {
    const { type, at } = operation
    const above = nameOf(at.above?.cursor.written ?? null)
    if (type === 'remove') return filled.has(above) ? 'later' : `remove ${above}`
    if (type === 'insert-item') return `item ${nameOf(at.written)} ${operation.index}`
    if (type !== 'expand') return String(i)
    // Two changes below one alias ask for the same.
    const name = `expand ${nameOf(at.written)}`
    if (seen.has(name)) return 'later'
    seen.add(name)
    return name
  })
  groups.delete('later')
  return [...groups.values()].map((group) => group.map(([, owned]) => owned))
}

export const runRound = (
  located: Located,
  differences: readonly Difference[],
  options: { readonly replaceVariables: boolean },
): Round => {
  const refusals: Refusal[] = []
  const owned: Owned[] = []
  let current: Pick<Owned, 'on' | 'field'> = { on: [], field: null }
  const refuse = (error: unknown, { on, field }: Pick<Owned, 'on' | 'field'>): void => {
    if (!(error instanceof Refused)) throw error
    const { message, place } = error
    refusals.push(...on.map((difference) => ({ difference, field, message, place })))
  }
  const editor = createEditor((operation) => owned.push({ operation, ...current }), options)
  editAll(editor, located, differences, (on, field, act) => {
    current = { on, field }
    const before = owned.length
    try {
      act()
    } catch (error) {
      // Half of it would be neither the one nor the other.
      owned.length = before
      refuse(error, current)
    }
  })

  const accepted = new Map<string, { readonly text: string; splices: Splice[] }>()
  for (const group of grouped(owned)) {
    const [first] = group
    if (!first) continue
    const { source } = first.operation.at.syntax
    const path = source.path ?? ''
    const known = accepted.get(path) ?? { text: source.text, splices: [] }
    try {
      const splices = splicesOf(group.map(({ operation }) => operation))
      if (collide(splices, known.splices)) continue
      known.splices.push(...splices)
      accepted.set(path, known)
    } catch (error) {
      for (const one of group) refuse(error, one)
    }
  }
  const texts = new Map(
    [...accepted].map(([path, { text, splices }]) => [path, spliced(text, inOrder(splices))]),
  )
  return { texts, refusals }
}
