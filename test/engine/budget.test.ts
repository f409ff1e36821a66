/** How many requests a plan and an apply take, whatever the size of the realm (design.md part 4). */
import { load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyRealm } from '#cli/apply/apply-plan.ts'
import type { Engine } from '#cli/apply/engine.ts'
import { type PlanningOptions, planWanted } from '#cli/apply/planning.ts'
import { wantedOf } from '#cli/apply/wanted.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const long = process.env['IAMCTL_TEST_LONG'] === '1'
/** The largest takes a while: on one database unless there is time. */
const sizesOn = (backend: string): readonly number[] =>
  long || backend === 'sqlite' ? [10, 1000, 10_000] : [10, 1000]

const realmOf = (realm: string, size: number, description: string): string =>
  `realm: ${realm}\nroles:\n${Array.from({ length: size }, (_, i) => `  - { name: role-${i}, description: ${description} }\n`).join('')}`

const options: PlanningOptions = {
  source: 'budget',
  prune: 'owned',
  targets: [],
  takeOver: false,
  history: false,
  dryRun: 'always',
}

const noSecret = (): string => {
  throw new Error('there is no secret in these files')
}

/** The API of the server, counted. */
const counted = (server: TestServer): { engine: Engine; count: () => number } => {
  let requests = 0
  const send = async <T>(method: string, path: string, body?: unknown): Promise<T | null> => {
    requests += 1
    const answer = await server.admin.send(method, path, body)
    if (answer.status === 404) return null
    if (answer.status >= 400) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const needed = async <T>(reply: Promise<T | null>): Promise<T> => {
    const value = await reply
    if (value === null) throw new Error('there is no such realm')
    return value
  }
  return {
    count: () => requests,
    engine: {
      compare: (realm, request) => send('POST', `/admin/realms/${realm}/compare`, request),
      exportRealm: (realm, { sections = [] }) =>
        needed(
          send('GET', `/admin/realms/${realm}/export?builtIns=true&sections=${sections.join(',')}`),
        ),
      changeset: (realm, request) =>
        needed(send('POST', `/admin/realms/${realm}/changesets`, request)),
    },
  }
}

describe.each(backends)('requests on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  it.each(sizesOn(backend.name))(
    'are three at most for %i documents, and one where nothing differs',
    async (size) => {
      const realm = `size-${size}`
      const { engine, count } = counted(server)
      const wanted = (text: string) =>
        wantedOf(
          { realm, value: load(text) as Doc, placeOf: () => undefined, files: [] },
          noSecret as never,
        )
      const during = async <T>(work: () => Promise<T>): Promise<[number, T]> => {
        const before = count()
        const value = await work()
        return [count() - before, value]
      }
      const plan = (text: string, dryRun: PlanningOptions['dryRun'] = 'always') =>
        during(() => planWanted(engine, wanted(text), noSecret, { ...options, dryRun }))
      const apply = (text: string) =>
        during(async () => {
          const planned = await planWanted(engine, wanted(text), noSecret, {
            ...options,
            dryRun: 'destructive',
          })
          const result = await applyRealm(engine, planned, {
            provenance: {},
            allowUnrelated: false,
            takeOver: false,
            secretOf: noSecret,
          })
          expect(result).toMatchObject({ outcome: 'applied' })
        })

      const [first, second] = [realmOf(realm, size, 'one'), realmOf(realm, size, 'two')]
      expect((await plan(first))[0]).toBe(2)
      expect((await apply(first))[0]).toBe(2)
      const [idle, nothing] = await plan(first)
      expect(nothing.changes).toEqual([])
      expect(idle).toBe(1)
      const [planning, changes] = await plan(second)
      expect(changes.summary).toEqual({ add: 0, change: size, destroy: 0 })
      expect(planning).toBe(3)
      expect((await apply(second))[0]).toBe(3)
      // Before something is destroyed, the server is asked whom that reaches.
      expect((await apply(realmOf(realm, size - 1, 'two')))[0]).toBe(4)
    },
    120_000,
  )
})
