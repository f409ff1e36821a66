/** Streams, their subjects and the events that wait, as rows. */

import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, inSlices, insertRows, statement } from '#server/storage/statements.ts'
import type { SignalEventRow, SignalStreamRow } from '#server/storage/tables/signal-tables.ts'

/** How long an event waits for its receiver. */
const keptMs = 7 * 24 * 3600_000
/** How many streams a receiver may have. */
export const mostStreams = 10
/** How many subjects a stream may have, added and removed ones together: one with more follows all users (`signalSubjects`). */
export const mostSubjects = 50_000
export const subjectsGuard = 'signal-subjects'
/** Activity of a receiver is written at most this often. */
const activityMs = 3600_000

export type StreamChange = Partial<
  Pick<
    SignalStreamRow,
    | 'endpoint_url'
    | 'authorization_header'
    | 'events'
    | 'description'
    | 'status'
    | 'status_reason'
    | 'active_at'
  >
>

export type NewStream = Pick<
  SignalStreamRow,
  'id' | 'endpoint_url' | 'authorization_header' | 'events' | 'description'
>

export interface NewSignal {
  readonly id: string
  readonly streamId: string
  readonly claims: Readonly<Record<string, unknown>>
  readonly isAboutStream: boolean
}

export interface Streams {
  /** Oldest first. */
  ofClient(clientId: string): Promise<SignalStreamRow[]>
  byId(id: string): Promise<SignalStreamRow | undefined>
  /** Streams of the realm that are not disabled. */
  ofRealm(realm: string): Promise<SignalStreamRow[]>
  /** The ids of the clients that have streams. */
  receiversIn(realm: string): Promise<string[]>
  /** Whether any realm has a stream. */
  isAny(): Promise<boolean>
  /** Streams that are polled, and were not since then although they are enabled. */
  idleSince(time: number): Promise<SignalStreamRow[]>
  /** Undefined where the client has as many as it may. Fails on a unique rule where another request was faster. */
  create(
    owner: Pick<SignalStreamRow, 'realm' | 'client_id'>,
    stream: NewStream,
  ): Promise<{ readonly row: SignalStreamRow; readonly statements: Statement[] } | undefined>
  change(id: string, change: StreamChange): Statement
  /** Changes the status of a stream that is enabled; fails with the guard `stream-status` where it is not. */
  stop(id: string, status: 'paused' | 'disabled', reason: string): Statement
  /** Fails with the guard `verification-interval` where a verification was asked for less than `intervalMs` ago. */
  noteVerification(id: string, intervalMs: number): Statement
  /** The receiver has called: no statement where that was written a short time ago. */
  noteActivity(stream: SignalStreamRow): Statement[]
  remove(id: string): Statement
  /**
   * A subject that was removed stays as a row, so that it is left out where all subjects are followed. Fails the guard
   * `signal-subjects` where the stream has more than it may then.
   */
  putSubject(id: string, subject: string, isRemoved: boolean): Statement[]
  /** What the receiver did last with any of these names of a user; undefined where it has neither added nor removed one. */
  subject(id: string, names: readonly string[]): Promise<'added' | 'removed' | undefined>
  /** In all streams of the realm. */
  forgetSubjects(realm: string, subjects: readonly string[]): Statement
  /** One that is there already stays: what makes events may run twice. */
  addEvent(signal: NewSignal): Statement
  event(id: string): Promise<SignalEventRow | undefined>
  /** Those that wait, oldest first; of a stopped stream those that tell that it is. */
  waiting(stream: Pick<SignalStreamRow, 'id' | 'status'>, most: number): Promise<SignalEventRow[]>
  acknowledge(streamId: string, ids: readonly string[]): Statement[]
  /** A disabled stream holds no events (SSF 1.0 §8.1.2.1). */
  dropEvents(streamId: string): Statement
  /** Notices of a status that the receiver has changed meanwhile. */
  dropNotices(streamId: string): Statement
  forgetStatement(): Statement
}

