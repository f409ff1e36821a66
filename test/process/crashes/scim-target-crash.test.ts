/**
 * The server is killed again and again while users are on their way to a SCIM target. In the end the target has everyone once, as
 * they are now: no create was lost or made twice, and no leaver is active.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openScimPeer, type ScimPeer } from '../../scim-out/scim-peer.ts'
import { backends } from '../../support/backends.ts'
import {
  newInstallation,
  type ServerProcess,
  startServerProcess,
  temporaryFolder,
} from '../../support/processes/server-process.ts'
import { isLong, randomFrom, seed } from '../../support/run/chance.ts'

const kills = isLong ? 20 : 3
const users = isLong ? 10_000 : 300
const minute = 60_000

const setUp = async (server: ServerProcess, peer: ScimPeer): Promise<void> => {
  const admin = await server.admin()
  const made = async (path: string, body: object): Promise<void> => {
    const answer = await admin.send('POST', path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  }
  await made('/admin/realms', { realm: 'acme' })
  await made('/admin/realms/acme/scim-targets', {
    name: 'chat',
    baseUrl: peer.url,
    token: peer.token,
  })
}

/** Makes users and disables every third, until all are done or the server is gone. */
const work = async (server: ServerProcess, from: number, to: number): Promise<void> => {
  const admin = await server.admin().catch(() => undefined)
  for (let n = from; admin && n < to; n += 1) {
    const username = `user-${n}`
    const fields = { username, firstName: 'First', lastName: `Last ${n}` }
    const at = '/admin/realms/acme/users'
    const made = await admin.send('POST', at, fields).catch(() => undefined)
    if (!made) return
    if (n % 3 === 0) {
      const out = { ...fields, enabled: false }
      if (!(await admin.send('PUT', `${at}/${username}`, out).catch(() => undefined))) return
    }
  }
}

describe.each(backends)('a server that is killed while it provisions ($name)', (backend) => {
  it(`loses nobody of ${users} and doubles nobody, ${kills} times`, {
    timeout: 60 * minute,
  }, async () => {
    const peer = await openScimPeer({ unique: false })
    const trust = join(temporaryFolder(), 'ca.pem')
    writeFileSync(trust, peer.certificate)
    const { env, ...installation } = await newInstallation(backend)
    const start = (): Promise<ServerProcess> =>
      startServerProcess(
        {
          ...installation,
          env: { ...env, NODE_EXTRA_CA_CERTS: trust, IAMCTL_OUTGOING_ALLOW: 'localhost' },
        },
        '--log-level',
        'error',
      )
    const first = await start()
    await setUp(first, peer)
    await first.stop()

    const random = randomFrom(seed)
    const part = Math.ceil(users / (kills + 1))
    for (let kill = 0; kill < kills; kill += 1) {
      const server = await start()
      const before = peer.asked.length
      const working = work(server, kill * part, (kill + 1) * part)
      const some = before + 1 + Math.floor(random() * part)
      await expect
        .poll(() => peer.asked.length, { timeout: 20_000, interval: 1 })
        .toBeGreaterThan(some)
        .catch(() => undefined)
      await server.kill()
      await working
    }

    const last = await start()
    await work(last, kills * part, users)
    const admin = await last.admin()
    const wanted = new Map<string, boolean>()
    for (let first = 0; ; first += 500) {
      const { body } = await admin.send('GET', `/admin/realms/acme/users?first=${first}&max=500`)
      const page: { username: string; enabled: boolean }[] = body.items ?? body.users ?? body
      for (const { username, enabled } of page) wanted.set(username, enabled)
      if (page.length < 500) break
    }
    const waiting = async (): Promise<number> => {
      const { body } = await admin.send('GET', '/admin/realms/acme/scim-targets/chat/status')
      return body.users.waiting - body.held
    }
    await expect
      .poll(waiting, { timeout: isLong ? 30 * minute : 2 * minute, interval: 500 })
      .toBe(0)
    expect(await last.stop()).toEqual({ code: 0, signal: null })

    const there = [...peer.users.values()]
    const names = there.map(({ userName }) => userName)
    expect(new Set(names).size).toBe(names.length)
    // The target would take both: names and ids tell whether one was made twice.
    expect(new Set(there.map(({ externalId }) => externalId)).size).toBe(there.length)
    const active = there.filter((one) => one['active']).map(({ userName }) => userName)
    const expected = [...wanted].filter(([, enabled]) => enabled).map(([name]) => name)
    expect(active.toSorted()).toEqual(expected.toSorted())
    await peer.close()
  })
})
