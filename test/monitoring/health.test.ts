import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { capabilities } from '#schemas/wire/capabilities.ts'
import type { Health } from '#server/admin/health.ts'
import { monitoringRoutes } from '#server/admin/monitoring.ts'
import { createHttp } from '#server/http/server.ts'
import manifest from '../../package.json' with { type: 'json' }
import { backends } from '../support/backends.ts'
import { type Answer, send, startServer, type TestServer } from '../support/server.ts'

const places = ['health', 'health/liveness', 'health/readiness', 'info', 'metrics'].map(
  (place) => `/monitoring/${place}`,
)

describe.each(backends)('health on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const get = (path: string): Promise<Answer> => server.anonymous.send('GET', path)

  /** What a server answers whose parts are not all well. */
  const unwell = async (
    change: (health: Health) => Health,
  ): Promise<(path: string) => Promise<Answer>> => {
    const { given, platform, admin } = server.areas
    const app = createHttp(given)
    app.register(monitoringRoutes({ health: change(admin.health), siblings: platform.siblings }))
    await app.ready()
    return (path) => send(app, 'GET', path, undefined, {})
  }

  it('names every component with its status, without a component for a cache that is not configured', async () => {
    const { status, body } = await get('/monitoring/health')
    const up = { status: 'UP' }
    expect(status).toBe(200)
    expect(body).toEqual({
      status: 'UP',
      groups: ['liveness', 'readiness'],
      components: {
        db: up,
        diskSpace: up,
        livenessState: up,
        ping: up,
        readinessState: up,
        ssl: up,
      },
    })
  })

  it('answers liveness and readiness apart', async () => {
    expect(await get('/monitoring/health/liveness')).toMatchObject({
      status: 200,
      body: { status: 'UP', components: { livenessState: { status: 'UP' } } },
    })
    expect(await get('/monitoring/health/readiness')).toMatchObject({
      status: 200,
      body: { status: 'UP', components: { readinessState: { status: 'UP' } } },
    })
  })

  it('is DOWN with 503 when an optional part is, while liveness and readiness stay UP', async () => {
    const ask = await unwell((health) => ({
      ...health,
      components: async () => ({ ...(await health.components()), redis: 'DOWN' }),
    }))
    const { status, body } = await ask('/monitoring/health')
    expect([status, body.status, body.components.redis]).toEqual([503, 'DOWN', { status: 'DOWN' }])
    expect((await ask('/monitoring/health/liveness')).status).toBe(200)
    expect((await ask('/monitoring/health/readiness')).status).toBe(200)
  })

  it('is the same for everybody: no cookie, header or session changes an answer or sets a cookie', async () => {
    for (const place of places) {
      const plain = await get(place)
      const dressed = await server.admin.send('GET', place, undefined, {
        authorization: 'Bearer nonsense',
        'x-xsrf-token': 'nonsense',
      })
      expect(dressed.status, place).toBe(200)
      if (!place.endsWith('metrics')) expect(dressed.body).toEqual(plain.body)
      for (const answer of [plain, dressed]) {
        expect(answer.headers['set-cookie'], place).toBeUndefined()
        expect(answer.headers['cache-control'], place).toBe('no-store')
      }
    }
  })

  it('tells the release and, from source, that the build is not known', async () => {
    expect((await get('/monitoring/info')).body).toEqual({
      build: { name: 'iamctl', version: manifest.version, time: null },
      git: { commit: { id: null } },
      runtime: { node: process.version },
      api: { capabilities },
    })
  })
})
