/**
 * Tells clients that a session has ended (OIDC Back-Channel Logout 1.0). Whom to tell is in the database from the moment
 * the session ends; whoever wants to tell a client takes the row by a guarded update, so that of several nodes one does.
 * A client that does not answer is tried again, later and later, for a day.
 */

import { Client } from '#schemas/kinds/client.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { SessionClientRow } from '#server/storage/token-tables.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { Mint } from '#server/tokens/mint.ts'
import type { Issuer, Issuers } from '#server/tokens/realm.ts'
import { SubjectMissingError, type Subjects } from '#server/tokens/subject.ts'

export interface LogoutDeliveries {
  /** Tells everybody who is due, and resolves when they are told or put off. */
  deliver(): Promise<void>
  /** As `deliver`, without waiting. */
  kick(): void
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

export interface LogoutDeliveryParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly clock: Clock
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly issuers: Issuers
  readonly mint: Pick<Mint, 'sign'>
  readonly subjects: Subjects
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>
}

const minute = 60_000
/** After the first failure, the second, and so on; after the last nobody tries any more. */
const waits = [10_000, minute, 5 * minute, 30 * minute, 120 * minute, 360 * minute, 720 * minute]
/** Longer than a request can take. */
const leaseMs = minute
const atOnce = 10
const tokenSeconds = 120
const event = 'http://schemas.openid.net/event/backchannel-logout'
const longestAnswer = 64 * 1024

export const createLogoutDeliveries = (parts: LogoutDeliveryParts): LogoutDeliveries => {
  const { storage, clock, outgoing, issuers, mint, subjects, logger } = parts
  const { db } = storage

  const due = (): Promise<SessionClientRow[]> =>
    db
      .selectFrom('session_clients')
      .selectAll()
      .where('next_at', '<=', clock.now())
      .orderBy('next_at')
      .limit(atOnce)
      .execute()

  /** Nothing where somebody else was faster. */
  const take = async (seen: SessionClientRow): Promise<SessionClientRow | undefined> => {
    const taken = { ...seen, attempts: seen.attempts + 1, next_at: clock.now() + leaseMs }
    const { attempts, next_at } = taken
    const update = db
      .updateTable('session_clients')
      .set({ attempts, next_at })
      .where('sid', '=', seen.sid)
      .where('client_id', '=', seen.client_id)
      .where('attempts', '=', seen.attempts)
      .where('next_at', '=', seen.next_at)
    try {
      await storage.commit([guarded(update, 'delivery')])
      return taken
    } catch (error) {
      if (error instanceof GuardFailedError) return undefined
      throw error
    }
  }

  /** What was taken over by another meanwhile is that one's. */
  const forget = async ({ sid, client_id, attempts }: SessionClientRow): Promise<void> => {
    const remove = db
      .deleteFrom('session_clients')
      .where('sid', '=', sid)
      .where('client_id', '=', client_id)
      .where('attempts', '=', attempts)
    await storage.commit([statement(remove)])
  }

  const putOff = async (taken: SessionClientRow, reason: string): Promise<void> => {
    const { realm, sid, client_id, attempts } = taken
    const wait = waits[attempts - 1]
    const details = { realm, sid, client: client_id, attempts, reason }
    if (wait === undefined) {
      logger.warn(details, 'a client could not be told of the end of a session')
      return forget(taken)
    }
    logger.info(details, 'a client is to be told of the end of a session later')
    const update = db
      .updateTable('session_clients')
      .set({ next_at: clock.now() + wait })
      .where('sid', '=', sid)
      .where('client_id', '=', client_id)
      .where('attempts', '=', attempts)
    await storage.commit([statement(update)])
  }

  /** Nothing where the user is gone, or has no subject any more: the session's id is enough (§2.4). */
  const subjectOf = async (
    { view }: Issuer,
    client: TokenClient,
    userId: string | null,
  ): Promise<string | undefined> => {
    if (userId === null) return undefined
    const user = await db
      .selectFrom('users')
      .selectAll()
      .where('id', '=', userId)
      .executeTakeFirst()
    try {
      return user && (await subjects.subjectOf(view, client, user))
    } catch (error) {
      if (error instanceof SubjectMissingError) return undefined
      throw error
    }
  }

  const logoutToken = async (
    issuer: Issuer,
    client: TokenClient,
    { sid, user_id }: SessionClientRow,
  ): Promise<string> => {
    const iat = Math.floor(clock.now() / 1000)
    const sub = await subjectOf(issuer, client, user_id)
    return mint.sign(issuer, client, 'logout+jwt', {
      iss: issuer.url,
      aud: client.clientId,
      iat,
      exp: iat + tokenSeconds,
      jti: newId(),
      sid,
      ...(sub === undefined ? {} : { sub }),
      events: { [event]: {} },
    })
  }

  const tell = async (taken: SessionClientRow): Promise<void> => {
    const issuer = await issuers.fresh(taken.realm)
    if (!issuer) return putOff(taken, 'the realm is disabled')
    const document = await issuer.view.byId(Client.kind, taken.client_id)
    const client = document && clientOf(document)
    const url = client?.doc.backchannelLogoutUri
    if (!client || url === undefined) return forget(taken)
    try {
      const { status } = await outgoing.request({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `logout_token=${await logoutToken(issuer, client, taken)}`,
        maxBytes: longestAnswer,
      })
      return await (status >= 200 && status < 300
        ? forget(taken)
        : putOff(taken, `it answers ${status}`))
    } catch (error) {
      return putOff(taken, error instanceof Error ? error.message : String(error))
    }
  }

  const deliver = async (): Promise<void> => {
    for (;;) {
      const rows = await due()
      await Promise.all(
        rows.map(async (seen) => {
          const taken = await take(seen)
          if (taken) await tell(taken)
        }),
      )
      if (rows.length < atOnce) return
    }
  }

  let running: Promise<void> | undefined
  let again = false
  const run = async (): Promise<void> => {
    do {
      again = false
      await deliver().catch((error) => logger.error({ err: error }, 'telling clients failed'))
    } while (again)
    running = undefined
  }

  return {
    deliver,
    kick: () => {
      again = true
      running ??= run()
    },
    idle: async () => running,
  }
}
