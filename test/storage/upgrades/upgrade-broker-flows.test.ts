/**
 * Realms created without identity providers offer them after the next start, and link an account after its proof. A realm
 * with a changed sign-in flow or second factor keeps its flow.
 */
import { describe, expect, it } from 'vitest'
import { Flow } from '#schemas/kinds/sign-in/flow.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { startServer } from '../../support/server.ts'
import { beforeProviders, restoreFlows } from './former-flows.ts'

const second = {
  alias: 'browser-second-factor',
  topLevel: false,
  authenticationExecutions: [{ authenticator: 'totp' }],
}
const first = {
  alias: 'first-broker-login',
  authenticationExecutions: [{ authenticator: 'broker-link-or-create' }],
}
const [browser, login] = beforeProviders.changed

describe.each(backends)('a $name database of before identity providers were served', (backend) => {
  it('offers them where nobody decided on the sign-in, in history too, and nowhere else', async () => {
    const { url, remove } = await backend.createMigrated()
    const earlier = await startServer(backend, { url })
    const paths = {
      plain: await earlier.createRealm('plain'),
      strict: await earlier.createRealm('strict'),
      own: await earlier.createRealm('own'),
    }
    await restoreFlows(earlier, beforeProviders)
    const put = async (path: string, body: object) => {
      const answer = await earlier.admin.send('PUT', path, body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    }
    await put(`${paths.strict}/flows/${second.alias}`, second)
    await put(`${paths.own}/flows/${first.alias}`, first)
    await earlier.close()

    const server = await startServer(backend, { url })
    const { admin, areas } = server
    const flow = async (path: string, key: string) =>
      (await admin.send('GET', `${path}/flows/${key}`)).body
    const flowsOf = async (path: string) =>
      ((await admin.send('GET', `${path}/export`)).body.flows ?? []) as object[]
    for (const path of ['/admin/realms/master', paths.plain]) {
      expect(await flowsOf(path), path).toEqual([])
      for (const key of [...beforeProviders.removed, 'browser', first.alias])
        expect(await flow(path, key)).toMatchObject(seedOf(Flow, key)?.doc ?? { alias: '' })
    }
    // The rest of the built-in flows is there; what somebody chose is as it was.
    expect(await flowsOf(paths.strict)).toEqual([browser, expect.objectContaining(second)])
    expect(await flowsOf(paths.own)).toEqual([expect.objectContaining(first)])
    expect((await flow(paths.own, 'browser')).authenticationExecutions).toHaveLength(3)

    await admin.send('POST', `${paths.plain}/roles`, { name: 'reader' })
    const back = await admin.send('POST', `${paths.plain}/revisions/1/rollback`, {})
    expect(back.status, JSON.stringify(back.body)).toBe(200)
    expect(await flowsOf(paths.plain)).toEqual([])
    expect((await flow(paths.strict, first.alias)).description).not.toBe(login?.description)

    const faults = await faultsOf(areas.storage)
    // The numbers of operations have gaps where some were deleted by hand above.
    expect(faults.filter((fault) => !fault.includes('has operations'))).toEqual([])
    await server.close()
    await remove()
  })
})
