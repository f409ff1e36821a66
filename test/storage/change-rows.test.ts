/** Many rows are changed or deleted in few statements, and only together with the versions that were seen. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GuardFailedError } from '#server/storage/contract.ts'
import { changeRows, insertRows } from '#server/storage/statements.ts'
import { documentRow, realmRow } from '../conformance/storage/rows.ts'
import { backends, type OpenBackend } from '../support/backends.ts'

describe.each(backends)('rows with versions on $name', (backend) => {
  let open: OpenBackend
  const rows = Array.from({ length: 2500 }, (_, i) => documentRow('acme', `key-${i}`))
  beforeAll(async () => {
    open = await backend.open()
    const { db } = open.storage
    await open.storage.commit([
      ...insertRows(db, 'realms', [realmRow('acme')]),
      ...insertRows(db, 'documents', rows),
    ])
  })
  afterAll(() => open.close())

  const stored = () =>
    open.storage.db
      .selectFrom('documents')
      .selectAll()
      .orderBy('created_at')
      .orderBy('key')
      .execute()
  const changed = (version: number, from: number) =>
    rows.map(({ id, key }, i) => ({
      id,
      version: i === 2400 ? version : from,
      set: {
        key: `new-${key}`,
        version: from + 1,
        owner: i % 2 ? null : 'estate',
        body: `{"i":${i}}`,
        protected: i % 2,
      },
    }))

  it('are all changed, numbers as numbers and nulls as nulls', async () => {
    const { storage } = open
    const statements = changeRows(storage.db, 'documents', changed(1, 1))
    expect(statements.length).toBeLessThan(30)
    await storage.commit(statements)
    const after = await stored()
    expect(after).toHaveLength(rows.length)
    for (const [i, { id }] of rows.entries())
      expect(after.find((row) => row.id === id) ?? null).toMatchObject({
        key: `new-key-${i}`,
        version: 2,
        owner: i % 2 ? null : 'estate',
        body: `{"i":${i}}`,
        protected: i % 2,
      })
  })

  it('are all left as they are where one has another version by now', async () => {
    const { storage } = open
    const before = await stored()
    const stale = changeRows(storage.db, 'documents', changed(7, 2))
    await expect(storage.commit(stale)).rejects.toBeInstanceOf(GuardFailedError)
    const gone = rows.map(({ id }, i) => ({ id, version: i === 1 ? 1 : 2 }))
    const removal = changeRows(storage.db, 'documents', gone)
    await expect(storage.commit(removal)).rejects.toBeInstanceOf(GuardFailedError)
    expect(await stored()).toEqual(before)
  })

  it('are deleted, and no others', async () => {
    const { storage } = open
    const some = rows.slice(10).map(({ id }) => ({ id, version: 2 }))
    await storage.commit(changeRows(storage.db, 'documents', some))
    expect((await stored()).map(({ id }) => id).sort()).toEqual(
      rows
        .slice(0, 10)
        .map(({ id }) => id)
        .sort(),
    )
  })
})
