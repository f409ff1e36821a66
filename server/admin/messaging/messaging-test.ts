/** POST …/messaging/providers/{channel}/test: sends a test message by the way of every message, and stores nothing. */

import { type Channel, channels, messagingDrivers } from '#schemas/drivers/messaging.ts'
import { MessagingProvider } from '#schemas/kinds/notifications/messaging-provider.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { findPushToken, pushTokenContext } from '#server/credentials/devices/push-tokens.ts'
import { DeliveryError } from '#server/messaging/driver.ts'
import { recipientProblem } from '#server/messaging/recipients.ts'
import type { Messaging, Recipient } from '#server/messaging/sender.ts'
import type { Keyring, SealedValue } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { MessageLimits } from '#server/users/messages/message-limits.ts'
import { type Action, type ActionContext, asChecked, bodyOf } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface MessagingTestParts {
  readonly messaging: Messaging
  readonly storage: Storage
  readonly recorder: Recorder
  readonly keyring: Keyring
  readonly messageLimits: Pick<MessageLimits, 'admit'>
}

/** Enough to get a provider right, too few to write to strangers. */
const perAdministrator = { messages: 10, seconds: 60 } as const

interface TestReply {
  readonly success: boolean
  readonly messageId: string | null
  readonly error: string | null
}

const channelIn = ({ params }: ActionContext): Channel => {
  const channel = channels.find((one) => one === params['channel'])
  if (channel === undefined)
    throw new Problem('not-found', `there is no channel "${params['channel']}"`)
  return channel
}

/** A device that is registered is named by the id of its record; anything else is an address or a token. */
const recipientIn = async (
  { storage, keyring }: MessagingTestParts,
  { realm, body }: ActionContext,
  channel: Channel,
): Promise<Recipient> => {
  const { to = '', driver } = asChecked<{ to?: string; driver?: string }>(body)
  const device = channel === 'PUSH' ? await findPushToken(storage, realm, to) : undefined
  if (!device) return { channel, to, driver }
  const token = keyring.open(
    JSON.parse(device.token) as SealedValue,
    pushTokenContext(realm, device.id),
  )
  return { channel, to: token, driver: device.driver }
}

const attempt = async (work: ReturnType<Messaging['test']>): Promise<TestReply> => {
  try {
    const outcome = await work
    return outcome.status === 'sent'
      ? { success: true, messageId: outcome.messageId, error: null }
      : { success: false, messageId: null, error: outcome.reason }
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error
    return { success: false, messageId: null, error: error.reason }
  }
}

export const testMessaging = (parts: MessagingTestParts): Action => {
  const { messaging, recorder, messageLimits } = parts
  return {
    operationId: 'test-messaging-provider',
    method: 'POST',
    path: '/messaging/providers/:channel/test',
    permission: 'manage-realm',
    resourceType: MessagingProvider.resourceType,
    events: ['ADMIN_ACTION'],
    summary:
      'Sends a test message; the provider that is tried first is that of the lowest priority',
    body: bodyOf(
      {
        to: {
          type: 'string',
          minLength: 1,
          maxLength: 4096,
          description: 'An email address, a phone number (E.164), a device token or the id of one.',
        },
        driver: {
          type: 'string',
          enum: [...new Set(Object.values(messagingDrivers).flat())],
          description: 'Only this one, also if it is not enabled.',
        },
      },
      ['to'],
    ),
    reply: {
      status: 200,
      schema: bodyOf({
        success: { type: 'boolean' },
        messageId: { type: ['string', 'null'] },
        error: { type: ['string', 'null'] },
      }),
    },
    handle: async (context) => {
      const { view, realm, caller } = context
      const channel = channelIn(context)
      const recipient = await recipientIn(parts, context, channel)
      const problem = recipientProblem(channel, recipient.to)
      if (problem !== undefined) throw invalid([{ field: '/to', code: 'format', message: problem }])
      await messageLimits.admit(realm, [
        { limit: 'administrator', of: `test:${caller.actor}`, ...perAdministrator },
      ])
      const reply = await attempt(messaging.test(view, recipient))
      const resource = { type: MessagingProvider.resourceType, id: channel }
      const event = actionEvent(context, 'ADMIN_ACTION', resource, reply.error ?? 'test message')
      await recorder.append([], [{ ...event, outcome: reply.success ? 'SUCCESS' : 'FAILURE' }])
      return reply
    },
  }
}
