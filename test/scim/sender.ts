/** A realm that takes SCIM, and a sender with a token for it. */

import { afterAll, beforeAll } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
export const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
export const errorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error'

export interface Sender {
  readonly token: string
  readonly tokenId: string
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
  /** Makes a user of this name, and answers the resource. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
  user(userName: string, more?: object): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
  group(displayName: string, more?: object): Promise<any>
  patch(path: string, ...operations: readonly object[]): Promise<Answer>
}

export interface World {
  readonly server: TestServer
  readonly admin: (method: string, path: string, body?: unknown) => Promise<Answer>
  sender(options?: object, realm?: string): Promise<Sender>
  /** Audit events of the realm, newest first. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
  events(): Promise<any[]>
  close(): Promise<void>
}

const made = (answer: Answer) => {
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

export const senderOf = (
  server: TestServer,
  realm: string,
  { token, id }: { token: string; id: string },
): Sender => {
  const send: Sender['send'] = (method, path, body, headers = {}) =>
    server.anonymous.send(
      method,
      `/realms/${realm}/scim/v2${path}`,
      typeof body === 'object' && body !== null ? JSON.stringify(body) : body,
      {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
        ...headers,
      },
    )
  return {
    token,
    tokenId: id,
    send,
    user: async (userName, more = {}) =>
      made(await send('POST', '/Users', { schemas: [userSchema], userName, ...more })),
    group: async (displayName, more = {}) =>
      made(await send('POST', '/Groups', { schemas: [groupSchema], displayName, ...more })),
    patch: (path, ...operations) =>
      send('PATCH', path, { schemas: [patchSchema], Operations: operations }),
  }
}

export const startWorld = async (
  options: Parameters<typeof startServer>[1] = {},
): Promise<World> => {
  const [backend] = anyBackend
  if (!backend) throw new Error('no database is chosen')
  const server = await startServer(backend, options)
  for (const realm of ['acme', 'globex']) {
    await server.createRealm(realm)
    await server.admin.send('PUT', `/admin/realms/${realm}/provisioning`, { scimEnabled: true })
  }
  const admin: World['admin'] = (method, path, body) =>
    server.admin.send(method, `/admin/realms/acme${path}`, body)
  return {
    server,
    admin,
    sender: async (given = {}, realm = 'acme') => {
      const path = `/admin/realms/${realm}/provisioning/scim-tokens`
      return senderOf(server, realm, made(await server.admin.send('POST', path, given)))
    },
    events: async () => (await admin('GET', '/events?size=500')).body.items,
    close: () => server.close(),
  }
}

export interface Site {
  readonly world: World
  readonly scim: Sender
}

/** A world and a sender for all tests of a file. */
export const openSite = (): Site => {
  let site: Site | undefined
  const opened = (): Site => {
    if (!site) throw new Error('the site is open while tests run')
    return site
  }
  beforeAll(async () => {
    const world = await startWorld()
    site = { world, scim: await world.sender() }
  })
  afterAll(() => site?.world.close())
  return {
    get world() {
      return opened().world
    },
    get scim() {
      return opened().scim
    },
  }
}
