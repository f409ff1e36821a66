/**
 * SSRF through webhooks (CVE-2026-1180, GHSA-29jh-8cfq-rr8x): receivers that an administrator of a realm writes are on
 * the public internet.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOutgoing } from '#server/platform/outgoing/client.ts'
import { createSender } from '#server/webhooks/sender.ts'
import { openReceiver, type Receiver } from '../../audit/receiver.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { insideHosts } from './inside-hosts.ts'

const [backend] = backends
if (!backend) throw new Error('no database')

describe('the address of a webhook', () => {
  let server: TestServer
  let receiver: Receiver
  let base: string
  let port: string
  let made = 0

  beforeAll(async () => {
    receiver = await openReceiver()
    port = new URL(receiver.url('/')).port
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(async () => {
    await server.close()
    await receiver.close()
  })

  const create = (url: string) => {
    made += 1
    const body = { name: `hook-${made}`, url, eventTypes: '*', secret: 's' }
    return server.admin.send('POST', `${base}/webhooks`, body)
  }
  /** Not more than the reason, and that names no address behind a name. */
  const refused = (reason: RegExp) => ({
    delivered: false,
    responseStatus: null,
    reason: expect.stringMatching(reason),
  })

  it.each([
    'http://hooks.example/x',
    'https://user@hooks.example/x',
    'https://user:password@hooks.example/x',
    'https://:password@hooks.example/',
    'ftp://hooks.example/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:25/',
    'https://',
    '//127.0.0.1/',
  ])('is refused when it is written: %s', async (url) => {
    const { status, body } = await create(url)
    expect([status, body.errors?.[0]?.field]).toEqual([400, '/url'])
  })

  it.each(insideHosts)('that leads inside is not called: https://%s', async (host) => {
    const { body, status } = await create(`https://${host}:${port}/inside`)
    expect(status, JSON.stringify(body)).toBe(201)
    const answer = await server.admin.send('POST', `${base}/webhooks/${body.id}/test`)
    expect(answer.body).toMatchObject(refused(/not allowed/))
    expect(receiver.received).toEqual([])
  })

  const senderFor = async (addresses: readonly string[]) => {
    const {
      storage,
      given: { clock },
      copy,
    } = server.areas
    const lookup = async () => addresses.map((address) => ({ address, family: 4 }))
    const outgoing = createOutgoing({ lookup, ca: [receiver.certificate] })
    const { body } = await create(`https://localhost.example:${port}/named`)
    const document = await (await copy.fresh('acme'))?.byId('webhook', body.id)
    if (!document) throw new Error('no webhook')
    const send = createSender({ storage, clock, outgoing, reveal: () => 's' })
    const answer = await send(document, { id: 'd', body: '{}' })
    await outgoing.close()
    return answer
  }

  it('is not called by a name that leads inside, not even partly', async () => {
    for (const addresses of [['127.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['10.1.2.3'], []]) {
      const answer = await senderFor(addresses)
      expect(answer).toMatchObject({ delivered: false, status: null })
      expect(answer.reason).not.toMatch(/127\.0|10\.1/)
    }
    expect(receiver.received).toEqual([])
  })

  it('is not followed to where the receiver sends it', async () => {
    const outside = await openReceiver()
    const open = await startServer(backend, { env: { IAMCTL_OUTGOING_ALLOW: 'localhost' } })
    const realm = await open.createRealm('acme')
    const webhook = { name: 'hook', url: outside.url('/hook'), eventTypes: '*', secret: 's' }
    const { body } = await open.admin.send('POST', `${realm}/webhooks`, webhook)
    for (const status of [301, 302, 303, 307, 308])
      for (const location of [receiver.url('/inside'), 'http://169.254.169.254/', 'file:///etc']) {
        outside.answer((response) => response.writeHead(status, { location }).end())
        const answer = await open.admin.send('POST', `${realm}/webhooks/${body.id}/test`)
        expect(answer.body).toMatchObject({ delivered: false, responseStatus: status })
      }
    expect(receiver.received).toEqual([])
    await open.close()
    await outside.close()
  })
})
