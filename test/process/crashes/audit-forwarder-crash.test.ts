/**
 * The server is killed while it forwards audit events. In the end the receiver has every event, in the order in which
 * they were committed, however often some of them came.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { withStorage } from '../../support/database/sealed-values.ts'
import type { ServerProcess } from '../../support/processes/server-process.ts'
import { makeRealm, moreThan, newKilledServer } from './killed-server.ts'

const kills = 2
const perRound = 40
const minute = 60_000
const secret = 'a client secret that is long enough'

/** The ids of the events that arrived, each the first time it came. */
const openReceiver = async () => {
  const arrived = new Set<string>()
  let requests = 0
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    requests += 1
    for (const { id, type } of JSON.parse(text)) if (type === 'CLIENT_LOGIN') arrived.add(id)
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, arrived, requests: () => requests }
}

/** Each token is an event. */
const getTokens = async (url: string, count: number): Promise<void> => {
  const body = { grant_type: 'client_credentials', client_id: 'machine', client_secret: secret }
  for (let i = 0; i < count; i += 1)
    await fetch(`${url}/realms/acme/token`, { method: 'POST', body: new URLSearchParams(body) })
}

describe.each(anyBackend)('a server that is killed while it forwards ($name)', (backend) => {
  it('loses no event, and keeps their order', { timeout: 4 * minute }, async () => {
    const receiver = await openReceiver()
    const killed = await newKilledServer(backend, {
      env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
    })
    await makeRealm(killed, 'acme', [
      [
        '/clients',
        {
          clientId: 'machine',
          secret,
          grantTypes: ['client_credentials'],
          serviceAccountsEnabled: true,
        },
      ],
    ])
    let server = await killed.start()
    const set = { httpUrl: receiver.url, categories: ['AUTHN', 'ADMIN'] }
    const configured = await (await server.admin()).send('PUT', '/admin/audit/config', set)
    expect(configured.status).toBe(200)
    for (let kill = 0; kill < kills; kill += 1) {
      const asking = getTokens(server.url, perRound).catch(() => undefined)
      const before = receiver.requests()
      await moreThan(receiver.requests, before, 10_000)
      await server.kill()
      await asking
      server = await killed.start()
    }
    await getTokens(server.url, perRound)
    await expectEverything(server, killed.databaseUrl, receiver.arrived)
  })
})

/** Waits until as much has arrived as is listed, then compares with what is stored. */
const expectEverything = async (
  server: ServerProcess,
  databaseUrl: string,
  arrived: ReadonlySet<string>,
): Promise<void> => {
  const admin = await server.admin()
  const { body } = await admin.send('GET', '/admin/realms/acme/events?type=CLIENT_LOGIN&size=1')
  await expect.poll(() => arrived.size, { timeout: minute, interval: 200 }).toBe(body.total)
  await server.stop()
  await withStorage(databaseUrl, async ({ db }) => {
    const rows = await db
      .selectFrom('audit_events')
      .select('event_id')
      .where('type', '=', 'CLIENT_LOGIN')
      .orderBy('id')
      .execute()
    expect([...arrived]).toEqual(rows.map(({ event_id }) => event_id))
  })
}
