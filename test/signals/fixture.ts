/** A realm with receivers of security events, as clients with tokens, that verify what they get with jose. */

import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { createLogger } from '#server/platform/logger.ts'
import { startBackground } from '#server/run/background.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { openReceiver, type Receiver } from '../audit/receiver.ts'
import { type OidcSite, openIssuer, type Reply, type TestClient } from '../oidc/fixture.ts'
import { addUser } from '../oidc/users.ts'
import type { Backend } from '../support/backends.ts'

export const caep = 'https://schemas.openid.net/secevent/caep/event-type/'
export const ssf = 'https://schemas.openid.net/secevent/ssf/event-type/'
export const poll = { method: 'urn:ietf:rfc:8936' }
export const push = (endpoint_url: string, more: object = {}) => ({
  method: 'urn:ietf:rfc:8935',
  endpoint_url,
  ...more,
})

export interface SignalSite {
  readonly site: OidcSite
  /** Lines of the log, warnings and worse. */
  readonly log: readonly string[]
  readonly background: RunningJobs
  /** Takes pushes. */
  readonly receiver: Receiver
  readonly app: TestClient
  readonly other: TestClient
  readonly alice: UserRow
  readonly bob: UserRow
  advance(seconds: number): void
  tokenOf(client: TestClient, scope?: string): Promise<string>
  /** By a token of `app`, unless another is given. */
  send(method: string, path: string, body?: unknown, token?: string): Promise<Reply>
  /** A new stream of `app`. */
  made(delivery?: object, more?: object): Promise<string>
  /** The events of a SET, verified by the keys of the realm; of `app`, unless told. */
  opened(set: string, audience?: string): Promise<JWTPayload>
  /** What the stream has now; it does not wait, unless told to. */
  polled(streamId: string, body?: object): Promise<readonly JWTPayload[]>
  subject(user: UserRow): object
  follow(streamId: string, user: UserRow): Promise<Reply>
  newPassword(user: UserRow): Promise<unknown>
  close(): Promise<void>
}

export const openSignalSite = async (backend: Backend): Promise<SignalSite> => {
  const receiver = await openReceiver()
  let ahead = 0
  const log: string[] = []
  const site = await openIssuer(backend, {
    logger: createLogger({ level: 'warn', destination: { write: (line) => void log.push(line) } }),
    clock: { now: () => Date.now() + ahead },
    env: { IAMCTL_OUTGOING_ALLOW: 'localhost' },
  })
  const background = await startBackground(site.server.areas)
  for (const name of ['ssf.manage', 'ssf.read'])
    await site.admin('POST', '/client-scopes', { name })
  const client = (clientId: string) =>
    site.client({
      clientId,
      grantTypes: ['client_credentials', 'authorization_code'],
      serviceAccountsEnabled: true,
      scopes: ['ssf.manage', 'ssf.read'],
    })
  const app = await client('app')
  const other = await client('other')
  const alice = await addUser(site, { username: 'alice' })
  const bob = await addUser(site, { username: 'bob' })
  const keys = createRemoteJWKSet(new URL(`${site.issuer}/.well-known/jwks.json`))

  const tokenOf: SignalSite['tokenOf'] = (one, scope = 'ssf.manage') => site.token(one, { scope })
  const send: SignalSite['send'] = async (method, path, body, token) => {
    const answer = await fetch(`${site.issuer}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token ?? (await tokenOf(app))}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      headers: answer.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
  }
  const opened: SignalSite['opened'] = async (set, audience = 'app') =>
    (await jwtVerify(set, keys, { typ: 'secevent+jwt', issuer: site.issuer, audience })).payload
  const subject: SignalSite['subject'] = ({ id }) => ({
    format: 'iss_sub',
    iss: site.issuer,
    sub: id,
  })
  let passwords = 0
  return {
    site,
    log,
    background,
    receiver,
    app,
    other,
    alice,
    bob,
    advance: (seconds) => {
      ahead += seconds * 1000
    },
    tokenOf,
    send,
    made: async (delivery = poll, more = {}) => {
      // The limit of streams is of another test.
      for (const { stream_id } of (await send('GET', '/ssf/stream')).body)
        await send('DELETE', `/ssf/stream?stream_id=${stream_id}`)
      const { status, body } = await send('POST', '/ssf/stream', { delivery, ...more })
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`)
      return body.stream_id
    },
    opened,
    polled: async (streamId, body = {}) => {
      const asked = { returnImmediately: true, ...body }
      const answer = await send('POST', `/ssf/poll/${streamId}`, asked)
      const sets = Object.values(answer.body.sets as Record<string, string>)
      return Promise.all(sets.map((set) => opened(set)))
    },
    subject,
    follow: (stream_id, user) =>
      send('POST', '/ssf/subjects/add', { stream_id, subject: subject(user) }),
    newPassword: (user) => {
      passwords += 1
      const newPassword = `quite another long password ${passwords}`
      return site.admin('PUT', `/users/${user.id}/password`, { newPassword })
    },
    close: async () => {
      await background.stop()
      await site.close()
      await receiver.close()
    },
  }
}
