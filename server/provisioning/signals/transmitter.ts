/**
 * Makes security events of what happens in the realm: the end of a session, for the clients that took part in it, and the
 * change of a credential. An event is for a stream that asked for its type and for its user, whom it names as the client
 * knows the user. It is written once, whatever runs twice, and sent by a job or fetched by the receiver.
 */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { OutboxEvent } from '#server/audit/outbox.ts'
import { restartFailed, waitingPayloads } from '#server/jobs/lane.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { TellLogout } from '#server/sessions/logout-queue.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { SignalStreamRow } from '#server/storage/tables/signal-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { SubjectMissingError, type Subjects } from '#server/tokens/subject.ts'
import { userById } from '#server/users/user-rows.ts'
import { provisioningOf } from '../endpoint.ts'
import { credentialChange, credentialChangeOf, sessionRevoked } from './event-types.ts'
import { pollTopic } from './polling/polls.ts'
import type { MayReceive } from './receiver.ts'
import { deliveredOf } from './stream-body.ts'
import type { Streams } from './streams.ts'
import { namesOf } from './subjects.ts'

export const signalQueue = 'signals'

/** What a push remembers: the row of the event. */
export interface SignalPayload {
  readonly event: string
}

/** A security event before it is bound to its stream. */
export interface SecurityEvent {
  readonly type: string
  readonly details: Claims
  readonly sub_id: Claims
  /** Unique to what happened, which may be told by several events (SSF 1.0 §4.1.9). */
  readonly txn: string
  /** Sent although the stream is stopped: it says so. */
  readonly isAboutStream?: boolean
}

export interface TransmitterParts {
  readonly storage: Pick<Storage, 'db' | 'commit' | 'announce'>
  readonly clock: Clock
  readonly streams: Streams
  readonly issuers: Issuers
  readonly subjects: Pick<Subjects, 'subjectOf' | 'subjectOfDeleted'>
  readonly jobs: Pick<Jobs, 'enqueueStatements'>
  readonly mayReceive: MayReceive
  /** These streams have something to send or to fetch. */
  readonly wake: (streamIds: Iterable<string>) => void
}

export interface Transmitter {
  /** Queues an event for the stream; its `jti` follows from `txn`, so that it is made once. */
  queue(
    issuer: Issuer,
    stream: SignalStreamRow,
    audience: string,
    event: SecurityEvent,
  ): Statement[]
  /** Pushes what waits: events that were held, that were to be fetched until now, or whose push failed. */
  resume(stream: SignalStreamRow): Promise<void>
  /** The part of the logout queue: it sends nothing itself, and leaves the job to the protocols. */
  tellLogout: TellLogout
  /** The changes of credentials among these audit events. */
  make(events: readonly OutboxEvent[]): Promise<readonly Statement[]>
  /** What was made last is committed. */
  made(): void
}

/** Most events that a stream sends again at once; as many as a receiver fetches in ten requests. */
const mostResumed = 10_000

/** CAEP interoperability profile §3: it is never empty. */
const reason = (en: string) => ({ reason_admin: { en } })