export const createStreams = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): Streams => {
  const streams = db.selectFrom('signal_streams').selectAll()
  const ofClient: Streams['ofClient'] = (clientId) =>
    streams.where('client_id', '=', clientId).orderBy('created_at').orderBy('id').execute()
  return {
    ofClient,
    byId: (id) => streams.where('id', '=', id).executeTakeFirst(),
    ofRealm: (realm) =>
      streams.where('realm', '=', realm).where('status', '!=', 'disabled').execute(),
    receiversIn: async (realm) =>
      (
        await db
          .selectFrom('signal_streams')
          .select('client_id')
          .distinct()
          .where('realm', '=', realm)
          .execute()
      ).map(({ client_id }) => client_id),
    isAny: async () => (await streams.limit(1).executeTakeFirst()) !== undefined,
    idleSince: (time) =>
      streams
        .where('endpoint_url', 'is', null)
        .where('status', '=', 'enabled')
        .where('active_at', '<', time)
        .limit(100)
        .execute(),

    create: async (owner, stream) => {
      const taken = new Set((await ofClient(owner.client_id)).map(({ slot }) => slot))
      const slot = Array.from({ length: mostStreams }, (_, i) => i).find((i) => !taken.has(i))
      if (slot === undefined) return undefined
      const now = clock.now()
      const row: SignalStreamRow = {
        ...owner,
        ...stream,
        slot,
        status: 'enabled',
        status_reason: null,
        created_at: now,
        verified_at: 0,
        active_at: now,
      }
      return { row, statements: insertRows(db, 'signal_streams', [row]) }
    },
    change: (id, change) =>
      statement(db.updateTable('signal_streams').set(change).where('id', '=', id)),
    stop: (id, status, reason) =>
      guarded(
        db
          .updateTable('signal_streams')
          .set({ status, status_reason: reason })
          .where('id', '=', id)
          .where('status', '=', 'enabled'),
        'stream-status',
      ),
    noteVerification: (id, intervalMs) =>
      guarded(
        db
          .updateTable('signal_streams')
          .set({ verified_at: clock.now() })
          .where('id', '=', id)
          .where('verified_at', '<=', clock.now() - intervalMs),
        'verification-interval',
      ),
    noteActivity: ({ id, active_at }) =>
      active_at > clock.now() - activityMs
        ? []
        : [
            statement(
              db.updateTable('signal_streams').set({ active_at: clock.now() }).where('id', '=', id),
            ),
          ],
    remove: (id) => statement(db.deleteFrom('signal_streams').where('id', '=', id)),

    putSubject: (id, subject, isRemoved) => {
      const change = { is_removed: isRemoved ? 1 : 0, changed_at: clock.now() }
      const activity = () =>
        db.updateTable('signal_streams').set({ active_at: clock.now() }).where('id', '=', id)
      const counted = db
        .selectFrom('signal_subjects')
        .select('subject')
        .where('stream_id', '=', id)
        .limit(mostSubjects + 1)
        .as('counted')
      return [
        // The stream is written first: another transaction that adds a subject waits here, and counts this one.
        statement(activity()),
        statement(
          db
            .insertInto('signal_subjects')
            .values({ stream_id: id, subject, ...change })
            .onConflict((conflict) =>
              conflict.columns(['stream_id', 'subject']).doUpdateSet(change),
            ),
        ),
        guarded(
          activity().where(
            db.selectFrom(counted).select(({ fn }) => fn.countAll<number>().as('count')),
            '<=',
            mostSubjects,
          ),
          subjectsGuard,
        ),
      ]
    },
    subject: async (id, names) => {
      const row = await db
        .selectFrom('signal_subjects')
        .select('is_removed')
        .where('stream_id', '=', id)
        .where('subject', 'in', [...names])
        .orderBy('changed_at', 'desc')
        .limit(1)
        .executeTakeFirst()
      return row && (row.is_removed === 1 ? 'removed' : 'added')
    },

    forgetSubjects: (realm, subjects) =>
      statement(
        db
          .deleteFrom('signal_subjects')
          .where('subject', 'in', [...subjects])
          .where(
            'stream_id',
            'in',
            db.selectFrom('signal_streams').select('id').where('realm', '=', realm),
          ),
      ),

    addEvent: ({ id, streamId, claims, isAboutStream }) =>
      statement(
        db
          .insertInto('signal_events')
          .values({
            id,
            stream_id: streamId,
            claims: JSON.stringify(claims),
            is_about_stream: isAboutStream ? 1 : 0,
            created_at: clock.now(),
          })
          .onConflict((conflict) => conflict.column('id').doNothing()),
      ),
    event: (id) =>
      db.selectFrom('signal_events').selectAll().where('id', '=', id).executeTakeFirst(),
    waiting: ({ id, status }, most) => {
      const events = db.selectFrom('signal_events').selectAll().where('stream_id', '=', id)
      return (status === 'enabled' ? events : events.where('is_about_stream', '=', 1))
        .orderBy('created_at')
        .orderBy('id')
        .limit(most)
        .execute()
    },
    acknowledge: (streamId, ids) =>
      inSlices(ids).map((part) =>
        statement(
          db.deleteFrom('signal_events').where('stream_id', '=', streamId).where('id', 'in', part),
        ),
      ),
    dropEvents: (streamId) =>
      statement(db.deleteFrom('signal_events').where('stream_id', '=', streamId)),
    dropNotices: (streamId) =>
      statement(
        db
          .deleteFrom('signal_events')
          .where('stream_id', '=', streamId)
          .where('is_about_stream', '=', 1),
      ),
    forgetStatement: () =>
      statement(db.deleteFrom('signal_events').where('created_at', '<', clock.now() - keptMs)),
  }
}
