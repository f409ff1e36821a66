/**
 * The browsers that users have signed in with. A browser is known by a long-lived cookie; what is stored is a digest of it
 * for each user, so that the table does not tell who shares a browser. The first browser of a user is no news; of any
 * other the user is told by mail.
 */

import type { FastifyRequest } from 'fastify'
import type { Post } from '#server/accounts/post.ts'
import type { Cookies } from '#server/http/cookies.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables.ts'

export interface KnownDevices {
  isKnown(request: FastifyRequest, user: Pick<UserRow, 'id'>): Promise<boolean>
  /** For the transaction that ends a sign-in; the cookie goes to the browser with it. */
  signedIn(
    request: FastifyRequest,
    view: RealmView,
    user: UserRow,
  ): Promise<{
    readonly cookieValue: string
    readonly statements: readonly Statement[]
    /** The user has others, and this is none of them. */
    readonly isNews: boolean
  }>
  /** After that transaction: the user may have mail. */
  wake(): void
}

export interface KnownDeviceParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly cookies: Pick<Cookies, 'device'>
  readonly messaging: Pick<Messaging, 'ready'>
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly baseUrl: string
}

const day = 24 * 60 * 60 * 1000
/** As long as browsers keep a cookie (RFC 6265bis §5.5). */
const keptMs = 400 * day
const worthTellingMs = day
const mostPerUser = 100
const made = /^[A-Za-z0-9_-]{43}$/

export const createKnownDevices = (parts: KnownDeviceParts): KnownDevices => {
  const { clock, cookies, messaging, post, baseUrl } = parts
  const { db } = parts.storage

  const valueIn = (request: FastifyRequest): string | undefined => {
    const value = request.cookies[cookies.device.name]
    return value !== undefined && made.test(value) ? value : undefined
  }
  const digestOf = (userId: string, value: string): string => sha256(`${userId}:${value}`)

  /** Whether the user has been seen with this browser, or with any. */
  const isSeen = async (userId: string, device?: string): Promise<boolean> => {
    const kept = db
      .selectFrom('known_devices')
      .select('device')
      .where('user_id', '=', userId)
      .where('last_seen', '>', clock.now() - keptMs)
    const wanted = device === undefined ? kept : kept.where('device', '=', device)
    return (await wanted.limit(1).execute()).length > 0
  }

  /** A program that keeps no cookie is a new browser every time. */
  const forgetOldest = (userId: string): Statement =>
    statement(
      db
        .deleteFrom('known_devices')
        .where('user_id', '=', userId)
        .where('device', 'in', (query) =>
          query
            .selectFrom('known_devices')
            .select('device')
            .where('user_id', '=', userId)
            .orderBy('last_seen', 'desc')
            .limit(mostPerUser)
            .offset(mostPerUser),
        ),
    )

  const letter = async (
    request: FastifyRequest,
    view: RealmView,
    user: UserRow,
  ): Promise<Statement[]> => {
    if (user.email === null || !(await messaging.ready(view, 'EMAIL')).ready) return []
    return post.statements({
      realm: user.realm,
      user,
      channel: 'EMAIL',
      to: user.email,
      templateKey: 'new-device',
      values: {
        time: new Date(clock.now()).toISOString(),
        device: request.headers['user-agent']?.slice(0, 200) ?? '-',
        address: request.ip,
        link: `${baseUrl}/realms/${user.realm}/login/forgot`,
      },
      expiresAt: clock.now() + worthTellingMs,
    })
  }

  return {
    async isKnown(request, { id }) {
      const value = valueIn(request)
      return value !== undefined && (await isSeen(id, digestOf(id, value)))
    },

    async signedIn(request, view, user) {
      const cookieValue = valueIn(request) ?? randomToken()
      const device = digestOf(user.id, cookieValue)
      const isNews = !(await isSeen(user.id, device)) && (await isSeen(user.id))
      const seen = { user_id: user.id, device, last_seen: clock.now() }
      return {
        cookieValue,
        isNews,
        statements: [
          statement(
            db
              .insertInto('known_devices')
              .values(seen)
              .onConflict((conflict) =>
                conflict.columns(['user_id', 'device']).doUpdateSet({ last_seen: seen.last_seen }),
              ),
          ),
          ...(isNews ? [forgetOldest(user.id), ...(await letter(request, view, user))] : []),
        ],
      }
    },

    wake: () => post.wake(),
  }
}

/** Removes browsers that have not been seen for as long as they could remember; for the job that keeps tables small. */
export const forgetDevices = ({ db }: Pick<Storage, 'db'>, now: number): Statement =>
  statement(db.deleteFrom('known_devices').where('last_seen', '<=', now - keptMs))
