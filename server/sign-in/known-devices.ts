/**
 * The browsers that users have signed in with. A browser is known by a long-lived cookie; what is stored is a digest of it
 * for each user, so that the table does not reveal which users share a browser. The first browser of a user causes no
 * notice; each other one causes a mail to the user.
 */

import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import type { Cookies } from '#server/http/cookies/cookies.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { preparedQuery, preparedStatement } from '#server/storage/prepared.ts'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Post } from '#server/users/messages/post.ts'

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
    /** Something waits to be sent: `wake` after the transaction. */
    readonly hasMail: boolean
  }>
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
/** How long a browser that is seen again need not be written again. */
const hour = 60 * 60 * 1000
const mostPerUser = 100
const made = /^[A-Za-z0-9_-]{43}$/

const sightingsOf = preparedQuery(
  'known-devices',
  (db, { userId, device, since }: { userId: string; device: string; since: number }) => {
    const kept = db
      .selectFrom('known_devices')
      .select(sql<number>`1`.as('one'))
      .where('user_id', '=', userId)
      .where('last_seen', '>', since)
    return db.selectNoFrom((eb) => [
      kept.clearSelect().select('last_seen').where('device', '=', device).as('last_seen'),
      eb.exists(kept).as('with_any'),
    ])
  },
)

const seenNow = preparedStatement(
  (db, { userId, device, now }: { userId: string; device: string; now: number }) =>
    db
      .insertInto('known_devices')
      .values({ user_id: userId, device, last_seen: now })
      .onConflict((conflict) =>
        conflict.columns(['user_id', 'device']).doUpdateSet({ last_seen: now }),
      ),
)

/** A program that keeps no cookie is a new browser every time. Looked after at one digest in sixteen: it reads all of them. */
const isTimeToForget = (device: string): boolean => device.startsWith('0')

const forgetOldest = preparedStatement((db, { userId }: { userId: string }) =>
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

export const createKnownDevices = (parts: KnownDeviceParts): KnownDevices => {
  const { clock, cookies, messaging, post, baseUrl } = parts
  const { db } = parts.storage

  const valueIn = (request: FastifyRequest): string | undefined => {
    const value = request.cookies[cookies.device.name]
    return value !== undefined && made.test(value) ? value : undefined
  }
  const digestOf = (userId: string, value: string): string => sha256(`${userId}:${value}`)

  /** When the user was last seen with this browser, and whether with any. */
  const sightings = async (userId: string, device: string) => {
    const [seen] = await sightingsOf(db, { userId, device, since: clock.now() - keptMs })
    return { lastSeen: seen?.last_seen ?? undefined, withAny: seen?.with_any === 1 }
  }

  const letter = async (
    request: FastifyRequest,
    view: RealmView,
    user: UserRow,
  ): Promise<Statement[]> => {
    if (user.email === null || !(await messaging.ready(view, { channel: 'EMAIL' })).ready) return []
    return post.statements({
      realm: user.realm,
      user,
      channel: 'EMAIL',
      to: user.email,
      cause: { by: 'notice' },
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
      if (value === undefined) return false
      return (await sightings(id, digestOf(id, value))).lastSeen !== undefined
    },

    async signedIn(request, view, user) {
      const cookieValue = valueIn(request) ?? randomToken()
      const device = digestOf(user.id, cookieValue)
      const { lastSeen, withAny } = await sightings(user.id, device)
      const now = clock.now()
      const isNews = withAny && lastSeen === undefined
      const isWritten = lastSeen !== undefined && lastSeen > now - hour
      const letters = isNews ? await letter(request, view, user) : []
      return {
        cookieValue,
        isNews,
        hasMail: letters.length > 0,
        statements: [
          ...(isWritten ? [] : [seenNow(db, { userId: user.id, device, now })]),
          ...(isNews && isTimeToForget(device) ? [forgetOldest(db, { userId: user.id })] : []),
          ...letters,
        ],
      }
    },

    wake: () => post.wake(),
  }
}

/** Removes browsers that have not been seen for as long as they could remember; for the job that keeps tables small. */
export const forgetDevices = ({ db }: Pick<Storage, 'db'>, now: number): Statement =>
  statement(db.deleteFrom('known_devices').where('last_seen', '<=', now - keptMs))