export const createTransmitter = (parts: TransmitterParts): Transmitter => {
  const { storage, clock, streams, issuers, subjects, jobs, mayReceive, wake } = parts

  const clientIn = async (issuer: Issuer, id: string): Promise<TokenClient | undefined> => {
    const document = await issuer.view.byId(Client.kind, id)
    const client = document && clientOf(document)
    return client && (await mayReceive(issuer, client)) ? client : undefined
  }

  const subjectOf = async (
    { view }: Issuer,
    client: TokenClient,
    userId: string,
    user: UserRow | undefined,
  ): Promise<string | undefined> => {
    try {
      // The deletion of a user ends sessions as well: receivers must not keep theirs.
      return user
        ? await subjects.subjectOf(view, client, user)
        : await subjects.subjectOfDeleted(view, client, userId)
    } catch (error) {
      if (error instanceof SubjectMissingError) return undefined
      throw error
    }
  }

  const queue: Transmitter['queue'] = ({ url, name }, stream, aud, event) => {
    const { type, details, sub_id, txn, isAboutStream = false } = event
    const jti = `${txn}.${stream.id}`
    const iat = Math.floor(clock.now() / 1000)
    const claims = { iss: url, aud, jti, iat, txn, sub_id, events: { [type]: details } }
    const announcement = storage.announce(pollTopic(stream.id))
    const sent =
      stream.endpoint_url === null
        ? [announcement].flatMap((one) => one ?? [])
        : jobs.enqueueStatements(signalQueue, [
            { realm: name, target: stream.id, key: jti, payload: { event: jti } },
          ])
    return [streams.addEvent({ id: jti, streamId: stream.id, claims, isAboutStream }), ...sent]
  }

  /** Whether the receiver is to hear of the user: added, or not removed where all users are followed. */
  const isFollowed = async (
    { view }: Issuer,
    stream: SignalStreamRow,
    names: readonly string[],
  ): Promise<boolean> => {
    const asked = await streams.subject(stream.id, names)
    if (asked !== undefined) return asked === 'added'
    return (await provisioningOf(view)).signalSubjects === 'ALL'
  }

  /** The statements of an event about a user, where the stream is to have it. */
  const aboutUser = async (
    issuer: Issuer,
    stream: SignalStreamRow,
    userId: string,
    { session, ...event }: Omit<SecurityEvent, 'sub_id'> & { readonly session?: string },
  ): Promise<Statement[]> => {
    if (stream.status === 'disabled' || !deliveredOf(stream).includes(event.type)) return []
    const client = await clientIn(issuer, stream.client_id)
    const user = await userById(storage, userId)
    const sub = client && (await subjectOf(issuer, client, userId, user))
    if (!client || sub === undefined) return []
    if (!(await isFollowed(issuer, stream, namesOf(sub, user)))) return []
    const named = { format: 'iss_sub', iss: issuer.url, sub }
    return queue(issuer, stream, client.clientId, {
      ...event,
      sub_id:
        session === undefined
          ? named
          : { format: 'complex', user: named, session: { format: 'opaque', id: session } },
    })
  }

  /** Streams that the follower made events for, one batch after another. */
  const touched = new Set<string>()

  const changed = async (event: OutboxEvent): Promise<Statement[]> => {
    const change = credentialChangeOf(event.type, event.detail)
    if (!change || event.outcome !== 'SUCCESS' || event.resource_type !== 'users') return []
    const issuer = await issuers.fresh(event.realm)
    if (!issuer || event.resource_id === null) return []
    const by = event.actor === event.resource_id ? 'user' : 'admin'
    const details = {
      event_timestamp: Math.floor(event.at / 1000),
      ...change,
      initiating_entity: by,
      ...reason(`${change.credential_type}: ${change.change_type} by the ${by}`),
    }
    const made: Statement[] = []
    for (const stream of await streams.ofRealm(event.realm)) {
      const told = { type: credentialChange, txn: event.event_id, details }
      const statements = await aboutUser(issuer, stream, event.resource_id, told)
      if (statements.length > 0) touched.add(stream.id)
      made.push(...statements)
    }
    return made
  }

  return {
    queue,

    resume: async (stream) => {
      if (stream.endpoint_url !== null) {
        const lane = { queue: signalQueue, target: stream.id }
        const events = await streams.waiting({ ...stream, status: 'enabled' }, mostResumed)
        const queued = new Set(
          (await waitingPayloads(storage, lane)).map((payload) => (payload as SignalPayload).event),
        )
        await storage.commit([
          restartFailed(storage, lane, clock.now()),
          ...jobs.enqueueStatements(
            signalQueue,
            // The job that the event came with may have ended while the stream was paused, or failed for good.
            events
              .filter(({ id }) => !queued.has(id))
              .map(({ id }) => ({
                realm: stream.realm,
                target: stream.id,
                key: `${id} ${newId()}`,
                payload: { event: id },
              })),
          ),
        ])
      }
      wake([stream.id])
    },

    tellLogout: async ({ id, target, createdAt, payload: { sid, user } }, issuer) => {
      if (user === null) return undefined
      const details = {
        event_timestamp: Math.floor(createdAt / 1000),
        ...reason('The session has ended.'),
      }
      const told = { type: sessionRevoked, txn: id, session: sid, details }
      const own = await streams.ofClient(target)
      const statements: Statement[] = []
      for (const stream of own) statements.push(...(await aboutUser(issuer, stream, user, told)))
      if (statements.length > 0) {
        await storage.commit(statements)
        wake(own.map((stream) => stream.id))
      }
      return undefined
    },

    make: async (events) => {
      const made: Statement[] = []
      for (const event of events) made.push(...(await changed(event)))
      return made
    },
    made: () => {
      wake(touched)
      touched.clear()
    },
  }
}
