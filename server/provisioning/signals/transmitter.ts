/**
 * Makes security events of what happens in the realm: the end of a session, for the clients that took part in it, and the
 * change of a credential. An event is for a stream that asked for its type and for its user, whom it names as the client
 * knows the user. It is written once, whatever runs twice, and sent by a job or fetched by the receiver.
 */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { OutboxEvent } from '#server/audit/outbox.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { TellLogout } from '#server/sessions/logout-queue.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { SubjectMissingError, type Subjects } from '#server/tokens/subject.ts'
import { userById } from '#server/users/user-rows.ts'
import {
  credentialChange,
  credentialChanges,
  credentialTypes,
  sessionRevoked,
} from './event-types.ts'
import type { Streams } from './streams.ts'

export const signalQueue = 'signals'

/** What a push remembers: the row of the event. */
export interface SignalPayload {
  readonly event: string
}

export interface TransmitterParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly clock: Clock
  readonly streams: Streams
  readonly issuers: Issuers
  readonly subjects: Pick<Subjects, 'subjectOf'>
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
}

export interface Transmitter {
  /** Queues an event for the stream; its `jti` is given, so that it is made once. */
  queue(issuer: Issuer, stream: SignalStreamRow, jti: string, claims: Claims): Statement[]
  /** The part of the logout queue: it tells nobody itself, and leaves the job to the protocols. */
  tellLogout: TellLogout
  /** The changes of credentials among these audit events. */
  make(events: readonly OutboxEvent[]): Promise<readonly Statement[]>
}

export const createTransmitter = (parts: TransmitterParts): Transmitter => {
  const { storage, clock, streams, issuers, subjects, jobs } = parts

  const clientIn = async ({ view }: Issuer, id: string): Promise<TokenClient | undefined> => {
    const document = await view.byId(Client.kind, id)
    const client = document && clientOf(document)
    return client?.doc.enabled ? client : undefined
  }

  const subjectOf = async (
    { view }: Issuer,
    client: TokenClient,
    user: UserRow,
  ): Promise<string | undefined> => {
    try {
      return await subjects.subjectOf(view, client, user)
    } catch (error) {
      if (error instanceof SubjectMissingError) return undefined
      throw error
    }
  }

  const queue: Transmitter['queue'] = ({ url, name }, stream, jti, claims) => [
    streams.addEvent({
      id: jti,
      streamId: stream.id,
      claims: { iss: url, jti, iat: Math.floor(clock.now() / 1000), ...claims },
    }),
    ...(stream.endpoint_url === null
      ? []
      : jobs.enqueueStatements(signalQueue, [
          { realm: name, target: stream.id, key: jti, payload: { event: jti } },
        ])),
  ]

  /** The statements of an event about a user, where the stream is to have it. */
  const aboutUser = async (
    issuer: Issuer,
    stream: SignalStreamRow,
    userId: string,
    {
      type,
      jti,
      session,
      details,
    }: {
      readonly type: string
      readonly jti: string
      readonly session?: string
      readonly details: Claims
    },
  ): Promise<Statement[]> => {
    if (!(JSON.parse(stream.events) as string[]).includes(type)) return []
    const client = await clientIn(issuer, stream.client_id)
    const user = await userById(storage, userId)
    const sub = client && user && (await subjectOf(issuer, client, user))
    if (!client || sub === undefined || !(await streams.hasSubject(stream.id, sub))) return []
    const named = { format: 'iss_sub', iss: issuer.url, sub }
    return queue(issuer, stream, jti, {
      aud: client.clientId,
      sub_id:
        session === undefined
          ? named
          : { format: 'complex', user: named, session: { format: 'opaque', id: session } },
      events: { [type]: details },
    })
  }

  const changed = async (event: OutboxEvent): Promise<Statement[]> => {
    const change = credentialChanges[event.type as keyof typeof credentialChanges]
    if (!change || event.outcome !== 'SUCCESS' || event.resource_type !== 'users') return []
    const issuer = await issuers.fresh(event.realm)
    if (!issuer || event.resource_id === null) return []
    const details = {
      event_timestamp: Math.floor(event.at / 1000),
      change_type: change,
      credential_type: credentialTypes[event.detail ?? 'password'] ?? 'password',
      initiating_entity: event.actor === event.resource_id ? 'user' : 'admin',
    }
    const made: Statement[] = []
    for (const stream of await streams.ofRealm(event.realm)) {
      const jti = `${event.event_id}.${stream.id}`
      const told = { type: credentialChange, jti, details }
      made.push(...(await aboutUser(issuer, stream, event.resource_id, told)))
    }
    return made
  }

  return {
    queue,

    tellLogout: async ({ id, target, payload: { sid, user } }, issuer) => {
      const stream = user === null ? undefined : await streams.ofClient(target)
      if (!stream || stream.status === 'disabled' || user === null) return undefined
      const details = { event_timestamp: Math.floor(clock.now() / 1000) }
      const told = { type: sessionRevoked, jti: id, session: sid, details }
      const statements = await aboutUser(issuer, stream, user, told)
      if (statements.length > 0) {
        await storage.commit(statements)
        jobs.wake(signalQueue)
      }
      return undefined
    },

    make: async (events) => {
      const made: Statement[] = []
      for (const event of events) made.push(...(await changed(event)))
      return made
    },
  }
}
