/**
 * The server is killed in the middle of a sync of a directory. Users are there as a whole or not at all, with their link, role
 * and event; the next sync, once the lease of the dead server has expired, makes the rest.
 */

import { describe, expect, it, onTestFinished } from 'vitest'
import { startLdap } from '../../directories/ldap-server.ts'
import { base, bindUser, configFor } from '../../directories/people.ts'
import { person } from '../../directories/sync-world.ts'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { withStorage } from '../../support/database/sealed-values.ts'
import { newInstallation, startServerProcess } from '../../support/processes/server-process.ts'
import { untilQuiet } from './killed-server.ts'

const count = 4000

describe.each(backends)('a sync whose server is killed ($name)', (backend) => {
  it('leaves whole users, and the next one makes the rest', async () => {
    const ldap = await startLdap()
    onTestFinished(() => ldap.close())
    ldap.entries = [
      bindUser,
      { dn: base, attributes: { objectClass: ['organizationalUnit'] } },
      ...Array.from({ length: count }, (_, i) => person(`user-${i}`)),
    ]
    const { env, ...installation } = await newInstallation(backend)
    const start = () =>
      startServerProcess({
        ...installation,
        env: { ...env, IAMCTL_OUTGOING_ALLOW: '127.0.0.1' },
      })
    const first = await start()
    const admin = await first.admin()
    await admin.send('POST', '/admin/realms', { realm: 'acme' })
    const config = { ...configFor(ldap.url), pageSize: 1000 }
    const made = await admin.send('POST', '/admin/realms/acme/identity-providers', {
      alias: 'corp',
      protocol: 'ldap',
      config,
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const path = '/admin/realms/acme/user-federation/corp/sync'
    const syncing = admin.send('POST', path).catch(() => undefined)
    await first.process.waitForLine(/directory corp: add/)
    await first.kill()
    await syncing
    await untilQuiet(installation.databaseUrl)

    const before = await withStorage(installation.databaseUrl, async (storage) => {
      expect(await faultsOf(storage)).toEqual([])
      const { db } = storage
      const users = await db
        .selectFrom('users')
        .select('id')
        .where('realm', '=', 'acme')
        .orderBy('id')
        .execute()
      const ids = users.map(({ id }) => id)
      const links = await db
        .selectFrom('federated_links')
        .select('user_id as id')
        .orderBy('user_id')
        .execute()
      expect(links.map(({ id }) => id)).toEqual(ids)
      const events = await db
        .selectFrom('audit_events')
        .select('resource_id as id')
        .where('realm', '=', 'acme')
        .where('type', '=', 'ADMIN_CREATE')
        .where('resource_type', '=', 'users')
        .orderBy('resource_id')
        .execute()
      expect(events.map(({ id }) => id)).toEqual(ids)
      return ids.length
    })
    expect(before).toBeGreaterThan(0)
    expect(before).toBeLessThan(count)

    const second = await start()
    const again = await second.admin()
    const held = await again.send('POST', path)
    expect(held.body).toMatchObject({ ignored: true, added: 0 })
    await second.stop()
    await withStorage(installation.databaseUrl, async ({ db, commit }) => {
      const { sql, parameters } = db
        .updateTable('directory_syncs')
        .set({ lease_until: 0 })
        .compile()
      await commit([{ sql, parameters }])
    })
    const third = await start()
    const last = await third.admin()
    const rest = await last.send('POST', path)
    expect(rest.body).toMatchObject({ added: count - before, updated: 0, removed: 0, failed: 0 })
    expect((await last.send('POST', `${path}?full=true`)).body).toMatchObject({
      added: 0,
      updated: 0,
      removed: 0,
      failed: 0,
    })
    await third.stop()
  })
})
