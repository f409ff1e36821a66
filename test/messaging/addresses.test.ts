/** Hosts and URLs of messaging providers: none of them reaches the network of the server. */

import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Messaging, openMessaging } from '#server/messaging/sender.ts'
import { systemClock } from '#server/platform/clock.ts'
import { createLogger } from '#server/platform/logger.ts'
import { createOutgoing } from '#server/platform/outgoing/client.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { removeProviders } from './providers.ts'

const [backend] = backends
if (!backend) throw new Error('there is no backend')

const pemOf = (key: ReturnType<typeof generateKeyPairSync>['privateKey']): string =>
  String(key.export({ type: 'pkcs8', format: 'pem' }))
const rsa = pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
const ec = pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)

let server: TestServer
let inside: Server
let port = 0
let reached = 0
const path = '/admin/realms/acme/messaging/providers'

/** Of each driver, where a host given by a user stands. */
const places = [
  {
    where: 'host of smtp',
    channel: 'EMAIL',
    to: 'a@customer.example',
    provider: (host: string) => ({
      driver: 'smtp',
      fromAddress: 'a@acme.example',
      config: { host, port },
    }),
  },
  {
    where: 'url of http',
    channel: 'SMS',
    to: '+31612345678',
    provider: (host: string) => ({ driver: 'http', config: { url: `https://${host}:${port}` } }),
  },
  {
    where: 'url of twilio',
    channel: 'SMS',
    to: '+31612345678',
    provider: (host: string) => ({
      driver: 'twilio',
      fromAddress: 'Acme',
      config: { accountSid: 'AC1', url: `https://${host}:${port}` },
      secret: 'token',
    }),
  },
  {
    where: 'token_uri of fcm',
    channel: 'PUSH',
    to: 'device-token',
    provider: (host: string) => ({
      driver: 'fcm',
      config: { projectId: 'p' },
      secret: JSON.stringify({
        client_email: 'a',
        private_key: rsa,
        token_uri: `https://${host}:${port}/token`,
      }),
    }),
  },
  {
    where: 'url of apns',
    channel: 'PUSH',
    to: 'device-token',
    provider: (host: string) => ({
      driver: 'apns',
      config: { keyId: 'k', teamId: 't', topic: 'x.y', url: `https://${host}:${port}` },
      secret: ec,
    }),
  },
] as const

const hosts = [
  '127.0.0.1',
  'localhost',
  '[::1]',
  '169.254.169.254',
  '10.0.0.1',
  '2130706433',
  '0x7f000001',
  '[::ffff:127.0.0.1]',
  '0.0.0.0',
]

beforeAll(async () => {
  server = await startServer(backend)
  await server.createRealm('acme')
  inside = createServer((socket) => {
    reached += 1
    socket.destroy()
  })
  inside.listen(0)
  await once(inside, 'listening')
  port = (inside.address() as AddressInfo).port
})
beforeEach(() => removeProviders(server, 'acme'))
afterAll(async () => {
  await server.close()
  inside.close()
})

describe.each(places)('the $where', ({ channel, to, provider }) => {
  const put = async (host: string): Promise<void> => {
    const { status, body } = await server.admin.send('PUT', path, { channel, ...provider(host) })
    expect(status, `${host} ${JSON.stringify(body)}`).toBeLessThan(300)
  }
  const viewOf = async () => {
    const view = await server.areas.copy.fresh('acme')
    if (!view) throw new Error('no realm')
    return view
  }

  it('leads to nothing that is not public, however it is written', async () => {
    for (const host of hosts) {
      await put(host)
      const failed = server.areas.messaging.test(await viewOf(), { channel, to })
      await expect(failed, host).rejects.toMatchObject({
        retryable: false,
        reason: expect.stringMatching(/a [a-z-]+ address is not allowed$/),
      })
    }
    expect(reached).toBe(0)
  })

  it('is judged by the address that is dialled, whatever the name meant before', async () => {
    const answers = ['8.8.8.8', '127.0.0.1']
    const asked: string[] = []
    const rebound: Messaging = openMessaging({
      outgoing: createOutgoing({
        lookup: async (host) => {
          asked.push(host)
          return answers.map((address) => ({ address, family: 4 }))
        },
      }),
      clock: systemClock,
      logger: createLogger({ level: 'silent' }),
      reveal: server.areas.secrets.vault.reveal,
      logMessages: false,
    })
    await put('mail.evil.example')
    await expect(rebound.test(await viewOf(), { channel, to })).rejects.toThrow('mail.evil.example')
    expect(asked).toEqual(['mail.evil.example'])
    expect(reached).toBe(0)
    rebound.close()
  })
})

describe('an address of a gateway', () => {
  it.each([
    'http://sms.example',
    'ftp://sms.example',
    'https://user:password@sms.example',
    'javascript:alert(1)',
  ])('is not %s', async (url) => {
    const { status, body } = await server.admin.send('PUT', path, {
      channel: 'SMS',
      driver: 'http',
      config: { url },
    })
    expect(status).toBe(400)
    expect(body.errors[0].field).toBe('/config/url')
  })

  it.each(['mail.example:25', 'mail.example/x', 'a b', 'mail\r\nx', '', '-oProxyCommand'])(
    'of a mail server is not %j',
    async (host) => {
      const { status, body } = await server.admin.send('PUT', path, {
        channel: 'EMAIL',
        driver: 'smtp',
        config: { host, port: 25 },
      })
      expect(status, JSON.stringify(body)).toBe(400)
      expect(body.errors[0].field).toBe('/config/host')
    },
  )
})
