/** Audit events are sealed before a server ends, after it was killed, and once many have come. */

import { afterAll, describe, expect, it } from 'vitest'
import { startBackground } from '#server/run/background.ts'
import { backends } from '../support/backends.ts'
import { withStorage } from '../support/database/sealed-values.ts'
import { newHome } from '../support/processes/cli.ts'
import {
  adminPassword,
  newInstallation,
  type ServerProcess,
  startServerProcess,
} from '../support/processes/server-process.ts'
import { startServer } from '../support/server.ts'

const home = newHome({
  IAMCTL_REALM: 'acme',
  IAMCTL_USERNAME: 'admin',
  IAMCTL_PASSWORD: adminPassword,
})
afterAll(() => home.remove())

const verify = async ({ url }: Pick<ServerProcess, 'url'>, ...flags: readonly string[]) => {
  const { code, stdout, stderr } = await home.run(['events', 'verify', ...flags], {
    env: { IAMCTL_SERVER: url },
  })
  expect(code, stderr).toBe(0)
  return { stdout, stderr }
}
const verdictOf = async (server: Pick<ServerProcess, 'url'>) =>
  JSON.parse((await verify(server, '-o', 'json')).stdout) as {
    blocks: number
    events: number
    unsealed: number
  }

const makeEvents = async (server: ServerProcess): Promise<void> => {
  const admin = await server.admin()
  expect((await admin.send('POST', '/admin/realms', { realm: 'acme' })).status).toBe(201)
  for (let i = 0; i < 5; i += 1) {
    const made = await admin.send('POST', '/admin/realms/acme/roles', { name: `role-${i}` })
    expect(made.status).toBe(201)
  }
}

describe.each(backends)('audit events on $name', (backend) => {
  it('are sealed when the server stops', async () => {
    const { args, env, databaseUrl } = await newInstallation(backend)
    const server = await startServerProcess({ args, env })
    await makeEvents(server)
    expect((await server.stop()).code).toBe(0)
    await withStorage(databaseUrl, async ({ db }) => {
      const count = (table: 'audit_events' | 'audit_blocks') =>
        db.selectFrom(table).where('realm', '=', 'acme')
      const events = await count('audit_events').select('id').execute()
      const blocks = await count('audit_blocks').select('events').execute()
      expect(events.length).toBeGreaterThanOrEqual(5)
      expect(blocks.reduce((sum, block) => sum + block.events, 0)).toBe(events.length)
    })
  })

  it('are sealed at the next start when the server was killed', async () => {
    const { args, env } = await newInstallation(backend)
    const first = await startServerProcess({ args, env })
    await makeEvents(first)
    await first.kill()
    const second = await startServerProcess({ args, env })
    await expect
      .poll(() => verdictOf(second), { timeout: 20_000 })
      .toMatchObject({
        intact: true,
        events: expect.toSatisfy((events: number) => events >= 5),
        unsealed: 0,
        head: { sealedAt: expect.any(String) },
      })
    expect((await verify(second)).stderr).toMatch(
      /is intact: \d+ events in \d+ blocks?\n.*sealed at 2/,
    )
    await second.stop()
  })

  it('are sealed once a thousand have come, and verify warns until then', async () => {
    const server = await startServer(backend, { listen: true })
    await server.createRealm('acme')
    const record = (count: number) =>
      server.areas.audit.recorder.append(
        [],
        Array.from({ length: count }, (_, i) => ({
          type: 'LOGOUT' as const,
          realm: 'acme',
          actor: `actor-${i}`,
          sourceIp: '192.0.2.1',
          outcome: 'SUCCESS' as const,
        })),
      )
    expect((await verify({ url: server.baseUrl })).stderr).toContain('has no audit events')
    await record(3)
    const { stderr } = await verify({ url: server.baseUrl })
    expect(stderr).toMatch(
      /^warning: nothing is proved: of \d+ events? of realm acme none is sealed/,
    )
    const background = await startBackground(server.areas)
    await expect.poll(() => verdictOf({ url: server.baseUrl })).toMatchObject({ blocks: 1 })
    await record(10)
    await background.idle()
    expect(await verdictOf({ url: server.baseUrl })).toMatchObject({ blocks: 1, unsealed: 10 })
    await record(1000)
    await expect
      .poll(() => verdictOf({ url: server.baseUrl }), { timeout: 20_000 })
      .toMatchObject({ intact: true, unsealed: expect.toSatisfy((n: number) => n < 1000) })
    await background.stop()
    await server.close()
  })
})
