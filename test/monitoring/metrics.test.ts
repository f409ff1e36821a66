import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { adminPassword, startServer, type TestServer } from '../support/server.ts'
import { type Sample, samplesIn, sumOf } from './exposition.ts'

const writes = 'svc_admin_write_total'
const logins = 'svc_login_total'

describe.each(backends)('metrics on $name', (backend) => {
  let server: TestServer
  let base: string

  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const scrape = async (): Promise<Sample[]> => {
    const { status, body, headers } = await server.anonymous.send('GET', '/monitoring/metrics')
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    return samplesIn(body)
  }

  /** How much a figure grows by some requests. */
  const growth = async (
    work: () => Promise<unknown>,
    name: string,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<number> => {
    const before = sumOf(await scrape(), name, labels)
    await work()
    return sumOf(await scrape(), name, labels) - before
  }

  const signIn = async (realm: string, username: string, password: string): Promise<number> => {
    const path = `/realms/${realm}/login`
    const page = await server.app.inject({ method: 'GET', url: path })
    const cookies = Object.fromEntries(page.cookies.map(({ name, value }) => [name, value]))
    const form = new URLSearchParams({ username, password, _csrf: cookies['XSRF-TOKEN'] ?? '' })
    const answer = await server.app.inject({
      method: 'POST',
      url: path,
      cookies,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: form.toString(),
    })
    return answer.statusCode
  }

  it('tell the four counters by name, also before anything happened', async () => {
    const { body } = await server.anonymous.send('GET', '/monitoring/metrics')
    for (const name of [logins, writes, 'svc_tokens_issued_total', 'svc_mfa_challenge_total'])
      expect(body).toContain(`# TYPE ${name} counter`)
  })

  it('count sign-ins by realm and outcome', async () => {
    const good = { realm: 'master', outcome: 'success' }
    expect(await growth(() => signIn('master', 'admin', adminPassword), logins, good)).toBe(1)
    const bad = { realm: 'acme', outcome: 'failure' }
    expect(await growth(() => signIn('acme', 'nobody', 'wrong'), logins, bad)).toBe(1)
  })

  it('count an admin write that is done as a success, with its method', async () => {
    const labels = { realm: 'acme', method: 'POST', outcome: 'success' }
    const create = () => server.admin.send('POST', `${base}/roles`, { name: 'counted' })
    expect(await growth(create, writes, labels)).toBe(1)
    const remove = () => server.admin.send('DELETE', `${base}/roles/counted`)
    expect(await growth(remove, writes, { ...labels, method: 'DELETE' })).toBe(1)
  })

  it('count a write without session, CSRF token or permission as denied', async () => {
    const viewer = await server.userWith('acme', ['view-users'])
    const labels = { realm: 'acme', method: 'POST', outcome: 'denied' }
    const body = { name: 'denied' }
    const anonymous = () => server.anonymous.send('POST', `${base}/roles`, body)
    const noToken = () => server.admin.send('POST', `${base}/roles`, body, { 'x-xsrf-token': 'x' })
    const noPermission = () => viewer.send('POST', `${base}/roles`, body)
    for (const attempt of [anonymous, noToken, noPermission])
      expect(await growth(attempt, writes, labels)).toBe(1)
  })

  it('count neither reads nor writes that fail for another reason', async () => {
    expect(await growth(() => server.admin.send('GET', `${base}/roles`), writes)).toBe(0)
    expect(await growth(() => server.admin.send('POST', `${base}/roles`, {}), writes)).toBe(0)
    expect(await growth(() => server.admin.send('DELETE', `${base}/roles/none`), writes)).toBe(0)
  })

  it('hold no realm that does not exist, whoever asks for it (CVE-2026-16100)', async () => {
    const invented = ['no-such-realm', 'x%22%7D%0Asvc_fake_total%201', 'a'.repeat(200)]
    const denied = { realm: 'unknown', method: 'POST', outcome: 'denied' }
    for (const realm of invented) {
      const path = `/admin/realms/${realm}/roles`
      if (!realm.includes('%0A'))
        expect(await growth(() => server.anonymous.send('POST', path, {}), writes, denied)).toBe(1)
      await server.admin.send('POST', path, { name: 'x' }, { 'x-xsrf-token': 'stale' })
      await server.anonymous.send('GET', `/realms/${realm}/login`)
      await server.anonymous.send('POST', `/realms/${realm}/login`)
      await server.anonymous.send('GET', `/${realm}`)
    }
    const labels = (await scrape()).map((sample) => sample.labels)
    const realms = new Set(labels.flatMap(({ realm }) => realm ?? []))
    expect([...realms].sort()).toEqual(['acme', 'master', 'unknown'])
    expect(JSON.stringify(labels)).not.toMatch(/no-such-realm|svc_fake|aaaa/)
  })

  it('measure requests by the pattern of their route, their method and the class of the status', async () => {
    const route = '/admin/realms/:realm/roles/:id'
    const name = 'svc_http_request_duration_seconds_count'
    const found = () => server.admin.send('GET', `${base}/roles/admin`)
    expect(await growth(found, name, { method: 'GET', route, status: '2xx' })).toBe(1)
    const missing = () => server.admin.send('GET', `${base}/roles/none`)
    expect(await growth(missing, name, { method: 'GET', route, status: '4xx' })).toBe(1)
    const nowhere = () => server.anonymous.send('GET', '/nothing/is/here')
    expect(await growth(nowhere, name, { route: 'none', status: '4xx' })).toBe(1)
    const strange = () => server.anonymous.send('PROPFIND', '/nothing/is/here')
    expect(await growth(strange, name, { method: 'other', route: 'none' })).toBe(1)
  })

  it('tell about the process and what waits in it', async () => {
    const samples = await scrape()
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'process_start_time_seconds',
      'nodejs_heap_size_used_bytes',
      'svc_processes',
    ])
      expect(sumOf(samples, name), name).toBeGreaterThan(0)
    const queues = samples.filter(({ name }) => name === 'svc_queue_depth')
    expect(queues).toContainEqual({
      name: 'svc_queue_depth',
      labels: { queue: 'password-hashing' },
      value: 0,
    })
  })
})
