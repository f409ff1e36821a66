/** Every delivery is signed: a webhook without a secret gets one, which is answered once and can be replaced. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { newId } from '#server/platform/ids.ts'
import { startBackground } from '#server/run/background.ts'
import { createSender } from '#server/webhooks/sender.ts'
import { put, senderTo } from '../realm/changesets/changeset.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { hasPlainSignature, hasStandardSignature, openReceiver, type Receiver } from './receiver.ts'

describe.each(backends)('secrets of webhooks on $name', (backend) => {
  let server: TestServer
  let receiver: Receiver
  let background: RunningJobs
  const base = '/admin/realms/acme'
  beforeAll(async () => {
    receiver = await openReceiver()
    server = await startServer(backend, { env: { IAMCTL_OUTGOING_ALLOW: 'localhost' } })
    await server.createRealm('acme')
    background = await startBackground(server.areas)
  })
  afterAll(async () => {
    await background.stop()
    await server.close()
    await receiver.close()
  })

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)
  const newHook = (more: object = {}) => {
    const name = `hook-${newId()}`
    return { name, url: receiver.url(`/${name}`), eventTypes: 'ADMIN_CREATE', ...more }
  }
  /** What the webhook gets of an event that happens now. */
  const delivered = async (name: string) => {
    await send('POST', '/roles', { name: `role-${newId()}` })
    server.areas.jobs.wake()
    await background.idle()
    const one = receiver.received.findLast(({ path }) => path === `/${name}`)
    if (!one) throw new Error('nothing was delivered')
    return one
  }
  const secretKept = (id: string) =>
    server.areas.storage.db
      .selectFrom('documents')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()

  it('are made where none is given, told by the write alone, and sign', async () => {
    receiver.answer(204)
    const hook = newHook()
    const made = await send('POST', '/webhooks', hook)
    expect(made.status).toBe(201)
    const { secret, id } = made.body
    expect(secret).toMatch(/^[\w-]{43}$/)
    const one = await delivered(hook.name)
    expect(hasPlainSignature(one, secret)).toBe(true)
    expect(hasStandardSignature(one, secret)).toBe(true)
    expect((await send('GET', `/webhooks/${id}`)).body).toMatchObject({
      secret: null,
      secretSet: true,
    })
    const again = await send('PUT', `/webhooks/${id}`, { ...hook, eventTypes: '*' })
    expect(again.body.secret).toBeNull()
    const events = JSON.stringify((await send('GET', '/events?size=500')).body)
    expect(events).not.toContain(secret)
    expect(JSON.stringify(await secretKept(id))).not.toContain(secret)
  })

  it('that are given are kept and not answered', async () => {
    const { body } = await send('POST', '/webhooks', newHook({ secret: 'given by somebody' }))
    expect(body).toMatchObject({ secret: null, secretSet: true })
  })

  it('are made by a changeset too', async () => {
    receiver.answer(204)
    const hook = newHook()
    const { status, body } = await senderTo(server, 'acme').apply([put('webhook', hook.name, hook)])
    expect(status, JSON.stringify(body)).toBeLessThan(300)
    const one = await delivered(hook.name)
    expect(one.headers).toHaveProperty('webhook-signature')
    expect(one.headers).toHaveProperty('x-hub-signature-256')
  })

  it('are replaced by POST …/secret, told once, and the one before signs beside it', async () => {
    receiver.answer(204)
    const hook = newHook()
    const { body } = await send('POST', '/webhooks', hook)
    const fresh = await send('POST', `/webhooks/${body.id}/secret`)
    expect(fresh.status, JSON.stringify(fresh.body)).toBe(200)
    expect(fresh.body).toMatchObject({ type: 'secret', secretSet: true })
    expect(fresh.body.value).not.toBe(body.secret)
    const one = await delivered(hook.name)
    for (const secret of [fresh.body.value, body.secret])
      expect(hasStandardSignature(one, secret)).toBe(true)
    const events = JSON.stringify((await send('GET', '/events?size=500')).body)
    expect(events).not.toContain(fresh.body.value)
    expect(events).toContain('secret regenerated')
    const reader = await server.userWith('acme', ['manage-realm'])
    expect((await reader.send('POST', `${base}/webhooks/${body.id}/secret`)).status).toBe(403)
  })

  it('that an old webhook lacks keep it from sending, with a reason that says what to do', async () => {
    const hook = newHook({ enabled: false })
    const { body } = await send('POST', '/webhooks', hook)
    const {
      platform: { outgoing },
      storage,
      given: { clock },
      copy,
    } = server.areas
    const document = await (await copy.fresh('acme'))?.byId('webhook', body.id)
    if (!document) throw new Error('no webhook')
    const old = { ...document, secrets: {} }
    const sender = createSender({ storage, clock, outgoing, reveal: () => null })
    const answer = await sender(old, { id: 'd', body: '{}' })
    expect(answer).toMatchObject({ delivered: false, status: null })
    expect(answer.reason).toContain('no secret')
    expect(receiver.received.filter(({ path }) => path === `/${hook.name}`)).toEqual([])
  })
})
