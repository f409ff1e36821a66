/** What makes a component bad, with one part replaced at a time. */

import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHealth, type HealthParts } from '#server/admin/health.ts'
import { createSiblings, type Siblings } from '#server/platform/threads/siblings.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('a component on $name', (backend) => {
  let server: TestServer
  beforeEach(async () => {
    server = await startServer(backend)
  })
  afterEach(() => server.close())

  const healthWith = (change: Partial<HealthParts> = {}) => {
    const health = createHealth({
      ...server.areas.given,
      storage: server.areas.storage,
      forwarder: server.areas.audit.forwarder,
      siblings: createSiblings(),
      ...change,
    })
    health.started()
    return health
  }

  it('is DOWN for a database that does not answer, and with it readiness but not liveness', async () => {
    const ping = (): Promise<boolean> => new Promise(() => {})
    for (const storage of [
      { ...server.areas.storage, ping: async () => false },
      { ...server.areas.storage, ping: () => Promise.reject(new Error('gone')) },
      { ...server.areas.storage, ping },
    ])
      expect(await healthWith({ storage }).components()).toMatchObject({
        db: 'DOWN',
        readinessState: 'DOWN',
        livenessState: 'UP',
        ssl: 'UP',
      })
  })

  it('is DOWN for the database of a server whose storage is closed', async () => {
    const health = healthWith()
    await server.areas.storage.close()
    expect(await health.components()).toMatchObject({ db: 'DOWN', readinessState: 'DOWN' })
  })

  it('is OUT_OF_SERVICE for readiness once the server stops, and nothing else changes', async () => {
    const health = healthWith()
    const before = await health.components()
    health.stopping()
    expect(await health.components()).toEqual({ ...before, readinessState: 'OUT_OF_SERVICE' })
  })

  it('is DOWN for ssl while a certificate that signs is not valid', async () => {
    const { db } = server.areas.storage
    const row = await db
      .selectFrom('signing_keys')
      .select('certificate')
      .where('status', '=', 'ACTIVE')
      .executeTakeFirstOrThrow()
    const certificate = new X509Certificate(Buffer.from(row.certificate, 'base64'))
    const [from, to] = [certificate.validFrom, certificate.validTo].map((text) => Date.parse(text))
    let now = 0
    const health = healthWith({ clock: { now: () => now } })
    const statuses: unknown[] = []
    for (const moment of [(from ?? 0) - 1000, from, to, (to ?? 0) + 1000]) {
      now = moment ?? 0
      statuses.push((await health.components())['ssl'])
    }
    expect(statuses).toEqual(['DOWN', 'UP', 'UP', 'DOWN'])
  })

  it('is UP for disk space also where the data folder was never made', async () => {
    const {
      given: { config },
    } = server.areas
    const data = join(config.runtime.data, 'not', 'there')
    const health = healthWith({ config: { ...config, runtime: { ...config.runtime, data } } })
    expect((await health.components())['diskSpace']).toBe('UP')
  })

  it('is as bad as in the worker where it is worst, and a silent worker is not alive', async () => {
    const answering = (answers: object[], silent: unknown[]): Siblings => ({
      answer: () => {},
      ask: async () => ({ answers, silent }),
      close: () => {},
    })
    const well = { db: 'UP', livenessState: 'UP', readinessState: 'UP' }
    const ill = { db: 'DOWN', livenessState: 'UP', readinessState: 'OUT_OF_SERVICE' }
    expect(await healthWith({ siblings: answering([well, ill], []) }).components()).toEqual(ill)
    expect(await healthWith({ siblings: answering([well], [null]) }).components()).toEqual({
      ...well,
      livenessState: 'DOWN',
    })
  })

  it('is checked once for all who ask at the same moment', async () => {
    let pings = 0
    const storage = {
      ...server.areas.storage,
      ping: async () => {
        pings += 1
        return true
      },
    }
    const health = healthWith({ storage })
    await Promise.all(Array.from({ length: 20 }, () => health.components()))
    expect(pings).toBe(1)
  })
})
