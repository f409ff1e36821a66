/** Several renames at once: any mapping of old names to new ones without a circle is one plan, and documents keep who they are. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { actualOf } from '#cli/planning/actual.ts'
import { toOperations } from '#cli/planning/operations.ts'
import type { RealmPlan } from '#cli/planning/plan.ts'
import { planRealm } from '#cli/planning/plan-realm.ts'
import { changingPlaces } from '#cli/planning/renames/circles.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { desiredOf } from '#schemas/realm/desired.ts'
import { flatten } from '#schemas/realm/realm-document.ts'
import { check } from '../validate/check.ts'
import { applied, born, exportOf, type Stored } from './paper-server.ts'

const source = 'estate'
const names = ['a', 'b', 'c', 'd', 'e', 'f'] as const

const planOf = (documents: readonly Stored[], value: Doc): RealmPlan => {
  const { entries, listings } = flatten(value)
  return planRealm(
    { desired: entries.map(desiredOf), listings },
    actualOf(exportOf('acme', documents)),
    {
      source,
      prune: 'owned',
      takeOver: false,
      differingSecrets: [],
      placeOf: () => undefined,
      secretSourceOf: () => ({ from: 'env', name: 'SECRET' }),
    },
  )
}

const roles = (given: readonly Doc[]): Stored[] => [
  ...born(),
  ...flatten({ roles: given }).entries.map(({ kind, key, value }): Stored => {
    const rest = { origin: 'declared', owner: source, protected: false } as const
    return { kind, key, body: value as Doc, ...rest }
  }),
]

/** The description of each document, by its key: a rename takes it along. */
const known = (documents: readonly Stored[]): Record<string, unknown> =>
  Object.fromEntries(
    documents.flatMap(({ kind, key, body }) =>
      kind.kind === 'role' && String(body['description']).startsWith('was ')
        ? [[key, body['description']]]
        : [],
    ),
  )

/** Old names, and a new one for each: a permutation of names, some of which nothing had before. */
const renamings = fc
  .tuple(
    fc.shuffledSubarray([...names], { minLength: 1, maxLength: 5 }),
    fc.shuffledSubarray([...names], { minLength: 5, maxLength: 6 }),
  )
  .map(([olds, news]) => olds.map((from, i) => ({ from, to: news[i] ?? from })))

const filesOf = (renaming: readonly { from: string; to: string }[]): Doc => ({
  roles: renaming.map(({ from, to }) => ({
    name: to,
    description: `was ${from}`,
    ...(from === to ? {} : { renamedFrom: from }),
  })),
})

const isCircular = (value: Doc): boolean =>
  changingPlaces(flatten(value).entries.filter(({ renamedFrom }) => renamedFrom !== null)).size > 0

const yamlOf = (value: Doc): string => JSON.stringify({ realm: 'acme', ...value })

const codesOf = async (value: Doc): Promise<string[]> =>
  (await check(yamlOf(value))).diagnostics.flatMap(({ severity, code }) =>
    severity === 'error' ? [code] : [],
  )

describe('several renames', () => {
  it('are one plan, each document keeps what it is, and the second plan is empty', async () => {
    let chains = 0
    await fc.assert(
      fc.asyncProperty(renamings, async (renaming) => {
        const value = filesOf(renaming)
        if (isCircular(value)) {
          expect(await codesOf(value)).toContain('rename-cycle')
          return
        }
        expect(await codesOf(value)).toEqual([])
        const before = roles(
          renaming.map(({ from }) => ({ name: from, description: `was ${from}` })),
        )
        const plan = planOf(before, value)
        expect([plan.problems, plan.warnings]).toEqual([[], []])
        const moves = renaming.filter(({ from, to }) => from !== to)
        if (moves.some(({ from }) => moves.some(({ to }) => from === to))) chains += 1
        expect(plan.summary).toMatchObject({ add: 0, change: moves.length, destroy: 0 })
        expect(plan.changes.map(({ action }) => action)).toEqual(moves.map(() => 'rename'))
        const after = applied(
          before,
          toOperations(plan, () => 'secret'),
          source,
        )
        expect(known(after)).toEqual(
          Object.fromEntries(renaming.map(({ from, to }) => [to, `was ${from}`])),
        )
        expect(planOf(after, value).changes).toEqual([])
      }),
      { numRuns: 200 },
    )
    expect(chains).toBeGreaterThan(20)
  })

  it('that were carried out leave the others alone when one document is deleted by hand', () => {
    fc.assert(
      fc.property(renamings, fc.nat(), (renaming, pick) => {
        const value = filesOf(renaming)
        fc.pre(!isCircular(value))
        const all = renaming.map(({ from, to }) => ({ name: to, description: `was ${from}` }))
        const gone = all[pick % all.length]
        const plan = planOf(roles(all.filter((one) => one !== gone)), value)
        expect(plan.changes.map(({ action, key }) => [action, key])).toEqual([
          ['create', gone?.name],
        ])
      }),
      { numRuns: 200 },
    )
  })
})
