/** Several nodes share a SCIM target: every change reaches it, and nobody is created twice. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { startBackground } from '#server/run/background.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { openScimPeer, type ScimPeer } from './scim-peer.ts'

const users = 60

describe.each(backends)('two nodes and a SCIM target on $name', (backend) => {
  // A database of SQLite has one process.
  const isShared = backend.name === 'postgres'

  let peer: ScimPeer | undefined
  const nodes: TestServer[] = []
  const running: RunningJobs[] = []

  beforeAll(async () => {
    if (!isShared) return
    peer = await openScimPeer({ unique: false })
    const env = { IAMCTL_OUTGOING_ALLOW: 'localhost' }
    nodes.push(await startServer(backend, { env }))
    nodes.push(await startServer(backend, { env, url: nodes[0]?.url ?? '' }))
    for (const node of nodes) running.push(await startBackground(node.areas))
  })
  afterAll(async () => {
    for (const one of running) await one.stop()
    for (const node of nodes.toReversed()) await node.close()
    await peer?.close()
  })

  it.runIf(isShared)('send what changes on either of them, once', async () => {
    const [first, second] = nodes
    if (!first || !second || !peer) throw new Error('a node is missing')
    const { url: baseUrl, token, users: there } = peer
    const base = await first.createRealm('shared')
    const target = { name: 'chat', baseUrl, token }
    expect((await first.admin.send('POST', `${base}/scim-targets`, target)).status).toBe(201)
    const add = async (node: TestServer, n: number): Promise<void> => {
      const fields = { username: `user-${n}` }
      const made = await node.admin.send('POST', `${base}/users`, fields)
      expect(made.status).toBe(201)
      const other = node === first ? second : first
      const out = { ...fields, enabled: false }
      if (n % 10 === 0)
        expect((await other.admin.send('PUT', `${base}/users/user-${n}`, out)).status).toBe(200)
    }
    await Promise.all(
      [first, second].map(async (node, i) => {
        for (let n = i; n < users; n += 2) await add(node, n)
      }),
    )
    const active = () =>
      [...there.values()]
        .filter((one) => one['active'])
        .map(({ userName }) => userName)
        .toSorted()
    const wanted = Array.from({ length: users }, (_, n) => n)
      .filter((n) => n % 10 !== 0)
      .map((n) => `user-${n}`)
      .toSorted()
    await expect.poll(active, { timeout: 60_000 }).toEqual(wanted)
    const names = [...there.values()].map(({ userName }) => userName)
    expect(new Set(names).size).toBe(names.length)
  })

  it.runIf(isShared)(
    'deactivate a leaver within five seconds, whichever node gets the change',
    async () => {
      const [first, second] = nodes
      if (!first || !second || !peer) throw new Error('a node is missing')
      const target = peer
      for (const [n, node] of [first, second, first].entries()) {
        const username = `leaver-${n}`
        const isActive = () => target.user(username)?.['active']
        await first.admin.send('POST', '/admin/realms/shared/users', { username })
        await expect.poll(isActive, { timeout: 30_000 }).toBe(true)
        const path = `/admin/realms/shared/users/${username}`
        const out = await node.admin.send('PUT', path, { username, enabled: false })
        expect(out.status).toBe(200)
        await expect.poll(isActive, { timeout: 5000, interval: 20 }).toBe(false)
      }
    },
  )
})
