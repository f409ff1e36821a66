/**
 * A whole server in this process on an empty database, and clients that are signed in to it. Sign-in itself is
 * tested in test/sign-in; here a session is opened directly, which spares a password hash per client.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Permission } from '#schemas/access/permissions.ts'
import { loadConfig } from '#server/config/index.ts'
import { type Clock, systemClock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { createLogger, type Logger } from '#server/platform/logger.ts'
import type { Lookup } from '#server/platform/outgoing/lookup.ts'
import { createApp } from '#server/run/app.ts'
import { bootstrap } from '#server/run/bootstrap.ts'
import { type Areas, openServer } from '#server/run/open.ts'
import { csrfBinding } from '#server/sessions/sessions.ts'
import { insertRows } from '#server/storage/statements.ts'
import { newUserRow } from '#server/users/user-record.ts'
import type { Backend } from './backends.ts'
import { freePort } from './processes/ports.ts'
import { rememberedHashes } from './run/remembered-hashes.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects and fails where it is not there
  readonly body: any
}

export interface Client {
  readonly userId: string
  readonly cookie: string
  readonly csrf: string
  send(
    method: string,
    url: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
}

export interface TestServer {
  readonly app: FastifyInstance
  readonly areas: Areas
  /** Of the database. */
  readonly url: string
  readonly baseUrl: string
  /** The administrator of the master realm. */
  readonly admin: Client
  /** A user of a realm who holds exactly these permissions, through a role made for it. */
  userWith(realm: string, permissions: readonly Permission[]): Promise<Client>
  /** A client for a user who exists. */
  signedIn(realm: string, username: string): Promise<Client>
  anonymous: Pick<Client, 'send'>
  createRealm(name: string): Promise<string>
  close(): Promise<void>
}

export const adminPassword = 'correct horse battery staple 42'
/** Of that password: to make it anew for every server would take a thread and a while. */
const adminPasswordHash =
  '$argon2id$v=19$m=19456,t=2,p=1$+Q10sDA53BjcpPFxuheGug$zkQh+IwzxK/S1JevP8wSOm/EFnVM6oXt6/AumaqPUgU'

const masterKey = Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')

export const send = async (
  app: FastifyInstance,
  method: string,
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> => {
  const answer = await app.inject({
    method: method as NonNullable<InjectOptions['method']>,
    url,
    headers,
    ...(body === undefined ? {} : { payload: body as object }),
  })
  const json = String(answer.headers['content-type']).includes('json') && answer.body !== ''
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: json ? answer.json() : answer.body,
  }
}

/** A second node is started by giving the url of the first one's database; `listen` opens a port, for real peers. */
export const startServer = async (
  backend: Backend,
  options: {
    readonly url?: string
    readonly clock?: Clock
    readonly listen?: boolean
    /** Of the base URL, where it is not the address: passkeys need a name. */
    readonly host?: string
    /** What names of other hosts stand for, where the system is not asked. */
    readonly lookup?: Lookup
    /** Settings beside those that every test has. */
    readonly env?: Readonly<Record<string, string>>
    /** Silent unless given. */
    readonly logger?: Logger
  } = {},
): Promise<TestServer> => {
  const database = options.url === undefined ? await backend.createMigrated() : undefined
  const url = options.url ?? database?.url ?? ''
  const data = mkdtempSync(join(tmpdir(), 'iamctl-data-'))
  const port = options.listen ? await freePort() : undefined
  const named = options.host === undefined ? {} : { baseUrl: `http://${options.host}:${port}` }
  const config = loadConfig({
    flags: { databaseUrl: url, data, ...(port === undefined ? {} : { port, ...named }) },
    env: {
      IAMCTL_MASTER_KEY: masterKey,
      IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_HASH: adminPasswordHash,
      ...options.env,
    },
  })
  const areas = await openServer({
    config,
    logger: options.logger ?? createLogger({ level: 'silent' }),
    clock: options.clock ?? systemClock,
    lookup: options.lookup,
    engine: await rememberedHashes(),
  })
  await bootstrap(areas.realm.realms, config.bootstrap)
  areas.admin.health.started()
  const app = createApp(areas)
  if (options.listen) await app.listen({ host: config.http.host, port: config.http.port })
  else await app.ready()
  const { cookies, csrf } = areas.http

  const open = async (realm: string, userId: string): Promise<Client> => {
    const settings = await areas.realm.settingsOf(realm)
    if (!settings) throw new Error(`no realm ${realm}`)
    const opened = areas.sessions.openStatements({
      realm,
      userId,
      ip: '127.0.0.1',
      userAgent: 'test',
      rememberMe: false,
      settings,
    })
    await areas.storage.commit(opened.statements)
    const cookie = `${cookies.session(realm).name}=${opened.cookieValue}`
    const token = csrf.tokenFor(csrfBinding(opened.session))
    return {
      userId,
      cookie,
      csrf: token,
      send: (method, path, body, headers = {}) =>
        send(app, method, path, body, { cookie, 'x-xsrf-token': token, ...headers }),
    }
  }

  const signedIn = async (realm: string, username: string): Promise<Client> => {
    const user = await areas.users.store.find(realm, username)
    if (!user) throw new Error(`no user ${username} in ${realm}`)
    return open(realm, user.id)
  }
  const admin = await signedIn('master', 'admin')

  const userWith: TestServer['userWith'] = async (realm, permissions) => {
    const name = `role-${newId().slice(-12)}`
    const role = await admin.send('POST', `/admin/realms/${realm}/roles`, { name })
    const { roleId } = role.body
    await admin.send('PUT', `/admin/realms/${realm}/admin-roles/${roleId}`, { permissions })
    const row = newUserRow(
      { username: `user-${newId()}` },
      { id: newId(), realm, now: areas.given.clock.now() },
    )
    await areas.storage.commit([
      ...areas.users.store.createStatements(row),
      ...insertRows(areas.storage.db, 'user_roles', [{ user_id: row.id, role_id: roleId }]),
    ])
    return open(realm, row.id)
  }

  return {
    app,
    areas,
    url,
    baseUrl: config.http.baseUrl,
    admin,
    userWith,
    signedIn,
    anonymous: {
      send: (method, path, body, headers = {}) => send(app, method, path, body, headers),
    },
    createRealm: async (name) => {
      const made = await admin.send('POST', '/admin/realms', { realm: name })
      if (made.status !== 201) throw new Error(JSON.stringify(made.body))
      return `/admin/realms/${name}`
    },
    close: async () => {
      await app.close()
      await areas.close()
      await database?.remove()
      rmSync(data, { recursive: true, force: true })
    },
  }
}
