/** The number of requests of a plan and an apply, for any size of the realm (docs/concepts.md), as the client counts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { injectedApi } from '../support/injected-api.ts'
import { isLong } from '../support/run/chance.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { apply, filesOf, planOf } from './files.ts'

/** The largest takes a while. */
const sizes = isLong ? [10, 1000, 10_000] : [10, 1000]

const source = 'budget'

const realmOf = (realm: string, size: number, description: string): string =>
  `realm: ${realm}\nroles:\n${Array.from({ length: size }, (_, i) => `  - { name: role-${i}, description: ${description} }\n`).join('')}`

describe.each(backends)('requests on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  it.each(sizes)(
    'are three at most for %i documents, and one where nothing differs',
    async (size) => {
      const realm = `size-${size}`
      const api = injectedApi(server)
      const plan = async (text: string) =>
        planOf(api, await filesOf(text, {}), { source, dryRun: 'always' })
      /** Of the whole command: it plans as well. */
      const applied = async (text: string): Promise<number> => {
        const files = await filesOf(text, {})
        const { plan: planned, requests } = await planOf(api, files, { source })
        return requests + (await apply(api, files, planned)).requests
      }

      const [first, second] = [realmOf(realm, size, 'one'), realmOf(realm, size, 'two')]
      expect((await plan(first)).requests).toBe(2)
      expect(await applied(first)).toBe(2)
      const idle = await plan(first)
      expect(idle.plan.changes).toEqual([])
      expect(idle.requests).toBe(1)
      const planned = await plan(second)
      expect(planned.plan.summary).toMatchObject({ add: 0, change: size, destroy: 0 })
      expect(planned.requests).toBe(3)
      expect(await applied(second)).toBe(3)
      // Before a deletion, the server is asked for the blast radius.
      expect(await applied(realmOf(realm, size - 1, 'two'))).toBe(4)
    },
    120_000,
  )
})
