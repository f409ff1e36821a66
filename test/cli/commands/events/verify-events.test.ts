/** `iamctl events verify` against a server whose database was changed from outside. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statement } from '#server/storage/statements.ts'
import { backends } from '../../../support/backends.ts'
import { type Home, newHome } from '../../../support/processes/cli.ts'
import { adminPassword, startServer, type TestServer } from '../../../support/server.ts'

describe.each(backends.slice(0, 1))('events verify', (backend) => {
  let server: TestServer
  let home: Home
  beforeAll(async () => {
    server = await startServer(backend, { listen: true })
    await server.createRealm('acme')
    home = newHome({ IAMCTL_SERVER: server.baseUrl, IAMCTL_REALM: 'acme' })
    const env = { IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: adminPassword }
    const { code, stderr } = await home.run(['login'], { env })
    expect(code, stderr).toBe(0)
    for (let i = 0; i < 30; i += 1) {
      await server.admin.send('POST', '/admin/realms/acme/roles', { name: `role-${i}` })
      await server.areas.audit.sealEvents()
    }
  })
  afterAll(async () => {
    home.remove()
    await server.close()
  })

  const newest = () =>
    server.areas.storage.db
      .selectFrom('audit_events')
      .selectAll()
      .where('realm', '=', 'acme')
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()

  it('says that the trail is intact, how much of it was checked, and its newest hash', async () => {
    const { code, stdout, stderr } = await home.run(['events', 'verify'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toMatch(
      /realm acme is intact: \d+ events in \d+ blocks\nblock \d+ has the hash \S+/,
    )
    const json = await home.run(['events', 'verify', '-o', 'json'])
    const verdict = JSON.parse(json.stdout)
    expect(verdict).toMatchObject({ realm: 'acme', intact: true, unsealed: 0, fault: null })
    expect(verdict.blocks).toBeGreaterThan(25)
    expect(stderr).toContain(verdict.head.hash)
  })

  it('fails where the trail was cut off since a hash was noted down', async () => {
    const verified = await home.run(['events', 'verify', '-o', 'json'])
    const { hash, block } = JSON.parse(verified.stdout).head
    expect((await home.run(['events', 'verify', '--known', hash])).code).toBe(0)
    const { storage } = server.areas
    const last = await storage.db
      .selectFrom('audit_blocks')
      .selectAll()
      .where('realm', '=', 'acme')
      .where('n', '=', block)
      .executeTakeFirstOrThrow()
    await storage.commit([
      statement(storage.db.deleteFrom('audit_blocks').where('hash', '=', hash)),
      statement(storage.db.deleteFrom('audit_events').where('id', '>=', last.first_id)),
    ])
    expect((await home.run(['events', 'verify'])).code).toBe(0)
    const { code, stderr } = await home.run(['events', 'verify', '--known', hash])
    expect(code).toBe(1)
    expect(stderr).toContain(`no block with the hash ${hash}`)
  })

  it('fails and names the event that was changed', async () => {
    const { id, event_id } = await newest()
    const { storage } = server.areas
    await storage.commit([
      statement(
        storage.db.updateTable('audit_events').set({ resource_id: 'x' }).where('id', '=', id),
      ),
    ])
    const { code, stderr } = await home.run(['events', 'verify'])
    expect(code).toBe(1)
    expect(stderr).toContain(`event ${event_id}`)
    expect(stderr).toContain('was changed')
    const json = await home.run(['events', 'verify', '-o', 'json'])
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stdout)).toMatchObject({
      intact: false,
      fault: { kind: 'changed', eventId: event_id },
    })
  })
})
