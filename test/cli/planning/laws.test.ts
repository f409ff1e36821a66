/** Properties of every plan, on generated realms and a simulated server. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { actualOf } from '#cli/planning/actual.ts'
import { lineage, placeKey } from '#cli/planning/names.ts'
import { toOperations } from '#cli/planning/operations.ts'
import type { Prune, RealmPlan } from '#cli/planning/plan.ts'
import { type DesiredRealm, type PlanOptions, planRealm } from '#cli/planning/plan-realm.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { parentKeyOf } from '#schemas/kind.ts'
import { type Desired, desiredOf } from '#schemas/realm/desired.ts'
import { flatten, sectionOf } from '#schemas/realm/realm-document.ts'
import { kindNamed } from '#schemas/registry.ts'
import { isLong } from '../../support/run/chance.ts'
import { applied, born, exportOf, Refused, type Stored } from './paper-server.ts'
import { mended, rawRealm, settled } from './realms.ts'

const source = 'estate'
const runs = { numRuns: isLong ? 2000 : 100 }
const patience = { timeout: isLong ? 900_000 : 60_000 }

const options = (more: Partial<PlanOptions> = {}): PlanOptions => ({
  source,
  prune: 'owned',
  takeOver: true,
  differingSecrets: [],
  placeOf: () => undefined,
  secretSourceOf: () => ({ from: 'env', name: 'SECRET' }),
  ...more,
})

const filesOf = (value: Doc): DesiredRealm => {
  const { entries, listings } = flatten(value)
  return { desired: entries.map(desiredOf), listings }
}

const placesOf = (list: readonly (Stored | Desired)[]): Set<string> =>
  new Set(list.map(({ kind, key }) => placeKey(kind.kind, key)))

/** The first realm as documents, some of them made by hand or by another estate. */
const storedOf = (value: Doc, owners: readonly (string | null)[]): Stored[] => {
  const { desired } = filesOf(value)
  const builtIn = placesOf(born())
  const named = placesOf(desired)
  return [
    ...born().filter(({ kind, key }) => !named.has(placeKey(kind.kind, key))),
    ...desired.map(({ kind, key, body }, i): Stored => {
      const owner = owners[i % owners.length] ?? null
      const isBuiltIn = builtIn.has(placeKey(kind.kind, key))
      return {
        kind,
        key,
        body,
        origin: isBuiltIn ? 'built-in' : owner === null ? 'manual' : 'declared',
        owner,
        protected: false,
      }
    }),
  ]
}

/** Two realms, and who owns the documents of the first one. */
interface Pair {
  readonly a: Doc
  readonly b: Doc
  readonly owners: readonly (string | null)[]
}

const pairs: fc.Arbitrary<Pair> = fc.record({
  a: rawRealm,
  b: rawRealm,
  owners: fc.array(fc.constantFrom(source, source, source, source, null, 'other'), {
    minLength: 1,
    maxLength: 30,
  }),
})

/** The realm as it is, and files whose references lead to what will exist. */
const realised = ({ a, b, owners }: Pair): { before: Stored[]; value: Doc } => {
  const first = settled(a)
  const known = new Set([...placesOf(born()), ...placesOf(filesOf(first).desired)])
  const before = storedOf(
    mended(first, (kind, key) => known.has(placeKey(kind, key))),
    owners,
  )
  const staying = before.filter(({ kind }) => !(sectionOf(kind) in b))
  const { desired } = filesOf(b)
  const later = new Set([...placesOf(born()), ...placesOf(staying)])
  for (const { kind, renamedFrom } of desired) later.delete(placeKey(kind.kind, renamedFrom ?? ''))
  for (const place of placesOf(desired)) later.add(place)
  return { before, value: mended(b, (kind, key) => later.has(placeKey(kind, key))) }
}

const planOf = (documents: readonly Stored[], value: Doc, prune: Prune = 'owned'): RealmPlan =>
  planRealm(filesOf(value), actualOf(exportOf('acme', documents)), options({ prune }))

/** What the realm is afterwards; null where the server would refuse, because something unmanaged holds on. */
const outcome = (before: readonly Stored[], plan: RealmPlan): Stored[] | null => {
  try {
    return applied(
      before,
      toOperations(plan, () => 'secret'),
      source,
    )
  } catch (error) {
    if (error instanceof Refused && /is used by/.test(error.message)) return null
    throw error
  }
}

/** A name that is left and taken again, with all that was below it, is more than a part of a plan can follow. */
const reusesNames = ({ changes }: RealmPlan): boolean => {
  const left = new Set(changes.map(({ kind, from }) => placeKey(kind, from ?? '')))
  return changes.some(({ kind, key }) => lineage(kindNamed(kind), key).some((one) => left.has(one)))
}

const isApplicable = ({ problems }: RealmPlan): boolean => problems.length === 0

