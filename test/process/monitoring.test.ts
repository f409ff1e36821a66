/** Monitoring of a whole server: with workers it speaks for all of them, and while stopping it says so. */
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type Sample, samplesIn, sumOf } from '../monitoring/exposition.ts'
import { backends } from '../support/backends.ts'
import { anonymous, type Browserless } from '../support/processes/browserless.ts'
import {
  newInstallation,
  type ServerProcess,
  startServerProcess,
} from '../support/processes/server-process.ts'

const roles = '/admin/realms/master/roles'
const writes = 'svc_admin_write_total'
const done = { realm: 'master', method: 'POST', outcome: 'success' }

/** A connection stays with its worker, so each request has its own. */
const alone = { connection: 'close' }

const get = (client: Browserless, path: string) => client.send('GET', path, undefined, alone)

const scrape = async (server: ServerProcess): Promise<Sample[]> =>
  samplesIn(String((await get(anonymous(server.url), '/monitoring/metrics')).body))

/** The processes that have answered a request so far. */
const answering = (server: ServerProcess): number[] => {
  const lines = server.process.stdout().matchAll(/"pid":(\d+),[^\n]*"msg":"request"/g)
  return [...new Set([...lines].map(([, pid]) => Number(pid)))]
}

describe('a server with workers', () => {
  const [postgres] = backends.filter(({ name }) => name === 'postgres')

  it.runIf(postgres)('answers the same figures and health through every worker', async () => {
    if (!postgres) return
    const { args, env } = await newInstallation(postgres)
    const server = await startServerProcess({ args, env }, '--workers', '2', '--log-level', 'debug')
    const admin = await server.admin()
    let made = 0
    while (answering(server).length < 2 || made < 10) {
      made += 1
      const body = { name: `role-${made}` }
      expect((await admin.send('POST', roles, body, alone)).status).toBe(201)
    }
    for (let i = 0; i < 6; i += 1) {
      const samples = await scrape(server)
      expect(sumOf(samples, writes, done)).toBe(made)
      expect(sumOf(samples, 'svc_login_total', { realm: 'master', outcome: 'success' })).toBe(1)
      expect(sumOf(samples, 'svc_processes')).toBe(2)
      const { body } = await get(admin, '/admin/metrics/summary')
      expect(body.adminWrites).toEqual({ success: made, denied: 0 })
      const health = await get(anonymous(server.url), '/monitoring/health')
      expect([health.status, health.body.status]).toEqual([200, 'UP'])
    }

    // Figures of a worker are kept when it dies, and not counted twice when another replaces it.
    const [doomed = 0] = answering(server)
    process.kill(doomed, 'SIGKILL')
    await server.process.waitForLine(/a worker ended; starting another/)
    expect(sumOf(await scrape(server), writes, done)).toBe(made)
    while (sumOf(await scrape(server), 'svc_processes') < 2) await pause(50)
    expect(sumOf(await scrape(server), writes, done)).toBe(made)

    // One that hangs is not alive, and its figures are those it told last.
    const [hanging = 0] = answering(server).filter((pid) => pid !== doomed)
    process.kill(hanging, 'SIGSTOP')
    const ask = async (): Promise<{ status: number; body: { status: string } } | undefined> => {
      const patience = { signal: AbortSignal.timeout(8000), headers: alone }
      const url = `${server.url}/monitoring/health/liveness`
      const answer = await fetch(url, patience).catch(() => undefined)
      return answer && { status: answer.status, body: (await answer.json()) as { status: string } }
    }
    let told = await ask()
    // Half of the connections go to the one that hangs.
    while (told === undefined) told = await ask()
    process.kill(hanging, 'SIGCONT')
    expect([told.status, told.body.status]).toEqual([503, 'DOWN'])
    expect(await server.stop()).toEqual({ code: 0, signal: null })
  })
})

describe.each(backends)('a server that stops ($name)', (backend) => {
  it('is OUT_OF_SERVICE while balancers are to notice, and still answers', async () => {
    const workers = backend.name === 'sqlite' ? '1' : '2'
    const more = ['--shutdown-delay', '3600', '--workers', workers]
    const server = await startServerProcess(await newInstallation(backend), ...more)
    const probe = anonymous(server.url)
    expect((await get(probe, '/monitoring/health/readiness')).status).toBe(200)
    const admin = await server.admin()
    server.process.kill('SIGTERM')
    await server.process.waitForLine(/"msg":"stopping"/)
    let ready = await get(probe, '/monitoring/health/readiness')
    while (ready.status === 200) ready = await get(probe, '/monitoring/health/readiness')
    expect([ready.status, ready.body.status]).toEqual([503, 'OUT_OF_SERVICE'])
    const overall = await get(probe, '/monitoring/health')
    expect([overall.status, overall.body.status]).toEqual([503, 'OUT_OF_SERVICE'])
    expect((await get(probe, '/monitoring/health/liveness')).status).toBe(200)
    expect((await get(admin, roles)).status).toBe(200)
    await server.kill()
  })
})

describe('the bundle', () => {
  it('knows when and from which commit it was built, and holds the API description and the page that shows it', async () => {
    const [backend] = backends
    if (!backend) return
    const server = await startServerProcess(await newInstallation(backend))
    const client = anonymous(server.url)
    const { body } = await get(client, '/monitoring/info')
    expect(Date.parse(body.build.time)).toBeLessThanOrEqual(Date.now())
    // Sources without a repository have no commit to tell.
    const repository = new URL('../../.git', import.meta.url)
    const commit = existsSync(repository) ? expect.stringMatching(/^[0-9a-f]{40}$/) : null
    expect(body.git.commit.id).toEqual(commit)

    const description = (await get(client, '/v3/api-docs')).body
    expect(description.openapi).toBe('3.1.0')
    expect(Object.keys(description.paths)).toContain('/admin/realms/{realm}/clients')
    expect((await get(client, '/v3/api-docs.yaml')).body).toMatch(/^openapi: "3\.1\.0"\n/)
    const page = await get(client, '/interactive-docs.html')
    for (const [, file = ''] of String(page.body).matchAll(
      /(?:src|href)="(\/interactive-docs\/[^"]+)"/g,
    ))
      expect((await get(client, file)).status, file).toBe(200)
    await server.stop()
  })
})
