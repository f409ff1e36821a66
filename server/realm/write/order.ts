/** The order in which a list of operations can be carried out. */

import { type Operation, type Put, placeOf } from './operations.ts'

/**
 * As given, but a name that one rename leaves is left before another takes it. Names that go round in a circle stay
 * as they are and are refused when it comes to them.
 */
export const putsInOrder = (operations: readonly Operation[]): Put[] => {
  const puts = operations.filter((operation) => operation.op === 'put')
  const leaving = new Map(
    puts.flatMap((put) =>
      put.from === undefined || put.from === put.key
        ? []
        : [[placeOf(put.kind.kind, put.from), put]],
    ),
  )
  if (leaving.size < 2) return puts
  const ordered = new Set<Put>()
  for (const put of puts) {
    const chain = new Set<Put>()
    let next: Put | undefined = put
    while (next && !ordered.has(next) && !chain.has(next)) {
      chain.add(next)
      next = next.from === undefined ? undefined : leaving.get(placeOf(next.kind.kind, next.key))
    }
    for (const one of [...chain].reverse()) ordered.add(one)
  }
  return [...ordered]
}
