/**
 * Properties of every change, on generated realms with documents of every kind, through the CLI's loader, validator and
 * planner and a real server: realm `a` becomes realm `b` while administrators, users and running software write to it. A
 * failure is reported with seed and path: IAMCTL_TEST_SEED repeats the run, IAMCTL_TEST_PATH one shrunk case.
 * IAMCTL_TEST_PAIRS sets the number of pairs.
 */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Api } from '#cli/client/api.ts'
import { ProblemError } from '#cli/client/http/errors.ts'
import type { Prune, RealmPlan } from '#cli/planning/plan.ts'
import type { FieldError } from '#schemas/problems.ts'
import { sectionOf } from '#schemas/realm/realm-document.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { backends } from '../support/backends.ts'
import { faultsOf } from '../support/database/integrity.ts'
import { injectedApi } from '../support/injected-api.ts'
import { amount, seed } from '../support/run/chance.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type Disturbance, disturb, disturbances } from './disturbed.ts'
import { expectExported, expectSecrets, expectWritten } from './exported.ts'
import { apply, type Files, filesOf, planOf } from './files.ts'
import { answeredForBy, type Pair, pairOf } from './pairs.ts'
import { fileOf, type Sketch, sketches } from './sketch.ts'
import {
  configurationOf,
  expectData,
  expectOthers,
  expectWanted,
  nothing,
  type State,
  source,
  stateOf,
} from './state.ts'
import { environment, type Item } from './values.ts'

const { IAMCTL_TEST_PATH: path } = process.env
/** On each database. */
const inCi = 15
const numRuns = Number(process.env['IAMCTL_TEST_PAIRS'] ?? amount(6, inCi, 1000))
const isMany = numRuns > inCi

/** Of fewer pairs, none may have what is rare: one in thirty renames a workload identity, which needs a client. */
const certain = 400

/** So many pairs are looked at for a kind that chance has left out. */
const mostTries = 2000

/** What was tried on all databases, so that a kind which is never tried is noticed. */
const tally = { pairs: 0, applied: 0, actions: new Map<string, Set<string>>() }

const note = ({ changes }: RealmPlan): void => {
  for (const { kind, action } of changes)
    tally.actions.set(kind, (tally.actions.get(kind) ?? new Set()).add(action))
}

/** Kinds that were not made, changed or deleted yet. */
const untried = (actions: readonly string[]): { kind: string; action: string }[] =>
  kinds.flatMap(({ kind, shape }) =>
    (shape === 'singleton' ? ['update'] : actions)
      .filter((action) => !tally.actions.get(kind)?.has(action))
      .map((action) => ({ kind, action })),
  )

/** Whether a pair could do it; the server has the last word. */
const mayDo = ({ a, b }: Pair, kind: string, action: string): boolean => {
  const [before, after] = [a, b].map(({ items }) => items.filter((one) => one.kind === kind))
  const isIn = (list: readonly Item[] | undefined, { key }: Item): boolean =>
    list?.some((one) => one.key === key) === true
  if (action === 'create') return after?.some((one) => !isIn(before, one)) === true
  if (action === 'delete')
    return before?.some((one) => !isIn(after, one)) === true && isListedIn(b, kind)
  return kindNamed(kind).shape === 'singleton'
    ? after?.length === 1
    : before?.some((one) => isIn(after, one)) === true
}

const remembered = <T>(make: (index: number) => T): ((index: number) => T) => {
  const known = new Map<number, T>()
  return (index) => {
    if (!known.has(index)) known.set(index, make(index))
    return known.get(index) as T
  }
}

const isListedIn = ({ sections }: Sketch, kind: string): boolean =>
  sections.includes(sectionOf(kindNamed(kind)))

/** The documents of a circle, as the error tells them. */
const circleOf = ({ code, message }: FieldError): string[] =>
  code === 'cycle' ? message.slice(message.indexOf(': ') + 2).split(' > ') : []

/**
 * Why a server may refuse what is valid by itself: a document that the files do not name holds on to what they leave
 * out, or closes a circle, or would not be valid with what they say, or is none that they can rely on, or was deleted by
 * hand. Some of these are built-in documents that left the files and stay as the files before wanted them. Where nothing
 * is pruned, names are taken as well by what left the files.
 */
