/**
 * Calls about what lives in a realm and is no configuration: users, sessions, events, signing keys, deliveries,
 * invitations.
 */

import type { Doc } from '#schemas/json-schema.ts'
import type { ChainPart, EventRecord } from '#schemas/wire/events.ts'
import type { Finding } from '#schemas/wire/findings.ts'
import type {
  ClientSecretRecord,
  InitialTokenRecord,
  KeyRecord,
  SamlStatus,
  SessionRecord,
  UserImportReply,
  UserRecord,
} from '#schemas/wire/records.ts'
import { agentCalls } from './agents/calls.ts'
import { authzCalls } from './authz.ts'
import { directoryCalls } from './directories.ts'
import { followEvents } from './event-stream.ts'
import { type Call, path } from './http/call.ts'
import { isProblem } from './http/errors.ts'
import { invitationCalls } from './invitations.ts'
import { scimTargetCalls } from './provisioning/scim-targets.ts'
import type { EventFilter, EventPage } from './records.ts'
import { scimCalls } from './scim.ts'
import { webhookCalls } from './webhooks.ts'

const usersAtOnce = 1000
const sessionsAtOnce = 1000
const eventsAtOnce = 500
/** Attempts after a concurrent change of the user. */
const rounds = 5

const userCalls = (call: Call) => {
  const one = (realm: string, user: string): string => path`/admin/realms/${realm}/users/${user}`

  const search = async (
    realm: string,
    { text, limit = Number.POSITIVE_INFINITY }: { text?: string; limit?: number } = {},
  ): Promise<{ users: UserRecord[]; total: number }> => {
    const users: UserRecord[] = []
    for (;;) {
      const max = Math.min(usersAtOnce, limit - users.length)
      const { body, header } = await call<UserRecord[]>('GET', path`/admin/realms/${realm}/users`, {
        query: { search: text, first: users.length, max },
      })
      users.push(...body)
      const total = Number(header('x-total-count') ?? users.length)
      if (body.length === 0 || users.length >= Math.min(limit, total)) return { users, total }
    }
  }

  /** By id, username or email address; null if there is no such user. */
  const find = async (realm: string, name: string): Promise<UserRecord | null> => {
    try {
      return (await call<UserRecord>('GET', one(realm, name))).body
    } catch (error) {
      if (!isProblem(error, 404)) throw error
      // The problem may be the realm.
      const { users } = await search(realm, { text: name, limit: 100 })
      const folded = name.toLowerCase()
      return users.find(({ email }) => email?.toLowerCase() === folded) ?? null
    }
  }

  return {
    search,
    find,
    async setPassword(realm: string, userId: string, password: string, temporary: boolean) {
      const where = one(realm, userId)
      if (temporary)
        await call('POST', `${where}/credentials`, {
          json: { type: 'password', value: password, temporary },
        })
      else await call('PUT', `${where}/password`, { json: { newPassword: password } })
    },
    /** All or none. `users` is iterated from the start for each attempt. */
    async importAll(
      realm: string,
      users: () => AsyncIterable<Doc>,
      { ifExists, dryRun }: { ifExists: 'fail' | 'skip' | 'overwrite'; dryRun: boolean },
    ): Promise<UserImportReply> {
      const where = path`/admin/realms/${realm}/users/import`
      const { body } = await call<UserImportReply>('POST', where, {
        query: { ifResourceExists: ifExists.toUpperCase(), dryRun },
        lines: users,
        slow: true,
      })
      return body
    },
    /** Whether that changed anything. */
    async setLocked(realm: string, userId: string, locked: boolean): Promise<boolean> {
      for (let round = 1; ; round += 1) {
        const { body, header } = await call<UserRecord>('GET', one(realm, userId))
        if (body.locked === locked) return false
        const etag = header('etag')
        try {
          await call('PUT', one(realm, userId), {
            json: { ...body, locked },
            headers: etag === undefined ? {} : { 'if-match': etag },
          })
          return true
        } catch (error) {
          if (!isProblem(error, 412) || round === rounds) throw error
        }
      }
    },
  }
}

const sessionCalls = (call: Call) => ({
  /** Those that are alive, last used first. */
  async list(realm: string): Promise<SessionRecord[]> {
    const found = new Map<string, SessionRecord>()
    for (let first = 0; ; first += sessionsAtOnce) {
      const { body } = await call<SessionRecord[]>('GET', path`/admin/realms/${realm}/sessions`, {
        query: { first, max: sessionsAtOnce },
      })
      // One that is used meanwhile moves to the front, and the others to the next page.
      for (const session of body) found.set(session.id, session)
      if (body.length < sessionsAtOnce) return [...found.values()]
    }
  },
  async revoke(realm: string, id: string): Promise<void> {
    await call('DELETE', path`/admin/realms/${realm}/sessions/${id}`)
  },
})

