/**
 * A disk that is really full (ENOSPC), below the database: writes are 503 with Retry-After, readiness is down, and after
 * space was made everything goes on by itself, with all that was acknowledged. The portable case, SQLITE_FULL without a
 * mount, is in test/monitoring/storage-away.test.ts.
 */

import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { backends } from '../../support/backends.ts'
import { anonymous, type Browserless } from '../../support/processes/browserless.ts'
import { createDatabase, startPostgres } from '../../support/processes/postgres.ts'
import {
  adminPassword,
  type Installation,
  newMasterKey,
  startServerProcess,
  temporaryFolder,
} from '../../support/processes/server-process.ts'
import { mountSmallDisk, noSmallDisk, type SmallDisk } from '../../support/processes/small-disk.ts'

const groups = '/admin/realms/master/groups'
const env = { IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: adminPassword, IAMCTL_MASTER_KEY: newMasterKey() }

/** The database alone is on the small disk: SQLite with its server, PostgreSQL with all of its folder. */
const installations = {
  sqlite: async () => {
    const disk = await mountSmallDisk(16)
    onTestFinished(disk.remove)
    return { disk, on: { args: ['--data', disk.path], env, enter: disk.enter } }
  },
  postgres: async () => {
    const disk = await mountSmallDisk(160)
    onTestFinished(disk.remove)
    const postgres = await startPostgres({ disk })
    onTestFinished(postgres.stop)
    const url = await createDatabase(postgres.url, 'full')
    return { disk, on: { args: ['--data', temporaryFolder(), '--database-url', url], env } }
  },
} satisfies Record<
  string,
  () => Promise<{ disk: SmallDisk; on: Pick<Installation, 'args' | 'env' | 'enter'> }>
>

const status = async (client: Browserless, path: string): Promise<number> =>
  (await client.send('GET', `/monitoring/health/${path}`)).status

describe.each(backends)('a full disk below $name', ({ name }) => {
  it.skipIf(noSmallDisk)(
    `is 503 for writes, not ready, and heals without loss${noSmallDisk ? ` (skipped: ${noSmallDisk})` : ''}`,
    async () => {
      const { disk, on } = await installations[name]()
      const server = await startServerProcess(on)
      const admin = await server.admin()
      const probe = anonymous(server.url)
      const acknowledged: string[] = []
      const write = async (client: Browserless) => {
        const name = `group-${acknowledged.length}`
        // Nothing that could be compressed.
        const attributes = {
          filler: Array.from({ length: 5 }, () => randomBytes(2900).toString('base64')),
        }
        const answer = await client.send('POST', groups, { name, attributes })
        if (answer.status === 201) acknowledged.push(name)
        return answer
      }
      /** Pages and log that are there already take some more. */
      const untilRefused = async () => {
        for (;;) {
          const answer = await write(admin)
          if (answer.status !== 201) return answer
        }
      }
      const names = async (client: Browserless): Promise<string[]> =>
        (await client.send('GET', groups)).body.map((group: { name: string }) => group.name)

      // Twice: what healed once is as good as new.
      for (const round of [1, 2]) {
        expect((await write(admin)).status, `round ${round}`).toBe(201)
        disk.fill()
        const refused = await untilRefused()
        expect([refused.status, refused.body.code]).toEqual([503, 'unavailable'])
        expect(refused.headers['retry-after']).toMatch(/^\d+$/)
        expect(await status(probe, 'readiness')).toBe(503)
        expect(await status(probe, 'liveness')).toBe(200)
        expect(await names(admin)).toEqual(expect.arrayContaining(acknowledged))
        disk.free()
        await expect.poll(() => status(probe, 'readiness')).toBe(200)
        expect((await write(admin)).status).toBe(201)
      }

      // Nor does the end of the process lose any, right after the disk was full.
      disk.fill()
      expect((await untilRefused()).status).toBe(503)
      await server.kill()
      disk.free()
      const again = await startServerProcess(on)
      expect(await names(await again.admin())).toEqual(expect.arrayContaining(acknowledged))
      await again.stop()
    },
  )
})