const refusal =
  (prune: Prune, { items }: Sketch) =>
  (error: unknown): null => {
    if (!(error instanceof ProblemError)) throw error
    const { code, errors } = error
    const named = new Set(items.map(({ key }) => key))
    const isAboutOthers = !errors.some(({ field }) => field.startsWith('/operations'))
    const known = ['missing-reference', 'sub-flow', ...(prune === 'none' ? ['duplicate'] : [])]
    const isKnown =
      errors.length > 0 &&
      errors.every(
        (one) => known.includes(one.code) || circleOf(one).some((key) => !named.has(key)),
      )
    const isHeld = code === 'in-use' || code === 'protected'
    if (isHeld || (code === 'validation' && isAboutOthers) || isKnown) return null
    throw error
  }

/** Users whose password a plan sets. */
const givenPasswords = ({ changes }: RealmPlan, { users }: State): ReadonlySet<string> => {
  const names = new Set(
    changes.flatMap(({ kind, key, secrets }) =>
      kind === 'user' && secrets.some(({ pointer }) => pointer === '/passwordHash') ? [key] : [],
    ),
  )
  return new Set([...users.values()].flatMap((user) => (names.has(user.username) ? [user.id] : [])))
}

describe.each(backends)('a realm that becomes another one ($name)', (backend) => {
  let server: TestServer
  let api: Api
  let realms = 0

  beforeAll(async () => {
    server = await startServer(backend)
    api = injectedApi(server)
  })
  afterAll(() => server.close())

  /** The state of a realm that did not exist and is what the files say now; null where they are refused. */
  const born = async (realm: string, a: Pair['a']): Promise<State | null> => {
    const files = await filesOf(fileOf(realm, a), environment)
    const planned = await planOf(api, files, { source }).catch(refusal('owned', a))
    if (planned === null) {
      expect(await server.areas.realm.realms.find(realm)).toBeUndefined()
      return null
    }
    const applied = await apply(api, files, planned.plan)
    // One comparison, and a dry run only where the plan reaches documents beyond those that it names.
    expect(planned.requests).toBeLessThanOrEqual(2)
    expect(applied.requests).toBe(1)
    note(planned.plan)
    const state = await stateOf(server, realm)
    expectWanted(nothing, state, a)
    await expectExported(api, realm, state)
    return state
  }

  /** The same after other files; null where they are refused, and then nothing has changed. */
  const changed = async (
    before: State,
    files: Files,
    b: Pair['b'],
    prune: Prune,
  ): Promise<State | null> => {
    const { realm } = before
    const attempt = async (): Promise<RealmPlan | null> => {
      const { plan, requests } = await planOf(api, files, { source, prune })
      if (plan.problems.length > 0) return null
      const applied = await apply(api, files, plan)
      expect(requests + applied.requests).toBeLessThanOrEqual(4)
      return plan
    }
    const plan = await attempt().catch(refusal(prune, b))
    if (plan === null) {
      expect(await stateOf(server, realm)).toEqual(before)
      return null
    }
    note(plan)
    const after = await stateOf(server, realm)
    expectWanted(before, after, b)
    expectOthers(before, after, b, prune)
    expectData(before, after, givenPasswords(plan, after))
    expectSecrets(server.areas.secrets.vault, before, after, plan, b)
    await expectExported(api, realm, after)
    await expectWritten(api, realm)
    return after
  }

  const expectNothingToDo = async (files: Files, prune: Prune): Promise<void> => {
    const { plan, requests } = await planOf(api, files, { source, prune })
    expect({ changes: plan.changes, problems: plan.problems }).toEqual({
      changes: [],
      problems: [],
    })
    // What is told about documents that left the files and stay has to be asked for.
    if (prune === 'owned' && plan.warnings.length === 0) expect(requests).toBe(1)
  }

  const expectGoneBack = async (origin: State, before: State, after: State): Promise<void> => {
    const { realm } = origin
    const isHeld = [...after.documents.values()].some(
      (one) => one.protected && !origin.documents.has(one.id) && !origin.byPlace.has(one.place),
    )
    // A user who existed before a file named them becomes unmanaged, and keeps the address of the file.
    const isLetGo = [...before.users.values()].some(
      ({ id, managed }) => managed === 0 && after.users.get(id)?.managed === 1,
    )
    const back = await api.rollback(realm, origin.revision).catch((error: unknown) => {
      const code = error instanceof ProblemError ? error.code : undefined
      if ((code === 'protected' && isHeld) || (code === 'conflict' && isLetGo)) return null
      throw error
    })
    const last = await stateOf(server, realm)
    if (back === null) {
      expect(last).toEqual(after)
      return
    }
    expect(back.revision).toBe(last.revision)
    expect(configurationOf(last, before)).toEqual(configurationOf(origin, before))
    // What lived at run time and was named by the files has become configuration, and is what it was.
    for (const one of before.documents.values())
      if (one.origin === 'runtime')
        expect(last.documents.get(one.id)).toMatchObject({ key: one.key, body: one.body })
    expectData(after, last, new Set())
  }

  const become = async (pair: Pair, what: Disturbance, prune: Prune): Promise<void> => {
    realms += 1
    tally.pairs += 1
    const realm = `r-${realms}`
    const origin = await born(realm, answeredForBy(pair.a, null))
    if (origin === null) return
    const b = answeredForBy(pair.b, await disturb(server, realm, pair, what))
    const before = await stateOf(server, realm)
    const files = await filesOf(fileOf(realm, b), environment)
    const after = await changed(before, files, b, prune)
    if (after === null) return
    tally.applied += 1
    await expectNothingToDo(files, prune)
    await expectGoneBack(origin, before, after)
  }

  it(`is what the files say, and nothing else has changed (${numRuns} pairs)`, {
    timeout: isMany ? 7_200_000 : 300_000,
  }, async () => {
    const prunes = fc.constantFrom<Prune>('owned', 'owned', 'owned', 'all', 'none')
    await fc.assert(
      fc.asyncProperty(sketches, sketches, disturbances, prunes, (x, y, what, prune) =>
        become(pairOf(x, y), what, prune),
      ),
      {
        numRuns: path === undefined ? numRuns : 1,
        ...(path === undefined ? {} : { path }),
        // Shrinking takes minutes: it is done only for a single given case.
        endOnFailure: path === undefined,
        interruptAfterTimeLimit: isMany ? 7_100_000 : 240_000,
        markInterruptAsFailure: true,
      },
    )
  })

  // Another kind, or another field, shifts what the seed leads to: what chance has left out is tried on purpose.
  it.skipIf(path !== undefined)(
    'has every kind made, changed and deleted',
    {
      timeout: 300_000,
    },
    async () => {
      const made = fc.tuple(sketches, sketches, disturbances)
      // The same for every kind: to make them takes a while, a pair of two sketches above all.
      const sampleAt = remembered((i) => fc.sample(made, { seed: seed + i, numRuns: 1 })[0])
      const pairAt = remembered((i) => {
        const sample = sampleAt(i)
        return sample && pairOf(sample[0], sample[1])
      })
      for (const { kind, action } of untried(['create', 'update', 'delete']))
        for (let i = 0; i < mostTries && !tally.actions.get(kind)?.has(action); i += 1) {
          const sample = sampleAt(i)
          if (!sample) continue
          const [x, y, what] = sample
          // A pair takes things away from its sketches alone.
          if (!(action === 'delete' ? x : y).items.some((one) => one.kind === kind)) continue
          const pair = pairAt(i)
          if (pair && mayDo(pair, kind, action)) await become(pair, what, 'owned')
        }
      expect(untried(['create', 'update', 'delete'])).toEqual([])
    },
  )

  // Found with seed -1956971102, path 42.
  it('is not what they say where a built-in that left them closes a circle: the way round is told', async () => {
    const realm = 'circle'
    const filesFor = (roles: string) => filesOf(`realm: ${realm}\nroles: ${roles}\n`, {})
    const a = await filesFor('[{ name: auditor, composites: [admin] }]')
    await apply(api, a, (await planOf(api, a, { source })).plan)
    const before = await stateOf(server, realm)
    const b = await filesFor('[{ name: admin, composites: [auditor] }]')
    // A dry run would refuse the plan before the apply does.
    const { plan } = await planOf(api, b, { source, dryRun: 'never' })
    expect(plan.warnings).toMatchObject([
      { code: 'built-in-kept', documents: [{ kind: 'role', key: 'auditor' }] },
    ])
    await expect(apply(api, b, plan)).rejects.toMatchObject({
      errors: [
        {
          field: '/operations/0/doc/composites',
          code: 'cycle',
          message: 'the role would contain itself: admin > auditor > admin',
        },
      ],
    })
    expect(await stateOf(server, realm)).toEqual(before)
    const both = await filesFor('[{ name: auditor }, { name: admin, composites: [auditor] }]')
    await apply(api, both, (await planOf(api, both, { source })).plan)
    await expectNothingToDo(both, 'owned')
  })

  it('leaves everything in the database consistent', async () => {
    expect(await faultsOf(server.areas.storage)).toEqual([])
  })
})

describe('the pairs', () => {
  it.skipIf(path !== undefined || backends.length < 2)(
    'were mostly applied, and where there are many, every kind was renamed',
    () => {
      expect(tally.applied).toBeGreaterThan(tally.pairs / 2)
      expect(tally.pairs < certain ? [] : untried(['rename'])).toEqual([])
    },
  )
})
