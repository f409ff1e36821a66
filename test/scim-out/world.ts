/** A server with a realm, and a SCIM target of that realm which other software runs. */
import { expect } from 'vitest'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { startBackground } from '#server/run/background.ts'
import type { Backend } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { openScimPeer, type ScimPeer } from './scim-peer.ts'

export interface World {
  readonly server: TestServer
  readonly peer: ScimPeer
  /** The time that the server goes by. */
  readonly clock: { now: number }
  readonly realm: string
  readonly base: string
  send: TestServer['admin']['send']
  /** Waits until everything that is due has been sent. */
  settled(): Promise<void>
  /** The id of the target, which is made with what is given. */
  target(more?: object): Promise<string>
  change(id: string, more: object): Promise<void>
  addUser(username: string, more?: object): Promise<string>
  changeUser(id: string, more: object): Promise<void>
  /** Usernames of everyone at the target who is active there. */
  active(): string[]
  /** What the server does by itself is stopped and started again. */
  restart(): Promise<void>
  close(): Promise<void>
}

let made = 0

export const openWorld = async (
  backend: Backend,
  options: { readonly listen?: boolean; readonly unique?: boolean } = {},
): Promise<World> => {
  const peer = await openScimPeer(options)
  const clock = { now: Date.now() }
  const server = await startServer(backend, {
    // Signing in from a terminal takes the time of this machine.
    ...(options.listen ? { listen: true } : { clock: { now: () => clock.now } }),
    env: { IAMCTL_OUTGOING_ALLOW: 'localhost' },
  })
  let background: RunningJobs = await startBackground(server.areas)
  made += 1
  const realm = `staff-${made}`
  const base = await server.createRealm(realm)
  const documents = new Map<string, object>()

  const send: World['send'] = async (method, path, body) =>
    (await server.signedIn('master', 'admin')).send(method, `${base}${path}`, body)
  const ok = async (method: string, path: string, body: unknown, status: number) => {
    const answer = await send(method, path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(status)
    return answer.body
  }
  const settled = async (): Promise<void> => {
    await background.idle()
    server.areas.jobs.wake()
    await background.idle()
  }

  return {
    server,
    peer,
    clock,
    realm,
    base,
    send,
    settled,
    target: async (more = {}) => {
      const doc = { name: 'chat', baseUrl: peer.url, ...more }
      const { id } = await ok('POST', '/scim-targets', { token: peer.token, ...doc }, 201)
      documents.set(id, doc)
      await settled()
      return id
    },
    change: async (id, more) => {
      const doc = { ...documents.get(id), ...more }
      documents.set(id, doc)
      await ok('PUT', `/scim-targets/${id}`, doc, 200)
      await settled()
    },
    addUser: async (username, more = {}) => {
      const body = {
        username,
        email: `${username}@acme.example`,
        firstName: 'First',
        lastName: username,
        ...more,
      }
      const { userId } = await ok('POST', '/users', body, 201)
      return userId
    },
    changeUser: async (id, more) => {
      const { body: user } = await send('GET', `/users/${id}`)
      await ok('PUT', `/users/${id}`, { ...user, ...more }, 200)
    },
    active: () =>
      [...peer.users.values()]
        .filter(({ active }) => active)
        .map(({ userName }) => userName)
        .sort(),
    restart: async () => {
      await background.stop()
      background = await startBackground(server.areas)
    },
    close: async () => {
      await background.stop()
      await server.close()
      await peer.close()
    },
  }
}
