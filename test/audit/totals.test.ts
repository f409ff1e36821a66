/** Totals that are counted later agree with the rows, also while rows are added and removed. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTotals } from '#server/audit/totals.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import { backends, type OpenBackend } from '../support/backends.ts'

const minute = 60_000

describe.each(backends)('totals on $name', (backend) => {
  let opened: OpenBackend
  let now = 1_800_000_000_000
  let n = 0
  beforeAll(async () => {
    opened = await backend.open()
    const { storage } = opened
    await storage.commit(
      insertRows(
        storage.db,
        'realms',
        ['acme', 'other'].map((name) => ({ name, revision: 0, seq: 0, created_at: 0 })),
      ),
    )
  })
  afterAll(() => opened.close())

  const clock = { now: () => now }
  const add = (realm: string, types: readonly string[], outcome = 'SUCCESS') => {
    const { storage } = opened
    return storage.append(
      insertRows(
        storage.db,
        'audit_events',
        types.map((type) => {
          n += 1
          return {
            event_id: `e${n}`,
            realm,
            at: now,
            category: 'ADMIN',
            type,
            actor: 'a',
            source_ip: '127.0.0.1',
            resource_type: null,
            resource_id: null,
            outcome,
            detail: null,
            revision: null,
          }
        }),
      ),
    )
  }
  const exact = async (types?: readonly string[], before = Number.MAX_SAFE_INTEGER) => {
    let query = opened.storage.db.selectFrom('audit_events').where('realm', '=', 'acme')
    if (types) query = query.where('type', 'in', types)
    const { c } = await query
      .where('id', '<', before)
      .select((eb) => eb.fn.countAll<number>().as('c'))
      .executeTakeFirstOrThrow()
    return Number(c)
  }

  it('are exact before, between and after the mark moves', async () => {
    const totals = createTotals(opened.storage, clock)
    const check = async () => {
      const { id } = await opened.storage.db
        .selectFrom('audit_events')
        .select((eb) => eb.fn.max('id').as('id'))
        .executeTakeFirstOrThrow()
      for (const before of [Number(id) + 1, Number(id) - 3, 2])
        for (const types of [undefined, ['ADMIN_CREATE'], ['LOGIN_SUCCESS', 'LOGOUT'], ['NONE']])
          expect(await totals.count('acme', types ? { types } : {}, before)).toBe(
            await exact(types, before),
          )
    }
    await add('acme', ['ADMIN_CREATE', 'ADMIN_CREATE', 'LOGIN_SUCCESS', 'LOGOUT'])
    await add('other', ['ADMIN_CREATE'])
    await check()
    await totals.advance('acme')
    await check()
    now += 2 * minute
    await add('acme', ['LOGIN_SUCCESS'], 'FAILURE')
    await totals.advance('acme')
    await check()
    now += 2 * minute
    await add('acme', ['ADMIN_CREATE', 'LOGOUT'])
    await Promise.all([totals.advance('acme'), totals.advance('acme')])
    await check()
    expect(await totals.count('acme', { outcome: 'FAILURE' }, Number.MAX_SAFE_INTEGER)).toBe(1)
  })

  it('lose what is removed, and nothing else', async () => {
    const totals = createTotals(opened.storage, clock)
    const { db } = opened.storage
    now += 60 * minute
    await totals.advance('acme')
    const rows = await db.selectFrom('audit_events').select(['id', 'realm']).orderBy('id').execute()
    const ids = rows.filter(({ realm }) => realm === 'acme').map(({ id }) => id)
    expect(await totals.countedUpTo('acme')).toBe(ids.at(-1))
    const gone = ids.slice(0, 3)
    await opened.storage.commit([
      totals.uncount('acme', gone),
      statement(db.deleteFrom('audit_events').where('id', 'in', gone)),
    ])
    expect(await totals.count('acme', {}, Number.MAX_SAFE_INTEGER)).toBe(ids.length - 3)
    expect(await exact()).toBe(ids.length - 3)
  })
})
