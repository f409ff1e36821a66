/**
 * How many messages may be caused: per recipient, per source address and per realm, counted in the database for all nodes.
 * A mailbox must not be filled by visitors who know its address, nor a budget for SMS be spent by them. Messages to users
 * who have proved a factor, messages that clients ask for, notices, and what administrators send are counted apart: visitors
 * or clients who use up what is left for an address cannot keep the code of a second factor or a warning from it.
 *
 * Each bound is a token bucket, kept as the time at which it is full again (the generic cell rate algorithm). A message is
 * counted in all of its buckets or, where one is empty, in none.
 */

import { type Kysely, sql } from 'kysely'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { Problem } from '#schemas/problems.ts'
import { addressGroup } from '#server/http/client-address.ts'
import type { Clock } from '#server/platform/clock.ts'
import { sha256 } from '#server/platform/random.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { foldName } from '../names.ts'

/** The cause of a message. */
export type Cause =
  /** An unauthenticated request, or one with an unverified address. */
  | { readonly by: 'visitor'; readonly source: string }
  /** A request of a user after a factor. */
  | { readonly by: 'user'; readonly source: string }
  /** A request of an authenticated client, whose users are asked elsewhere (CIBA). */
  | { readonly by: 'client'; readonly clientId: string }
  /** Something that has happened to an account. */
  | { readonly by: 'notice' }
  /** An administrator, whose request was counted before it was answered (`admit`). */
  | { readonly by: 'administrator' }

export type Limit = 'address' | 'source' | 'realm' | 'client' | 'administrator'

export type LimitSettings = Pick<
  SettingsDoc,
  'messagesPerAddress' | 'messagesPerSource' | 'messagesPerRealm'
>

export interface Bound {
  readonly limit: Limit
  /** Whose bucket it is. */
  readonly of: string
  readonly messages: number
  readonly seconds: number
}

export interface MessageLimits {
  /** Counts a message; the bound that is reached already, and nothing counted, where there is one. */
  take(realm: string, bounds: readonly Bound[]): Promise<Bound | undefined>
  /** As `take`, for administrators, who are to know: throws the problem `rate-limited`. */
  admit(realm: string, bounds: readonly Bound[]): Promise<void>
  /** Removes buckets that are full; for the job that keeps tables small. */
  forgetStatement(): Statement
}

const hour = 3600

/** A user may need several codes an hour, where a visitor has no reason to. */
const moreForUsers = 4

/** Of a message that is about to leave. */
export const boundsOf = (settings: LimitSettings, cause: Cause, to: string): Bound[] => {
  const { messagesPerAddress, messagesPerSource, messagesPerRealm } = settings
  const bound = (limit: Limit, value: string, messages: number): Bound => ({
    limit,
    of: `${cause.by}:${value}`,
    messages,
    seconds: hour,
  })
  const factor = cause.by === 'visitor' ? 1 : moreForUsers
  const address = bound('address', foldName(to), messagesPerAddress * factor)
  switch (cause.by) {
    case 'visitor':
    case 'user': {
      const source = bound('source', addressGroup(cause.source), messagesPerSource * factor)
      // All users of a realm may sign in within an hour; what visitors cause has to have an end.
      const realm = bound('realm', '', messagesPerRealm)
      return cause.by === 'visitor' ? [address, source, realm] : [address, source]
    }
    case 'client':
      // The source is the client's own server, whichever user it asks for.
      return [address, bound('client', cause.clientId, messagesPerRealm)]
    case 'notice':
      return [address]
    case 'administrator':
      return []
  }
}

const guardOf = (index: number): string => `message-limit:${index}`

const taken = (
  db: Kysely<Tables>,
  realm: string,
  { limit, of, messages, seconds }: Bound,
  now: number,
) => {
  const interval = Math.ceil((seconds * 1000) / messages)
  const after = sql<number>`case when message_limits.full_at > ${now}
    then message_limits.full_at else ${now} end + ${interval}`
  return db
    .insertInto('message_limits')
    .values({ realm, subject: `${limit}:${sha256(of)}`, full_at: now + interval })
    .onConflict((conflict) =>
      conflict
        .columns(['realm', 'subject'])
        .doUpdateSet({ full_at: after })
        .where(sql<boolean>`${after} <= ${now + messages * interval}`),
    )
}

export const createMessageLimits = ({
  storage,
  clock,
}: {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly clock: Clock
}): MessageLimits => {
  const take: MessageLimits['take'] = async (realm, bounds) => {
    const now = clock.now()
    try {
      await storage.commit(
        bounds.map((bound, index) => guarded(taken(storage.db, realm, bound, now), guardOf(index))),
      )
      return undefined
    } catch (error) {
      const reached =
        error instanceof GuardFailedError
          ? bounds.find((_, index) => guardOf(index) === error.guard)
          : undefined
      if (reached === undefined) throw error
      return reached
    }
  }

  return {
    take,

    admit: async (realm, bounds) => {
      const reached = await take(realm, bounds)
      if (!reached) return
      const { limit, messages, seconds } = reached
      const retryAfter = Math.ceil(seconds / messages)
      throw new Problem(
        'rate-limited',
        `More than ${messages} messages in ${seconds} s per ${limit}. Try again in ${retryAfter} s.`,
        { extra: { retryAfter } },
      )
    },

    forgetStatement: () =>
      statement(storage.db.deleteFrom('message_limits').where('full_at', '<=', clock.now())),
  }
}
