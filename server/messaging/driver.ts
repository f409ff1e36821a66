/** The interface of a messaging driver: sends a rendered message through one kind of provider. */

import type { Channel } from '#schemas/drivers/messaging.ts'
import type { MessagingProviderDoc } from '#schemas/kinds/notifications/messaging-provider.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'

/** Rendered; every line that becomes a header or a title is one line. */
export interface Message {
  /** The same when the message is sent again, so that the receiver can detect duplicates. */
  readonly id: string
  readonly subject: string
  readonly text: string
  /** Of mails alone. */
  readonly html?: string | undefined
  /** Push messages only: data for the app beside the text. */
  readonly data?: Readonly<Record<string, string>> | undefined
}

/** A provider as a driver sees it. */
export interface Provider extends Pick<MessagingProviderDoc, 'channel' | 'driver' | 'config'> {
  readonly id: string
  readonly realm: string
  /** Another one after every change. */
  readonly version: number
  readonly fromAddress?: string | undefined
  readonly fromName?: string | undefined
  readonly secret?: string | undefined
}

export interface MessagingDriver {
  readonly name: string
  readonly channels: readonly Channel[]
  /** What a provider cannot be used without and does not have: `fromAddress`. */
  lacks(provider: Provider): string | undefined
  /** Throws a DeliveryError. */
  send(to: string, message: Message, provider: Provider): Promise<{ readonly messageId: string }>
  /** Gives back connections. */
  close?(): void
}

export interface DriverTools {
  readonly outgoing: Outgoing
  readonly clock: Clock
}

/**
 * Why a message was not taken. The reason may be shown to administrators of the realm and may be logged: it holds no
 * secret, no recipient and nothing that the other side said but its codes.
 */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  /** Whether the same message may be taken later. */
  readonly retryable: boolean
  /** The recipient does not exist any more: a device token to forget. */
  readonly gone: boolean

  constructor(reason: string, { retryable = false, gone = false } = {}) {
    super(reason)
    this.retryable = retryable
    this.gone = gone
  }

  get reason(): string {
    return this.message
  }
}

/** The first of some fields that a provider does not have. */
export const firstMissing = (
  provider: Provider,
  fields: readonly ('fromAddress' | 'secret')[],
): string | undefined => fields.find((field) => (provider[field] ?? '') === '')
