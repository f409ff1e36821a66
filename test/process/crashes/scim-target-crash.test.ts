/**
 * The server is killed again and again while users are on their way to a SCIM target. In the end the target has everyone once, as
 * they are now: no create was lost or made twice, and no leaver is active.
 */
import { describe, expect, it } from 'vitest'
import { openScimPeer } from '../../scim-out/scim-peer.ts'
import { backends } from '../../support/backends.ts'
import type { ServerProcess } from '../../support/processes/server-process.ts'
import { isLong, randomFrom, seed } from '../../support/run/chance.ts'
import { makeRealm, moreThan, newKilledServer } from './killed-server.ts'

const kills = isLong ? 20 : 3
const users = isLong ? 10_000 : 300
const minute = 60_000
const at = '/admin/realms/acme/users'

type Admin = Awaited<ReturnType<ServerProcess['admin']>>

/** Each is a create and a change: every third user leaves at once. */
const isOut = (n: number): boolean => n % 3 === 0

/**
 * Makes users until the server is gone, and goes on with the same ones at the next server: an answer that got lost leaves a user
 * who is there already.
 */
const createWork = () => {
  const waiting = Array.from({ length: users }, (_, n) => n)
  const some = async (admin: Admin): Promise<void> => {
    for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) {
      const fields = { username: `user-${n}`, firstName: 'First', lastName: `Last ${n}` }
      const made = await admin.send('POST', at, fields).catch(() => undefined)
      const out = { ...fields, enabled: false }
      const changed =
        made && isOut(n)
          ? await admin.send('PUT', `${at}/user-${n}`, out).catch(() => undefined)
          : made
      if (!changed || changed.status >= 500) {
        waiting.unshift(n)
        return
      }
      expect([200, 201, 204, 409], JSON.stringify(changed.body)).toContain(changed.status)
    }
  }
  return {
    left: () => waiting.length,
    on: async (server: ServerProcess): Promise<void> => {
      const admin = await server.admin().catch(() => undefined)
      if (admin) await Promise.all([some(admin), some(admin), some(admin)])
    },
  }
}

describe.each(backends)('a server that is killed while it provisions ($name)', (backend) => {
  it(`loses nobody of ${users} and doubles nobody, ${kills} times`, {
    timeout: 60 * minute,
  }, async () => {
    const peer = await openScimPeer({ unique: false })
    const killed = await newKilledServer(backend, {
      certificate: peer.certificate,
      env: { IAMCTL_OUTGOING_ALLOW: 'localhost' },
    })
    const target = { name: 'chat', baseUrl: peer.url, token: peer.token }
    await makeRealm(killed, 'acme', [['/scim-targets', target]])

    const began = performance.now()
    const random = randomFrom(seed)
    const work = createWork()
    // About as many requests as there are users in each part of the way.
    const part = Math.ceil((users * 2) / (kills + 1))
    for (let kill = 0; kill < kills; kill += 1) {
      const server = await killed.start()
      const before = peer.asked.length
      const working = work.on(server)
      const some = before + 1 + Math.floor(random() * part)
      // Longer than a lease: on PostgreSQL the jobs of the dead server are free then.
      await moreThan(() => peer.asked.length, some, 20_000)
      await server.kill()
      await working
    }
    const last = await killed.start()
    await work.on(last)
    expect(work.left()).toBe(0)
    const admin = await last.admin()
    const expected = Array.from({ length: users }, (_, n) => n)
      .filter((n) => !isOut(n))
      .map((n) => `user-${n}`)
    const active = (): string[] =>
      [...peer.users.values()].filter((one) => one['active']).map(({ userName }) => userName)
    // A change that is noted and not yet marked counts as nothing that waits: the target itself is asked too.
    const standing = async () => {
      const { body } = await admin.send('GET', '/admin/realms/acme/scim-targets/chat/status')
      return { waiting: body.users.waiting, held: body.held, active: active().length }
    }
    await expect
      .poll(standing, { timeout: isLong ? 30 * minute : 2 * minute, interval: 500 })
      .toEqual({ waiting: 0, held: 0, active: expected.length })
    expect(await last.stop()).toEqual({ code: 0, signal: null })
    const seconds = Math.round((performance.now() - began) / 1000)
    process.stdout.write(
      `scim target (${backend.name}): ${kills} kills, ${users} users, ${peer.asked.length} requests, ${seconds} s, seed ${seed}\n`,
    )

    const there = [...peer.users.values()]
    const names = there.map(({ userName }) => userName)
    expect(new Set(names).size).toBe(names.length)
    // The target would take both: names and ids tell whether one was made twice.
    expect(new Set(there.map(({ externalId }) => externalId)).size).toBe(there.length)
    expect(active().toSorted()).toEqual(expected.toSorted())
    await peer.close()
  })
})
