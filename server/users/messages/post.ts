/**
 * Messages to users, by the queue: written in the transaction that causes them, sent by any node, retried while useful. Content
 * and recipient are encrypted in the queue: they contain codes, links and addresses. The lane of a message is its user, or
 * the address if there is no user yet, so that pending messages of an erased user can be removed. The result of a message is
 * an audit event with the channel, without address and text.
 *
 * Whether a limit keeps a message back is decided when it is about to leave: a request that causes one takes as long and is
 * answered the same. A request for an unknown user writes a decoy message.
 */

import { User } from '#schemas/kinds/users/user.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { systemCaller } from '#server/http/caller.ts'
import type { Job, JobHandler, Outcome } from '#server/jobs/job.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import { DeliveryError } from '#server/messaging/driver.ts'
import type { Delivery, Messaging } from '#server/messaging/sender.ts'
import type { MessageUser } from '#server/messaging/templates.ts'
import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import { decrypt, encrypt } from '#server/platform/sealing.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { requireSettings } from '#server/storage/documents/settings.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { foldName } from '../names.ts'
import { boundsOf, type Cause, type Limit, type MessageLimits } from './message-limits.ts'

export const messageQueue = 'messages'
const queue = messageQueue

export interface Letter extends Pick<Delivery, 'channel' | 'templateKey' | 'values'> {
  readonly realm: string
  /** A decoy for an unknown user, which must not be noticeable. */
  readonly to: string | undefined
  /** For the limits. */
  readonly cause: Cause
  /** Undefined if only an address is known. */
  readonly user?: UserRow | undefined
  readonly locale?: string | undefined
  readonly driver?: string | undefined
  readonly data?: Delivery['data']
  /** Expiry: an expired code is not sent. */
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
  /** For a known user. */
  readonly userId?: string | undefined
}

export interface PostParts {
  readonly jobs: Pick<Jobs, 'enqueueStatements' | 'wake'>
  readonly messaging: Pick<Messaging, 'send'>
  readonly copy: Pick<Copy, 'fresh'>
  readonly recorder: Pick<Recorder, 'append'>
  readonly limits: Pick<MessageLimits, 'take'>
  readonly onSuppressed: (realm: string, limit: Limit) => void
  readonly clock: Clock
  /** Not the master key: a message outlives no rotation of it. */
  readonly key: Uint8Array
}

type Addressed = Content & { readonly to: string }

const isAddressed = (content: Content): content is Addressed => content.to !== undefined

const minute = 60_000

const contextOf = (realm: string, lane: string): string => `${realm}/message/${lane}`

/** The lane of messages to an address: a digest, which does not show the address. */
export const addressLane = (realm: string, address: string): string =>
  sha256(`${realm}\n${foldName(address)}`)

const shownUser = (user: UserRow): MessageUser => ({
  username: user.username,
  email: user.email,
  firstName: user.first_name,
  lastName: user.last_name,
  attributes: JSON.parse(user.attributes),
})

/** How it left, or why it did not. */
const eventOf = (
  realm: string,
  { templateKey, channel, userId }: Content,
  outcome: AuditEvent['outcome'],
  how: string,
): AuditEvent => ({
  type: 'SEND_MESSAGE',
  realm,
  actor: systemCaller.actor,
  sourceIp: systemCaller.sourceIp,
  outcome,
  ...(userId === undefined ? {} : { resourceType: User.resourceType, resourceId: userId }),
  detail: `${templateKey} by ${channel} ${how}`,
})

export const createPost = (parts: PostParts): Post => {
  const { jobs, messaging, copy, recorder, limits, onSuppressed, clock, key } = parts

  const contentOf = (realm: string, { target, payload }: Job<Sealed>): Content =>
    JSON.parse(decrypt(key, { kid: '', v: payload.sealed }, contextOf(realm, target)))

  const sent = async (realm: string, content: Content, driver: string): Promise<Outcome> => {
    await recorder.append([], [eventOf(realm, content, 'SUCCESS', `through ${driver}`)])
    return { kind: 'done', result: { driver } }
  }

  const givenUp = async (realm: string, content: Content, reason: string): Promise<Outcome> => {
    await recorder.append([], [eventOf(realm, content, 'FAILURE', `failed: ${reason}`)])
    return { kind: 'dead', reason }
  }

  /** An attempt that was repeated is counted once. */
  const limitOf = async (view: RealmView, { cause, to }: Addressed, attempt: number) => {
    const bounds = attempt > 1 ? [] : boundsOf(await requireSettings(view), cause, to)
    return bounds.length === 0 ? undefined : limits.take(view.realm, bounds)
  }

  const suppressed = async (realm: string, content: Content, limit: Limit): Promise<Outcome> => {
    onSuppressed(realm, limit)
    const how = `suppressed: the limit of messages per ${limit} is reached`
    await recorder.append([], [eventOf(realm, content, 'FAILURE', how)])
    return { kind: 'done', result: { suppressed: limit } }
  }

  const attempt = async (
    view: RealmView,
    content: Addressed,
    job: Pick<Job, 'id' | 'attempt'>,
  ): Promise<Outcome> => {
    const { realm } = view
    const reached = await limitOf(view, content, job.attempt)
    if (reached) return suppressed(realm, content, reached.limit)
    try {
      const { cause: _, ...delivery } = content
      const outcome = await messaging.send({ ...delivery, view, id: job.id })
      return outcome.status === 'sent'
        ? await sent(realm, content, outcome.driver)
        : await givenUp(realm, content, outcome.reason)
    } catch (error) {
      if (!(error instanceof DeliveryError)) throw error
      return error.retryable
        ? { kind: 'retry', reason: error.reason }
        : givenUp(realm, content, error.reason)
    }
  }

  return {
    statements: ({ realm, user, expiresAt, ...letter }) => {
      const content: Content = {
        ...letter,
        user: user ? shownUser(user) : { username: letter.to ?? '' },
        userId: user?.id,
      }
      const target = user?.id ?? addressLane(realm, letter.to ?? randomToken())
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
      run: async (job) => {
        const view = job.realm === null ? undefined : await copy.fresh(job.realm)
        if (!view) return { kind: 'dead', reason: 'the realm is gone' }
        const content = contentOf(view.realm, job)
        if (!isAddressed(content)) return { kind: 'done' }
        return job.payload.expiresAt <= clock.now()
          ? givenUp(view.realm, content, 'it came too late')
          : attempt(view, content, job)
      },
      dead: async (job, reason) => {
        const { realm } = job
        if (realm !== null) await givenUp(realm, contentOf(realm, job), reason)
      },
    },
  }
}
