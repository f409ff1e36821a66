/** The deliveries of a webhook over the admin API and from the terminal: lists, sending again, trying out. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { startBackground } from '#server/run/background.ts'
import {
  hasPlainSignature,
  hasStandardSignature,
  idOf,
  openReceiver,
  type Receiver,
} from '../audit/receiver.ts'
import { backends } from '../support/backends.ts'
import { type Home, newHome } from '../support/processes/cli.ts'
import { adminPassword, type Client, startServer, type TestServer } from '../support/server.ts'

const [backend] = backends
if (!backend) throw new Error('no database')

describe('deliveries of a webhook', () => {
  let server: TestServer
  let receiver: Receiver
  let background: RunningJobs
  let home: Home
  let admin: Client
  let id: string
  const base = '/admin/realms/acme'

  beforeAll(async () => {
    receiver = await openReceiver()
    server = await startServer(backend, {
      listen: true,
      env: { IAMCTL_OUTGOING_ALLOW: 'localhost' },
    })
    background = await startBackground(server.areas)
    await server.createRealm('acme')
    admin = await server.userWith('acme', ['manage-realm', 'manage-users', 'view-events'])
    home = newHome({ IAMCTL_SERVER: server.baseUrl, IAMCTL_REALM: 'acme' })
    const env = { IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: adminPassword }
    expect(await home.run(['login'], { env })).toMatchObject({ code: 0 })
    const body = {
      name: 'siem',
      url: receiver.url('/hook'),
      eventTypes: 'ADMIN_CREATE',
      secret: 'a secret',
    }
    id = (await admin.send('POST', `${base}/webhooks`, body)).body.id
  })
  afterAll(async () => {
    home.remove()
    await background.stop()
    await server.close()
    await receiver.close()
  })
  beforeEach(async () => {
    receiver.answer(204)
    await background.idle()
    receiver.received.length = 0
  })

  const path = (rest = '') => `${base}/webhooks/${id}/deliveries${rest}`
  const list = async (query = ''): Promise<{ id: string; status: string }[]> =>
    (await admin.send('GET', path(query))).body
  const happen = async (name: string): Promise<void> => {
    expect((await admin.send('POST', `${base}/users`, { username: name })).status).toBe(201)
    await background.idle()
  }
  const setEnabled = async (enabled: boolean): Promise<void> => {
    const { body } = await admin.send('GET', `${base}/webhooks/${id}`)
    const { name, url, eventTypes } = body
    const changed = { name, url, eventTypes, enabled }
    expect((await admin.send('PUT', `${base}/webhooks/${id}`, changed)).status).toBe(200)
  }

  it('are listed newest first, by page and status, and say what came of them', async () => {
    await happen('one')
    receiver.answer(500)
    await happen('two')
    const [two, one] = await list()
    expect(two).toMatchObject({
      status: 'PENDING',
      eventType: 'ADMIN_CREATE',
      attempts: 1,
      responseStatus: 500,
      reason: 'the receiver answers 500',
      finishedAt: null,
      nextAttemptAt: expect.any(Number),
      lastAttemptAt: expect.any(Number),
    })
    expect(one).toMatchObject({
      id: receiver.received.map(idOf)[0],
      status: 'DELIVERED',
      responseStatus: 204,
      reason: null,
      nextAttemptAt: null,
      finishedAt: expect.any(Number),
    })
    expect(await list('?first=1&max=1')).toEqual([one])
    expect((await list('?status=PENDING')).map((each) => each.id)).toEqual([two?.id])
    expect((await admin.send('GET', path('?status=LOST'))).status).toBe(400)
    const byName = await admin.send('GET', `${base}/webhooks/siem/deliveries`)
    expect(byName.body).toEqual(await list())
    expect((await admin.send('GET', `${base}/webhooks/none/deliveries`)).status).toBe(404)
  })

  it('are sent again under the same id, whatever became of them, and that is audited', async () => {
    await happen('three')
    const [three] = await list('?status=DELIVERED')
    const again = await admin.send('POST', path(`/${three?.id}/redeliver`))
    expect(again).toMatchObject({
      status: 200,
      body: { id: three?.id, attempts: expect.any(Number) },
    })
    await background.idle()
    const ids = receiver.received.map(idOf)
    expect(ids.filter((one) => one === three?.id)).toHaveLength(2)
    const { body } = await server.admin.send('GET', `${base}/events?type=ADMIN_ACTION`)
    expect(body.items[0]).toMatchObject({
      actor: admin.userId,
      resourceType: 'webhooks',
      resourceId: id,
      detail: `delivery ${three?.id} is sent again`,
    })
    expect((await admin.send('POST', path('/none/redeliver'))).status).toBe(404)
  })

  it('of one webhook are not sent again through another, nor while it is disabled', async () => {
    await happen('four')
    const [four] = await list()
    const other = { name: 'other', url: receiver.url('/other'), eventTypes: 'LOGIN_FAILURE' }
    const made = await admin.send('POST', `${base}/webhooks`, other)
    const wrong = `${base}/webhooks/${made.body.id}/deliveries/${four?.id}/redeliver`
    expect((await admin.send('POST', wrong)).status).toBe(404)
    await setEnabled(false)
    const refused = await admin.send('POST', path(`/${four?.id}/redeliver`))
    expect(refused).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/enable/) },
    })
    await setEnabled(true)
  })

  it('can be tried out, signed, once, and the outcome is the answer', async () => {
    const answer = await admin.send('POST', `${base}/webhooks/${id}/test`)
    expect(answer.body).toMatchObject({ delivered: true, responseStatus: 204, reason: null })
    const [one] = receiver.received
    expect(one && idOf(one)).toBe(answer.body.id)
    expect(one?.json).toMatchObject({ type: 'ADMIN_ACTION', data: { detail: 'test delivery' } })
    expect(one && hasPlainSignature(one, 'a secret')).toBe(true)
    receiver.answer(418)
    const failed = await admin.send('POST', `${base}/webhooks/${id}/test`)
    expect(failed.body).toMatchObject({
      delivered: false,
      responseStatus: 418,
      reason: 'the receiver answers 418',
    })
    expect(receiver.received).toHaveLength(2)
  })

  it('are for who may manage the realm', async () => {
    const [one] = await list()
    const other = await server.userWith('acme', ['view-events', 'manage-clients', 'manage-users'])
    for (const [method, url] of [
      ['GET', path()],
      ['POST', path(`/${one?.id}/redeliver`)],
      ['POST', `${base}/webhooks/${id}/test`],
    ] as const) {
      expect((await other.send(method, url)).status).toBe(403)
      expect((await server.anonymous.send(method, url)).status).toBe(401)
    }
    await background.idle()
    const tried = receiver.received.filter(({ json }) => json.data.detail === 'test delivery')
    expect(tried).toEqual([])
    expect(receiver.received.map(idOf)).not.toContain(one?.id)
  })

  describe('from the terminal', () => {
    it('are signed with the secret that `webhooks secret` prints once, and for a day with the former one', async () => {
      const signs = async (name: string, secrets: readonly string[]) => {
        await happen(name)
        const [message] = receiver.received.slice(-1)
        if (!message) throw new Error('nothing was delivered')
        return secrets.map((secret) => hasStandardSignature(message, secret))
      }
      const former = 'a secret'
      expect(await signs('signed-1', [former])).toEqual([true])

      const unasked = await home.run(['webhooks', 'secret', 'siem'])
      expect(unasked).toMatchObject({ code: 1, stdout: '' })
      expect(unasked.stderr).toContain('--auto-approve')

      const made = await home.run(['webhooks', 'secret', 'siem', '--auto-approve'])
      expect(made.code, made.stderr).toBe(0)
      // Alone on standard output: a script takes it from there.
      expect(made.stdout).toMatch(/^[\w-]{43}\n$/)
      const first = made.stdout.trim()
      expect(made.stderr).not.toContain(first)
      expect(await signs('signed-2', [former, first])).toEqual([true, true])

      const json = await home.run(['webhooks', 'secret', 'siem', '--auto-approve', '-o', 'json'])
      const second: string = JSON.parse(json.stdout).value
      expect(await signs('signed-3', [first, second, former])).toEqual([true, true, false])

      const shown = await home.run(['get', 'webhooks', 'siem', '-o', 'json'])
      const { body: events } = await server.admin.send('GET', `${base}/events?size=500`)
      for (const secret of [first, second])
        expect(`${shown.stdout}${JSON.stringify(events)}`).not.toContain(secret)
      const none = await home.run(['webhooks', 'secret', 'none', '--auto-approve'])
      expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/no webhook "none"/) })
    })

    it('are listed, sent again and tried out', async () => {
      await happen('five')
      const table = await home.run(['webhooks', 'deliveries', 'siem', '--limit', '1'])
      expect(table.stdout).toMatch(/^DELIVERY +EVENT +STATUS +ATTEMPTS/)
      expect(table.stdout).toMatch(/ADMIN_CREATE +delivered +1 /)
      const json = await home.run([
        'webhooks',
        'deliveries',
        'siem',
        '--status',
        'delivered',
        '-o',
        'json',
      ])
      const [five] = JSON.parse(json.stdout)
      expect(five).toMatchObject({ status: 'DELIVERED', responseStatus: 204 })
      const again = await home.run(['webhooks', 'redeliver', 'siem', five.id])
      expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(/1 delivery is sent/) })
      await background.idle()
      expect(receiver.received.map(idOf).filter((one) => one === five.id)).toHaveLength(2)
      const tried = await home.run(['webhooks', 'test', 'siem'])
      expect(tried).toMatchObject({ code: 0, stderr: expect.stringMatching(/answered 204 in/) })
    })

    it('fail with the reason, and say what to do', async () => {
      receiver.answer(503)
      const tried = await home.run(['webhooks', 'test', 'siem'])
      expect(tried).toMatchObject({ code: 1, stderr: expect.stringMatching(/answers 503/) })
      const unclear = await home.run(['webhooks', 'redeliver', 'siem'])
      expect(unclear).toMatchObject({ code: 1, stderr: expect.stringMatching(/--failed/) })
      const nobody = await home.run(['webhooks', 'deliveries', 'none'])
      expect(nobody).toMatchObject({ code: 1, stderr: expect.stringMatching(/no webhook "none"/) })
    })
  })
})
