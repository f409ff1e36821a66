/**
 * Many pipelines apply to one realm concurrently. Each answered revision is exactly one apply; every other apply ends
 * with exit code 6, since the realm moved, and plans again. No change is lost.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exitCodes } from '#cli/exit.ts'
import { failureOf } from '#cli/failure.ts'
import { backends } from '../support/backends.ts'
import { faultsOf } from '../support/database/integrity.ts'
import { injectedApi } from '../support/injected-api.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { apply, filesOf, planOf } from './files.ts'

const pipelines = Array.from({ length: 20 }, (_, n) => `estate-${n}`)

/** What one estate says: a role and a client of its own, and a list in which the others' documents stand too. */
const fileOf = (realm: string, source: string): string =>
  `realm: ${realm}
roles: [{ name: ${source}, description: of ${source} }]
clients: [{ clientId: ${source}, publicClient: true, roles: [{ name: reader }] }]
`

describe.each(backends)('applies at the same moment ($name)', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  /** Plans and applies until it is done; answers the revision that it made, and how often it came too late. */
  const pipeline = async (realm: string, source: string) => {
    const api = injectedApi(server)
    const files = await filesOf(fileOf(realm, source), {})
    for (let late = 0; ; late += 1) {
      const { plan } = await planOf(api, files, { source })
      try {
        const { result } = await apply(api, files, plan)
        if (result.outcome !== 'applied') throw new Error(`${source} had nothing to do`)
        return { source, revision: result.reply.revision, late }
      } catch (error) {
        expect(failureOf(error)).toMatchObject({ exitCode: exitCodes.conflict })
        expect(['stale', 'conflict']).toContain(failureOf(error).code)
      }
    }
  }

  it('each win once or come too late, and nothing is lost', async () => {
    const realm = 'shared'
    await server.createRealm(realm)
    const made = await Promise.all(pipelines.map((source) => pipeline(realm, source)))
    const revisions = made.map(({ revision }) => revision).sort((a, b) => a - b)
    expect(revisions).toEqual(pipelines.map((_, i) => i + 2))
    expect(made.reduce((sum, { late }) => sum + late, 0)).toBeGreaterThan(0)
    const api = injectedApi(server)
    const { meta } = await api.exportRealm(realm, {})
    for (const kind of ['role', 'client'])
      expect(meta.documents[kind]).toMatchObject(
        Object.fromEntries(pipelines.map((source) => [source, { owner: source }])),
      )
    const history = await api.revisions(realm, { max: 100 })
    expect(history.map(({ revision, created }) => [revision, created]).reverse()).toEqual([
      [1, expect.any(Number)],
      ...revisions.map((revision) => [revision, 3]),
    ])
    for (const source of pipelines) {
      const files = await filesOf(fileOf(realm, source), {})
      expect((await planOf(api, files, { source })).plan.changes).toEqual([])
    }
  })

  it('of one plan change the realm once; the others are told who was first', async () => {
    const realm = 'same'
    await server.createRealm(realm)
    const files = await filesOf(fileOf(realm, 'estate'), {})
    const api = injectedApi(server)
    const { plan } = await planOf(api, files, { source: 'estate' })
    const outcomes = await Promise.all(
      pipelines.map(() =>
        apply(injectedApi(server), files, plan).then(
          () => 'applied',
          (error: unknown) => failureOf(error),
        ),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'applied')).toHaveLength(1)
    for (const failure of outcomes.filter((outcome) => outcome !== 'applied'))
      expect(failure).toMatchObject({
        code: 'stale',
        exitCode: exitCodes.conflict,
        details: { revision: 2, moved: [{ revision: 2, actorName: 'admin', source: 'changeset' }] },
      })
    expect((await server.areas.realm.realms.find(realm))?.revision).toBe(2)
  })

  it('make a realm that does not exist only once', async () => {
    const realm = 'new'
    const some = pipelines.slice(0, 5)
    const made = await Promise.all(some.map((source) => pipeline(realm, source)))
    expect(made.map(({ revision }) => revision).sort((a, b) => a - b)).toEqual(
      some.map((_, i) => i + 1),
    )
    const keys = await server.areas.storage.db
      .selectFrom('signing_keys')
      .select('id')
      .where('realm', '=', realm)
      .execute()
    expect(keys).toHaveLength(1)
  })

  it('leave everything in the database consistent', async () => {
    expect(await faultsOf(server.areas.storage)).toEqual([])
  })
})