describe('a plan, carried out', () => {
  it('makes what the files say, and a second plan is empty', patience, () => {
    let tried = 0
    fc.assert(
      fc.property(pairs, fc.constantFrom<Prune>('owned', 'all', 'none'), (pair, prune) => {
        const { before, value } = realised(pair)
        const plan = planOf(before, value, prune)
        fc.pre(isApplicable(plan))
        const after = outcome(before, plan)
        fc.pre(after !== null)
        tried += 1
        const { desired } = filesOf(value)
        const found = new Map(after.map((one) => [placeKey(one.kind.kind, one.key), one]))
        for (const { kind, key, body, protected: isProtected } of desired)
          expect(found.get(placeKey(kind.kind, key))).toMatchObject({
            body,
            owner: source,
            protected: isProtected,
          })
        const again = planOf(after, value, prune)
        expect(again.changes).toEqual([])
        expect(again.problems).toEqual([])
        expect(plan.summary.add).toBe(after.length - before.length + plan.summary.destroy)
      }),
      runs,
    )
    expect(tried).toBeGreaterThan(runs.numRuns / 2)
  })

  it(
    'removes what this source owns and the files no longer list, and nothing else',
    patience,
    () => {
      fc.assert(
        fc.property(pairs, (pair) => {
          const { before, value } = realised(pair)
          const plan = planOf(before, value)
          fc.pre(isApplicable(plan))
          const after = outcome(before, plan)
          fc.pre(after !== null)
          const { desired, listings } = filesOf(value)
          const named = placesOf(desired)
          const lists = new Set(
            listings.map(({ kind, parentKey }) => placeKey(kind.kind, parentKey ?? '')),
          )
          const own = after.filter(({ owner, origin }) => owner === source && origin !== 'built-in')
          for (const { kind, key } of own)
            if (lists.has(placeKey(kind.kind, parentKeyOf(kind, key) ?? '')))
              expect(named).toContain(placeKey(kind.kind, key))
          const along = new Set(
            plan.changes.flatMap(({ cascades }) =>
              cascades.map(({ kind, key }) => placeKey(kind, key)),
            ),
          )
          const sources = new Set(plan.changes.map(({ kind, from }) => placeKey(kind, from ?? '')))
          const kept = placesOf(after)
          const others = before.filter(
            ({ kind, owner }) => owner !== source && kind.parentKind === null,
          )
          for (const { kind, key } of others) {
            const place = placeKey(kind.kind, key)
            if (!along.has(place) && !sources.has(place)) expect(kept).toContain(place)
          }
        }),
        runs,
      )
    },
  )
})

/** The rename of its client was carried out before: what it says it was is another client, whose roles stay there. */
const renamedBefore: Pair = {
  a: { realm: 'acme', clients: [{ clientId: 'c3', roles: [{ name: 'z' }] }] },
  b: {
    realm: 'acme',
    clients: [
      {
        clientId: 'c2',
        renamedFrom: 'c3',
        serviceAccountClientRoles: ['c2/x', 'c2/y', 'c2/z'],
        roles: [{ name: 'x' }, { name: 'y' }, { name: 'z' }],
      },
      { clientId: 'c3', renamedFrom: 'c1' },
    ],
  },
  owners: [source],
}

describe('a plan', () => {
  it('of a realm that is as its files say is empty', patience, () => {
    fc.assert(
      fc.property(rawRealm, (raw) => {
        const value = settled(raw)
        expect(planOf(storedOf(value, [source]), value).changes).toEqual([])
      }),
      runs,
    )
  })

  it('is the same whatever order files and exports are in', patience, () => {
    fc.assert(
      fc.property(pairs, fc.nat(), (pair, seed) => {
        const { before, value } = realised(pair)
        const shuffled = <T>(list: readonly T[]): T[] =>
          list
            .map((item, i) => ({ item, at: (i * 7919 + seed) % 1009 }))
            .sort((x, y) => x.at - y.at)
            .map(({ item }) => item)
        const { desired, listings } = filesOf(value)
        const actual = actualOf(exportOf('acme', before))
        const other = {
          ...actual,
          documents: new Map(shuffled([...actual.documents])),
        }
        expect(
          planRealm({ desired: shuffled(desired), listings: shuffled(listings) }, other, options()),
        ).toEqual(planRealm({ desired, listings }, actual, options()))
      }),
      runs,
    )
  })

  it('has parents before their children, and deletions last', patience, () => {
    fc.assert(
      fc.property(pairs, (pair) => {
        const { before, value } = realised(pair)
        const { changes } = planOf(before, value)
        const firstDeletion = changes.findIndex(({ action }) => action === 'delete')
        const puts = firstDeletion < 0 ? changes : changes.slice(0, firstDeletion)
        expect(changes.slice(puts.length).every(({ action }) => action === 'delete')).toBe(true)
        const seen = new Set<string>()
        const parents = new Map(
          filesOf(value).desired.map((one) => [placeKey(one.kind.kind, one.key), one]),
        )
        for (const { kind, key } of puts) {
          const one = parents.get(placeKey(kind, key))
          const parentKey = one ? parentKeyOf(one.kind, key) : null
          const parent = placeKey(one?.kind.parentKind ?? '', parentKey ?? '')
          if (puts.some((put) => placeKey(put.kind, put.key) === parent))
            expect(seen).toContain(parent)
          seen.add(placeKey(kind, key))
        }
      }),
      runs,
    )
  })

  it('of targets changes nothing but them and what they need', patience, () => {
    fc.assert(
      fc.property(pairs, fc.nat(), (pair, pick) => {
        const { before, value } = realised(pair)
        const { desired } = filesOf(value)
        fc.pre(desired.length > 0)
        const one = desired[pick % desired.length] as Desired
        const target = { kind: one.kind.kind, key: one.key }
        const actual = actualOf(exportOf('acme', before))
        const plan = planRealm(filesOf(value), actual, options({ targets: [target] }))
        const whole = planRealm(filesOf(value), actual, options())
        fc.pre(isApplicable(plan) && isApplicable(whole) && !reusesNames(whole))
        const all = new Set(whole.changes.map(({ kind, key }) => placeKey(kind, key)))
        for (const { kind, key, action } of plan.changes) {
          const isTarget = kind === target.kind && key === target.key
          const isBelow = key.startsWith(`${target.key}/`)
          expect(isTarget || isBelow || action === 'create' || action === 'rename').toBe(true)
          if (action === 'create') expect(all).toContain(placeKey(kind, key))
        }
        expect(outcome(before, plan)).not.toBeNull()
      }),
      { ...runs, examples: [0, 1, 2, 3, 4].map((pick) => [renamedBefore, pick]) },
    )
  })
})
