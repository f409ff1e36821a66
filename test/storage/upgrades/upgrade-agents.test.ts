/** Agents that were stored before they were served keep their owner, and stay PENDING until they are activated. */

import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../../support/backends.ts'
import { startServer } from '../../support/server.ts'

describe.each(backends)('agents of an earlier version on $name', (backend) => {
  it('keep their owner', async () => {
    const { url, remove } = await backend.createMigrated()
    try {
      const before = await startServer(backend, { url })
      const base = await before.createRealm('acme')
      const { send } = before.admin
      const owner = (await send('POST', `${base}/users`, { username: 'alice' })).body.userId
      const text = '"ownerUserId":"00000000-0000-7000-8000-000000000000"'
      await send('POST', `${base}/agents`, { name: 'bot', ownerUserId: owner, description: text })
      await send('POST', `${base}/agents`, { name: 'free' })
      const { storage } = before.areas
      const raw = (query: ReturnType<typeof sql>) =>
        statement({ compile: () => query.compile(storage.db) })
      await storage.commit([
        raw(sql`drop table agent_delegations`),
        ...['owner_user_id', 'reminded_at', 'noted_rule'].map((column) =>
          raw(sql`alter table agent_states drop column ${sql.ref(column)}`),
        ),
        raw(sql`delete from schema_migrations where name = '0062-agents'`),
      ])
      await before.close()

      const after = await startServer(backend, { url })
      const agents = (await after.admin.send('GET', `${base}/agents`)).body
      expect(agents).toMatchObject([
        { name: 'bot', owner: 'alice', ownerUserId: owner, status: 'PENDING' },
        { name: 'free', owner: null, ownerUserId: null, status: 'PENDING' },
      ])
      await after.close()
    } finally {
      await remove()
    }
  })
})