const eventCalls = (call: Call) => ({
  follow: followEvents(call),
  /** The newest that pass the filter, newest first. */
  async newest(realm: string, filter: EventFilter, limit: number): Promise<EventRecord[]> {
    const { from: dateFrom, to: dateTo, ...rest } = filter
    const size = Math.min(limit, eventsAtOnce)
    const events: EventRecord[] = []
    let place: { readonly cursor: number } | { readonly before?: number; readonly page: number } = {
      page: 0,
    }
    for (let page = 1; ; page += 1) {
      const { body }: { body: EventPage } = await call('GET', path`/admin/realms/${realm}/events`, {
        query: { ...rest, dateFrom, dateTo, ...place, size, changes: true },
      })
      events.push(...body.items)
      if (body.items.length < size || events.length >= limit) return events.slice(0, limit)
      // An older server has no cursors, and skips what it has told.
      if (body.next === undefined) place = { ...(body.before && { before: body.before }), page }
      else if (body.next === null) return events
      else place = { cursor: body.next }
    }
  },
  /** A part of the audit trail, from where the one before ended. */
  async verify(realm: string, after: number, known?: string): Promise<ChainPart> {
    const verification = path`/admin/realms/${realm}/events/verification`
    return (await call<ChainPart>('GET', verification, { query: { after, known } })).body
  },
})

/** Of the realm, or of a client that has its own. */
export interface KeyOwner {
  readonly realm: string
  readonly client?: string | undefined
}

const keysPath = ({ realm, client }: KeyOwner): string =>
  client === undefined
    ? path`/admin/realms/${realm}/keys`
    : path`/admin/realms/${realm}/clients/${client}/keys`

export interface RotateOptions {
  readonly fresh?: boolean
  /** How long the new key is published before it signs, such as `7d`. */
  readonly publishAhead?: string | undefined
}

const keyCalls = (call: Call) => ({
  async list(owner: KeyOwner): Promise<readonly KeyRecord[]> {
    return (await call<KeyRecord[]>('GET', keysPath(owner))).body
  },
  async rotate(
    owner: KeyOwner,
    { fresh = false, publishAhead }: RotateOptions = {},
  ): Promise<KeyRecord> {
    const query = {
      ...(fresh ? { fresh } : {}),
      ...(publishAhead === undefined ? {} : { publishAhead }),
    }
    return (await call<KeyRecord>('POST', `${keysPath(owner)}/rotate`, { query })).body
  },
  async remove(owner: KeyOwner, keyId: string, force = false): Promise<void> {
    const query = force ? { force } : {}
    await call('DELETE', keysPath(owner) + path`/${keyId}`, { query })
  },
})

const secretPath = (realm: string, client: string): string =>
  path`/admin/realms/${realm}/clients/${client}/secret`

const clientCalls = (call: Call) => ({
  async secret(realm: string, client: string): Promise<ClientSecretRecord> {
    return (await call<ClientSecretRecord>('GET', secretPath(realm, client))).body
  },
  async rotateSecret(
    realm: string,
    client: string,
    graceSeconds: number,
  ): Promise<ClientSecretRecord> {
    const json = { graceSeconds }
    return (await call<ClientSecretRecord>('POST', secretPath(realm, client), { json })).body
  },
  /** With which clients register themselves (RFC 7591 §3); `expiration` in seconds. */
  async initialToken(
    realm: string,
    json: { readonly count: number; readonly expiration: number },
  ): Promise<InitialTokenRecord> {
    const tokens = path`/admin/realms/${realm}/provisioning/initial-access-tokens`
    return (await call<InitialTokenRecord>('POST', tokens, { json })).body
  },
})

const providerCalls = (call: Call) => ({
  /** Connects to an identity provider or directory and tells what would fail at the next sign-in. */
  async check(realm: string, alias: string): Promise<readonly Finding[]> {
    const where = path`/admin/realms/${realm}/identity-providers/${alias}/check`
    return (await call<Finding[]>('POST', where, { slow: true })).body
  },
})

const samlCalls = (call: Call) => ({
  async status(realm: string): Promise<SamlStatus> {
    return (await call<SamlStatus>('GET', path`/admin/realms/${realm}/saml/status`)).body
  },
})

export interface LiveCalls {
  readonly clients: ReturnType<typeof clientCalls>
  readonly authz: ReturnType<typeof authzCalls>
  readonly saml: ReturnType<typeof samlCalls>
  readonly agents: ReturnType<typeof agentCalls>
  readonly directories: ReturnType<typeof directoryCalls>
  readonly scimTargets: ReturnType<typeof scimTargetCalls>
  readonly identityProviders: ReturnType<typeof providerCalls>
  readonly users: ReturnType<typeof userCalls>
  readonly sessions: ReturnType<typeof sessionCalls>
  readonly events: ReturnType<typeof eventCalls>
  readonly keys: ReturnType<typeof keyCalls>
  readonly webhooks: ReturnType<typeof webhookCalls>
  readonly invitations: ReturnType<typeof invitationCalls>
  readonly scim: ReturnType<typeof scimCalls>
}

export const liveCalls = (call: Call): LiveCalls => ({
  clients: clientCalls(call),
  authz: authzCalls(call),
  saml: samlCalls(call),
  agents: agentCalls(call),
  directories: directoryCalls(call),
  scimTargets: scimTargetCalls(call),
  identityProviders: providerCalls(call),
  users: userCalls(call),
  sessions: sessionCalls(call),
  events: eventCalls(call),
  keys: keyCalls(call),
  webhooks: webhookCalls(call),
  invitations: invitationCalls(call),
  scim: scimCalls(call),
})
