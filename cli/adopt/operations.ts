/**
 * The edits of the texts of files, one place at a time, and the values that are not edited: those of an anchor with
 * other uses, and those of a variable.
 */

import { isAlias, isSeq } from 'yaml'
import type { Place } from '../diagnostics.ts'
import {
  type Cursor,
  chainOf,
  placeOf,
  referenceIn,
  sharedWith,
  usedOutside,
} from './text/cursor.ts'
import type { Item } from './text/print.ts'
import { isExplicit, rangeOf, type Use } from './text/syntax.ts'

/** Why something is left as it is, and where a person would change it. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly place: Place | null
  constructor(message: string, place: Place | null) {
    super(message)
    this.place = place
  }
}

export type Operation =
  | { readonly type: 'replace'; readonly at: Cursor; readonly value: unknown }
  /** What an alias repeats is written out in its place. */
  | { readonly type: 'expand'; readonly at: Cursor }
  | {
      readonly type: 'insert-pair'
      readonly at: Cursor
      readonly name: string
      readonly value: unknown
      /** Of a list of entries. */
      readonly items?: readonly Item[]
      /** The order of fields: it comes behind the last of those before it. */
      readonly order: readonly string[]
    }
  | { readonly type: 'remove'; readonly at: Cursor }
  | {
      readonly type: 'insert-item'
      readonly at: Cursor
      readonly item: Item
      /** Behind so many others. */
      readonly index: number
    }

export interface Editor {
  /** Takes what is only for others out of the way first; then nothing else is done to the place in this round. */
  replace(at: Cursor, value: unknown): void
  insertPair(
    at: Cursor,
    name: string,
    value: unknown,
    order: readonly string[],
    items?: readonly Item[],
  ): void
  insertItem(at: Cursor, item: Item, index: number): void
  /** `whole`: the document is gone, and with it whatever gave its values. */
  remove(at: Cursor, whole?: boolean): void
}

const sharing = ({ alias }: Use, at: Cursor): Refused => {
  const { source } = at.syntax
  const [start, end] = rangeOf(alias)
  const { file, line } = source.placeAt(start, end)
  return new Refused(
    `it is marked with &${alias.source} and repeated at ${file}:${line}; write it out there first`,
    placeOf(at),
  )
}

export const createEditor = (
  add: (operation: Operation) => void,
  { replaceVariables }: { readonly replaceVariables: boolean },
): Editor => {
  /** Whether the place is written here alone; an alias on the way is written out instead, which takes a round. */
  const isReady = (at: Cursor): boolean => {
    const alias = chainOf(at).find(({ written }) => isAlias(written))
    if (alias !== undefined) {
      const shared = sharedWith(alias)
      if (shared) throw sharing(shared, alias)
      add({ type: 'expand', at: alias })
      return false
    }
    if (chainOf(at).some(({ written }) => written === null))
      throw new Refused('it comes from a map that is merged in with "<<"', placeOf(at))
    return true
  }

  const refuseReference = (at: Cursor): void => {
    const reference = replaceVariables ? undefined : referenceIn(at)
    if (reference === undefined) return
    const [start, end] = rangeOf(reference.node)
    throw new Refused(
      `the files give it by ${reference.text}; change the value behind the reference, or give --replace-variables to write the value there`,
      at.syntax.source.placeAt(start, end),
    )
  }

  const refuseShared = (at: Cursor, names: readonly string[] = []): void => {
    const use = sharedWith(at, names)
    if (use) throw sharing(use, at)
  }

  const refuseUsed = (at: Cursor): void => {
    const use = usedOutside(at)
    if (use) throw sharing(use, at)
  }

  const refuseExplicit = ({ above, ...at }: Cursor): void => {
    if (above?.pair && isExplicit(above.pair))
      throw new Refused('its key is written with "?"', placeOf({ above, ...at }))
  }

  return {
    replace(at, value) {
      refuseReference(at)
      if (!isReady(at)) return
      refuseShared(at)
      refuseUsed(at)
      refuseExplicit(at)
      add({ type: 'replace', at, value })
    },
    insertPair(at, name, value, order, items) {
      if (!isReady(at)) return
      refuseShared(at, [name])
      add({ type: 'insert-pair', at, name, value, order, ...(items ? { items } : {}) })
    },
    insertItem(at, item, index) {
      if (!isReady(at)) return
      refuseShared(at, ['']) // In a list nothing of it can be overridden.
      add({ type: 'insert-item', at, item, index })
    },
    remove(at, whole = false) {
      if (!whole) refuseReference(at)
      if (at.above && isAlias(at.written) && isSeq(at.above.cursor.node)) {
        if (isReady(at.above.cursor)) add({ type: 'remove', at })
        return
      }
      if (!isReady(at.above?.cursor ?? at)) return
      refuseShared(at)
      refuseUsed(at)
      refuseExplicit(at)
      add({ type: 'remove', at })
    },
  }
}
