/** An evaluation reads no configuration: its queries are the same for one policy and for hundreds (keycloak#20566). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { put } from '../realm/changesets/changeset.ts'
import { anyBackend } from '../support/backends.ts'
import { type AuthzSite, openAuthzSite } from './site.ts'

describe.each(anyBackend)('the queries of an evaluation ($name)', (backend) => {
  let site: AuthzSite
  let token: string

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    token = await site.tokenOf(site.spa, site.alice)
  })
  afterAll(() => site.close())

  /** Makes so many policies, each with a permission about one resource. */
  const fill = async (from: number, to: number): Promise<void> => {
    const numbers = Array.from({ length: to - from }, (_, i) => from + i)
    const { body } = await site.admin('GET', '/revisions')
    const operations = numbers.flatMap((n) => [
      put('authz-scope', `api/s${n}`, { name: `s${n}` }),
      put('authz-resource', `api/r${n}`, { name: `r${n}`, scopes: [`s${n}`] }),
      put('authz-policy', `api/p${n}`, { name: `p${n}`, type: 'role', roles: ['reader'] }),
      put('authz-permission', `api/q${n}`, {
        name: `q${n}`,
        resources: [`r${n}`],
        policies: [`p${n}`],
      }),
    ])
    await site.admin('POST', '/changesets', {
      source: 'test',
      baseRevision: body[0].revision,
      operations,
    })
  }

  /** Selects of one RPT request after another one has warmed up the memory. */
  const selects = async (): Promise<number> => {
    const ask = () =>
      site.rpt(token, { audience: 'api', response_mode: 'permissions', permission: 'r0' })
    expect((await ask()).status).toBe(200)
    const { db } = site.server.areas.storage
    let count = 0
    const executor = db.getExecutor()
    const { executeQuery } = executor
    executor.executeQuery = (query, options) => {
      if (query.sql.startsWith('select')) count += 1
      return executeQuery.call(executor, query, options) as ReturnType<typeof executeQuery<never>>
    }
    try {
      await ask()
    } finally {
      executor.executeQuery = executeQuery
    }
    return count
  }

  it('do not grow with policies, permissions and resources', async () => {
    await fill(0, 1)
    const few = await selects()
    await fill(1, 200)
    expect(await selects()).toBe(few)
    const everything = await site.rpt(token, { audience: 'api', response_mode: 'permissions' })
    expect(everything.body).toHaveLength(200)
  })
})
