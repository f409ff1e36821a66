/** Operations -> splices of a text. All other bytes of the file stay the same. */

import { isMap, isSeq, type YAMLMap } from 'yaml'
import type { Operation } from '../operations.ts'
import { type Collection, cannot } from './edit.ts'
import { insertItem, insertPair } from './insert.ts'
import { inOrder, type Splice } from './lines.ts'
import { remove } from './remove.ts'
import { expand, replace } from './replace.ts'

/** The edits that operations make to their collection, or to a single place. */
export const splicesOf = (operations: readonly Operation[]): Splice[] => {
  const [first] = operations
  if (first === undefined) return []
  if (first.type === 'replace') return inOrder(replace(first.at, first.value))
  if (first.type === 'expand') return inOrder(expand(first.at))
  if (first.type === 'insert-pair') return inOrder(insertPair(first))
  if (first.type === 'insert-item') {
    const items = operations.flatMap((one) => (one.type === 'insert-item' ? [one.item] : []))
    return inOrder(insertItem(first.at, items, first.index))
  }
  const container = first.at.above?.cursor
  const node = container?.written
  if (!container || !(isMap(node) || isSeq(node))) throw cannot(first.at)
  const gone = operations.flatMap(({ at }) => {
    const { pair, index } = at.above ?? { pair: null, index: -1 }
    return pair && isMap(node) ? [(node as YAMLMap).items.indexOf(pair)] : [index]
  })
  return inOrder(remove(container, node as Collection, new Set(gone)))
}
