/** Several nodes: each keeps what it read, and none decides by it alone. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { groupSchema, senderOf } from './sender.ts'

describe.each(backends)('a sender at two nodes on $name', (backend) => {
  let one: TestServer
  let other: TestServer
  beforeAll(async () => {
    one = await startServer(backend)
    await one.createRealm('acme')
    await one.admin.send('PUT', '/admin/realms/acme/provisioning', { scimEnabled: true })
    // A database file has one process.
    other = backend.name === 'sqlite' ? one : await startServer(backend, { url: one.url })
  })
  afterAll(async () => {
    if (other !== one) await other.close()
    await one.close()
  })

  it('is refused by both at the next request after its token was revoked', async () => {
    const path = '/admin/realms/acme/provisioning/scim-tokens'
    for (let round = 0; round < 3; round += 1) {
      const { body } = await one.admin.send('POST', path, {})
      const nodes = [one, other].map((node) => senderOf(node, 'acme', body))
      const statuses = () =>
        Promise.all(nodes.map(async (node) => (await node.send('GET', '/Users?count=0')).status))
      expect(await statuses()).toEqual([200, 200])
      expect(await statuses()).toEqual([200, 200])
      await one.admin.send('DELETE', `${path}/${body.id}`)
      expect(await statuses()).toEqual([401, 401])
    }
  })

  it('makes and renames groups whose names differ in case alone once (RFC 7643 §7, uniqueness)', async () => {
    const { body } = await one.admin.send('POST', '/admin/realms/acme/provisioning/scim-tokens', {})
    const nodes = [one, other].map((node) => senderOf(node, 'acme', body))
    const statuses = (answers: readonly { status: number }[]) =>
      answers.map(({ status }) => status).sort()
    for (let round = 0; round < 5; round += 1) {
      const [first, second] = await Promise.all(
        [`Émile ${round}`, `éMILE ${round}`].map((displayName, n) =>
          nodes[n]?.send('POST', '/Groups', { schemas: [groupSchema], displayName }),
        ),
      )
      expect(statuses([first, second].flatMap((one) => one ?? []))).toEqual([201, 409])
      const made = await Promise.all(nodes.map((node, n) => node.group(`Other ${round} ${n}`)))
      const renamed = await Promise.all(
        nodes.map((node, n) =>
          node.patch(`/Groups/${made[n].id}`, {
            op: 'replace',
            path: 'displayName',
            value: `${n === 0 ? 'ZOË' : 'Zoë'} ${round}`,
          }),
        ),
      )
      expect(statuses(renamed)).toEqual([200, 409])
    }
  })
})
