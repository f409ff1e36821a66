/** The plan of changed files beside that of the old ones: what was taken over is gone from it, and all else is the same. */

import { isDeepStrictEqual } from 'node:util'
import type { LoadedRealm } from '../load/loaded.ts'
import type { Actual } from '../planning/actual.ts'
import { nameOf, placeKey } from '../planning/names.ts'
import { type Change, isAdoption, type Prune } from '../planning/plan.ts'
import { planRealm } from '../planning/plan-realm.ts'
import { filesOf } from './differences.ts'

/** By realm and `placeKey`. */
export type Changes = ReadonlyMap<string, Change>

export const changeKey = (realm: string, kind: string, key: string): string =>
  `${realm}\n${placeKey(kind, key)}`

export const changesOf = (
  realms: readonly { readonly loaded: LoadedRealm; readonly actual: Actual }[],
  { source, prune }: { readonly source: string; readonly prune: Prune },
): Changes => {
  const all = realms.flatMap(({ loaded, actual }) =>
    planRealm(filesOf(loaded), actual, {
      source,
      prune,
      differingSecrets: [],
      takeOver: true,
      placeOf: () => undefined,
      secretSourceOf: () => ({ from: 'literal', file: '', pointer: '' }),
    }).changes.map((change): [string, Change] => [
      changeKey(loaded.realm, change.kind, change.key),
      change,
    ]),
  )
  return new Map(all.filter(([, change]) => !isAdoption(change)))
}

const effectOf = ({ action, fields, protected: guard, doc }: Change): unknown => ({
  action,
  fields,
  guard,
  doc: action === 'update' ? null : doc,
})

export const isSameChange = (one: Change | undefined, other: Change | undefined): boolean =>
  one === undefined || other === undefined
    ? one === other
    : isDeepStrictEqual(effectOf(one), effectOf(other))

export interface Expectation {
  /** Those that must plan to nothing. */
  readonly adopted: ReadonlySet<string>
  /** Those that were left as they are in part, and may plan to less than before. */
  readonly refused: ReadonlySet<string>
}

/** What is otherwise than it should be, in words. */
export const slipsOf = (
  before: Changes,
  after: Changes,
  { adopted, refused }: Expectation,
): string[] => {
  const isFree = (id: string): boolean => refused.has(id)
  const found: string[] = []
  for (const [id, change] of after) {
    if (isFree(id)) continue
    const name = nameOf(change.kind, change.key)
    const verb = change.action === 'delete' ? 'delete' : 'change'
    if (adopted.has(id)) found.push(`the next apply would still ${verb} ${name}`)
    else if (!before.has(id)) found.push(`the next apply would ${verb} ${name}`)
    else if (!isSameChange(before.get(id), change))
      found.push(`the next apply would change ${name} in another way than now`)
  }
  for (const [id, { kind, key }] of before)
    if (!after.has(id) && !adopted.has(id) && !isFree(id))
      found.push(`${nameOf(kind, key)} would be adopted too`)
  return found
}
