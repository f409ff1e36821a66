/** The in-memory copy: it follows the log by deltas, stays within its budget and never shows an old document. */

import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCopy } from '#server/storage/documents/copy.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const plenty = { totalBytes: 16 * 1024 * 1024, kindBytes: 4 * 1024 * 1024 }

describe.each(backends)('the copy on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const role = (method: string, name: string, body: Record<string, unknown> = {}) =>
    server.admin.send(
      method,
      method === 'POST' ? `${base}/roles` : `${base}/roles/${name}`,
      method === 'DELETE' ? undefined : { name, ...body },
    )
  const keys = async (copy: ReturnType<typeof createCopy>) =>
    (await (await copy.fresh('acme'))?.list('role'))?.map(({ key }) => key)

  it('keeps the documents that did not change, and only reads what did', async () => {
    const copy = createCopy(server.areas.storage, plenty)
    const before = await (await copy.fresh('acme'))?.list('role')
    await role('POST', 'added')
    await role('PUT', 'auditor', { description: 'changed' })
    const after = await (await copy.fresh('acme'))?.list('role')
    expect(after?.map(({ key }) => key)).toEqual(['added', 'admin', 'auditor', 'user'])
    const kept = (key: string) => [before, after].map((list) => list?.find((d) => d.key === key))
    expect(kept('user')[1]).toBe(kept('user')[0])
    expect(kept('auditor')[1]).not.toBe(kept('auditor')[0])
    await role('DELETE', 'added')
    expect(await keys(copy)).toEqual(['admin', 'auditor', 'user'])
    copy.close()
  })

  it('reads only what changed also where many ask while it catches up', async () => {
    const copy = createCopy(server.areas.storage, plenty)
    const unchanged = async () =>
      (await (await copy.fresh('acme'))?.list('role'))?.find(({ key }) => key === 'user')
    const first = await unchanged()
    const askLater = async (turns: number) => {
      for (let turn = 0; turn < turns; turn += 1) await setImmediate()
      return unchanged()
    }
    for (let n = 0; n < 10; n += 1) {
      await role('PUT', 'auditor', { description: `number ${n}` })
      const asked = await Promise.all(Array.from({ length: 30 }, (_, turns) => askLater(turns)))
      for (const document of asked) expect(document).toBe(first)
    }
    copy.close()
  })

  it('finds a renamed document under its new key only', async () => {
    const copy = createCopy(server.areas.storage, plenty)
    const made = await role('POST', 'before')
    expect((await (await copy.fresh('acme'))?.get('role', 'before'))?.id).toBe(made.body.roleId)
    await server.admin.send('PUT', `${base}/roles/before`, { name: 'after' })
    const view = await copy.fresh('acme')
    expect(await view?.get('role', 'before')).toBeUndefined()
    expect((await view?.get('role', 'after'))?.id).toBe(made.body.roleId)
    expect((await view?.byId('role', made.body.roleId))?.key).toBe('after')
    copy.close()
  })

  it('stays within its budget and still answers', async () => {
    const small = createCopy(server.areas.storage, { totalBytes: 6000, kindBytes: 5000 })
    const seeded = (await (await small.fresh('acme'))?.list('client-scope'))?.length ?? 0
    for (let i = 0; i < 30; i += 1)
      await server.admin.send('POST', `${base}/client-scopes`, {
        name: `scope-${i}`,
        description: 'x'.repeat(500),
      })
    const view = await small.fresh('acme')
    expect(await view?.list('client-scope')).toHaveLength(seeded + 30)
    for (let i = 0; i < 30; i += 1) {
      expect((await view?.get('client-scope', `scope-${i}`))?.key).toBe(`scope-${i}`)
      expect(small.bytes()).toBeLessThanOrEqual(6000)
    }
    expect(small.bytes()).toBeGreaterThan(0)
    small.close()
  })

  it('reads anew when the log no longer reaches back to where it was', async () => {
    const copy = createCopy(server.areas.storage, plenty)
    expect(await keys(copy)).not.toContain('late')
    await role('POST', 'late')
    await role('POST', 'later')
    const { db } = server.areas.storage
    const oldest = db.deleteFrom('changes').where('realm', '=', 'acme').compile()
    await server.areas.storage.commit([{ sql: oldest.sql, parameters: oldest.parameters }])
    expect(await keys(copy)).toEqual(expect.arrayContaining(['late', 'later']))
    copy.close()
  })

  it('forgets a realm that is gone', async () => {
    await server.createRealm('gone')
    const copy = createCopy(server.areas.storage, plenty)
    await (await copy.fresh('gone'))?.list('role')
    expect(copy.bytes()).toBeGreaterThan(0)
    await server.admin.send('DELETE', '/admin/realms/gone')
    expect(await copy.fresh('gone')).toBeUndefined()
    expect(copy.bytes()).toBe(0)
    copy.close()
  })

  it('shows a realm nothing of one that had its name before', async () => {
    const copy = createCopy(server.areas.storage, plenty)
    const idsOf = async () =>
      (await (await copy.fresh('again'))?.list('role'))?.map(({ id }) => id) ?? []
    const path = await server.createRealm('again')
    const first = await idsOf()
    await server.admin.send('DELETE', path)
    // As far as the one before, and further: neither may pass for its continuation.
    await server.createRealm('again')
    const second = await idsOf()
    await server.admin.send('DELETE', path)
    await server.createRealm('again')
    for (const name of ['a', 'b']) await server.admin.send('POST', `${path}/roles`, { name })
    const third = await idsOf()
    expect([first.length, second.length, third.length]).toEqual([3, 3, 5])
    expect(new Set([...first, ...second, ...third]).size).toBe(11)
    copy.close()
  })

  it('never lags behind its own position under concurrent reads and writes', async () => {
    const copy = createCopy(server.areas.storage, plenty)
    await role('POST', 'counter', { attributes: { n: ['0'] } })
    let highest = 0
    const seen: number[] = []
    const writing = (async () => {
      for (let n = 1; n <= 40; n += 1) {
        await role('PUT', 'counter', { attributes: { n: [String(n)] } })
        highest = n
      }
    })()
    const reading = async (): Promise<void> => {
      while (highest < 40) {
        // SQLite answers within the same turn of the event loop: without this, no other task would run.
        await setImmediate()
        const atLeast = highest
        const view = await copy.fresh('acme')
        const list = (await view?.list('role')) ?? []
        const one = await view?.get('role', 'counter')
        const value = (document: typeof one) =>
          Number((document?.body['attributes'] as { n: string[] } | undefined)?.n[0])
        seen.push(value(one))
        expect(value(one)).toBeGreaterThanOrEqual(atLeast)
        expect(value(list.find(({ key }) => key === 'counter'))).toBeGreaterThanOrEqual(atLeast)
      }
    }
    await Promise.all([writing, ...Array.from({ length: 4 }, reading)])
    expect(seen.length).toBeGreaterThan(10)
    copy.close()
  })
})
