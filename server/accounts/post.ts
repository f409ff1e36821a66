/**
 * Messages to users, by the queue: written in the transaction that causes them, sent by whatever node, tried again while
 * that makes sense. What a message says and where it goes is encrypted in the queue: it holds codes, links and addresses.
 * The lane of a message is its user, or the address where that is nobody's yet, so that everything on its way to an erased
 * user can be removed.
 */

import type { JobHandler } from '#server/events/jobs/job.ts'
import type { Jobs } from '#server/events/jobs/queue.ts'
import { DeliveryError } from '#server/messaging/driver.ts'
import type { Delivery, Messaging } from '#server/messaging/sender.ts'
import type { MessageUser } from '#server/messaging/templates.ts'
import type { Clock } from '#server/platform/clock.ts'
import { sha256 } from '#server/platform/random.ts'
import { decrypt, encrypt } from '#server/platform/sealing.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { UserRow } from '#server/storage/tables.ts'
import { foldName } from './names.ts'

export const messageQueue = 'messages'
const queue = messageQueue

export interface Letter extends Pick<Delivery, 'channel' | 'to' | 'templateKey' | 'values'> {
  readonly realm: string
  /** Nobody where all that is known is an address. */
  readonly user?: UserRow | undefined
  readonly locale?: string | undefined
  readonly driver?: string | undefined
  readonly data?: Delivery['data']
  /** After that nobody needs it any more: a code that has expired is not sent. */
  readonly expiresAt: number
}

export interface Post {
  /** For the transaction that causes the message; `wake` after it. */
  statements(letter: Letter): Statement[]
  wake(): void
  readonly handler: JobHandler<Sealed>
}

interface Sealed {
  readonly sealed: string
  readonly expiresAt: number
}

interface Content extends Omit<Letter, 'user' | 'realm' | 'expiresAt'> {
  readonly user: MessageUser
}

export interface PostParts {
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
  readonly messaging: Pick<Messaging, 'send'>
  readonly copy: Pick<Copy, 'fresh'>
  readonly clock: Clock
  /** Not the master key: a message outlives no rotation of it. */
  readonly key: Uint8Array
}

const minute = 60_000

const contextOf = (realm: string, lane: string): string => `${realm}/message/${lane}`

/** The lane of messages to an address. It tells nobody which. */
export const addressLane = (realm: string, address: string): string =>
  sha256(`${realm}\n${foldName(address)}`)

const shownUser = (user: UserRow): MessageUser => ({
  username: user.username,
  email: user.email,
  firstName: user.first_name,
  lastName: user.last_name,
  attributes: JSON.parse(user.attributes),
})

export const createPost = ({ jobs, messaging, copy, clock, key }: PostParts): Post => ({
  statements: ({ realm, user, expiresAt, ...letter }) => {
    const content: Content = { ...letter, user: user ? shownUser(user) : { username: letter.to } }
    const target = user?.id ?? addressLane(realm, letter.to)
    const sealed = encrypt(key, JSON.stringify(content), contextOf(realm, target))
    const payload: Sealed = { sealed, expiresAt }
    return jobs.enqueueStatements(queue, [{ realm, target, payload }])
  },

  wake: () => jobs.wake(queue),

  handler: {
    queue,
    perTarget: 2,
    atOnce: 16,
    leaseMs: minute,
    waits: [2000, 10_000, minute, 5 * minute, 30 * minute, 120 * minute],
    jitter: 0.1,
    run: async ({ id, realm, target, payload }) => {
      if (payload.expiresAt <= clock.now()) return { kind: 'dead', reason: 'it came too late' }
      const view = realm === null ? undefined : await copy.fresh(realm)
      if (realm === null || !view) return { kind: 'dead', reason: 'the realm is gone' }
      const sealed = { kid: '', v: payload.sealed }
      const content: Content = JSON.parse(decrypt(key, sealed, contextOf(realm, target)))
      try {
        const outcome = await messaging.send({ ...content, view, id })
        return outcome.status === 'sent'
          ? { kind: 'done', result: { driver: outcome.driver } }
          : { kind: 'dead', reason: outcome.reason }
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error
        return error.retryable
          ? { kind: 'retry', reason: error.reason }
          : { kind: 'dead', reason: error.reason }
      }
    },
  },
})
