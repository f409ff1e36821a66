/**
 * Messages to users: the template in the user's language, through the first provider of the channel that takes it. To have
 * no provider is an outcome that callers ask for beforehand (`ready`); a message that no provider took is a DeliveryError,
 * which says whether a later attempt may do better, so that a queue can decide.
 */

import type { Channel } from '#schemas/drivers/messaging.ts'
import { newId } from '#server/platform/ids.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { requireSettings } from '#server/storage/documents/settings.ts'
import { DeliveryError, type DriverTools, type Message, type Provider } from './driver.ts'
import { createDrivers } from './drivers/index.ts'
import { createLogDriver } from './drivers/log.ts'
import { providersOf, type Reveal } from './providers.ts'
import { maskedRecipient, oneLine, recipientOf, recipientProblem } from './recipients.ts'
import {
  channelOf,
  findTemplate,
  localesFor,
  type MessageUser,
  type Rendered,
  render,
  type Template,
  type Values,
  valuesFor,
} from './templates.ts'

export interface MessagingParts extends DriverTools {
  readonly logger: Logger
  readonly reveal: Reveal
  /** Whether messages that no enabled provider could take are written to the log, as `iamctl dev` wants it. */
  readonly logMessages: boolean
  /** How long one provider may take before the next one is tried. */
  readonly patienceMs?: number | undefined
}

export interface Recipient {
  readonly channel: Channel
  /** An email address, a phone number (E.164) or the token of a device. */
  readonly to: string
  /** Only providers of this driver: the token of a device belongs to one. */
  readonly driver?: string | undefined
}

export interface Delivery extends Recipient {
  readonly view: RealmView
  readonly templateKey: string
  readonly values: Values
  readonly user?: MessageUser | undefined
  /** Before the user's own `locale` attribute: the language of the page that the user sees, say. */
  readonly locale?: string | undefined
  /** The same for every attempt of one message; generated if not given. */
  readonly id?: string | undefined
  /** Data for the app beside the text of a push message. */
  readonly data?: Readonly<Record<string, string>> | undefined
}

export interface PreviewRequest {
  readonly view: RealmView
  readonly templateKey: string
  readonly channel?: Channel | undefined
  readonly locale?: string | undefined
  readonly sample: Values
}

export type Outcome =
  | { readonly status: 'sent'; readonly driver: string; readonly messageId: string }
  /** Nothing is configured that could send it, or the realm has switched the message off. */
  | { readonly status: 'inert'; readonly reason: string }

export interface Sendable extends Omit<Recipient, 'to'> {
  readonly templateKey?: string | undefined
}

export type Readiness =
  | { readonly ready: true }
  | { readonly ready: false; readonly reason: string }

export interface Messaging {
  /** Whether a message could leave: by the channel, and this message where its template is named. */
  ready(view: RealmView, message: Sendable): Promise<Readiness>
  /** Throws a DeliveryError. */
  send(delivery: Delivery): Promise<Outcome>
  /** A fixed text, also through a provider that is not enabled where its driver is named. Throws a DeliveryError. */
  test(view: RealmView, recipient: Recipient): Promise<Outcome>
  /** Null where there is no such template. */
  preview(request: PreviewRequest): Promise<Rendered | null>
  close(): void
}

type Candidates =
  | { readonly providers: readonly [Provider, ...Provider[]] }
  | { readonly reason: string }

/** A queue holds a message for a minute: all providers of a channel must have had their turn by then. */
const usualPatienceMs = 20_000

const inTime = async <T>(work: Promise<T>, milliseconds: number): Promise<T> => {
  const late = Promise.withResolvers<never>()
  const error = new DeliveryError('no answer in time', { retryable: true })
  const timer = setTimeout(() => late.reject(error), milliseconds)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** The text of a message, or why there is none. */
const writtenIn = async (
  view: RealmView,
  templateKey: string,
  channel: Channel,
  locales: readonly string[],
): Promise<{ readonly template: Template } | { readonly reason: string }> => {
  const template = await findTemplate(view, templateKey, channel, locales)
  if (template?.enabled) return { template }
  const what = template ? 'is not enabled' : 'does not exist'
  return { reason: `the template ${templateKey} for ${channel} ${what}` }
}

const nameOf = ({ channel, driver }: Provider): string => `${channel}/${driver}`

export const openMessaging = (parts: MessagingParts): Messaging => {
  const { logger, reveal, logMessages, patienceMs = usualPatienceMs } = parts
  const drivers = new Map(createDrivers(parts))
  if (logMessages) drivers.set('log', createLogDriver(logger))

  const lackOf = (provider: Provider): string | undefined => {
    const lack = drivers.get(provider.driver)?.lacks(provider)
    return lack === undefined ? undefined : `${nameOf(provider)} has no ${lack}`
  }

  /** Those that can be used, or why there is none; one that is named may be tried before it is enabled. */
  const candidates = async (
    view: RealmView,
    { channel, driver }: Omit<Recipient, 'to'>,
    { alsoDisabled = false } = {},
  ): Promise<Candidates> => {
    const all = await providersOf(view, channel, reveal)
    const wanted = all.filter(
      (provider) =>
        (provider.enabled || alsoDisabled) && (driver === undefined || provider.driver === driver),
    )
    const [first, ...others] = wanted.filter((provider) => lackOf(provider) === undefined)
    if (first !== undefined) return { providers: [first, ...others] }
    const lacks = wanted.flatMap((provider) => lackOf(provider) ?? [])
    if (lacks.length > 0) return { reason: lacks.join('; ') }
    if (logMessages && !alsoDisabled) return { providers: [logProvider(view.realm, channel)] }
    const what = driver === undefined ? channel : `${channel}/${driver}`
    return {
      reason:
        all.length === 0
          ? `the realm has no messaging provider for ${what}`
          : `no messaging provider for ${what} is enabled`,
    }
  }

  /** The first that takes it. */
  const deliver = async (
    providers: readonly [Provider, ...Provider[]],
    { channel, to }: Recipient,
    message: Message,
  ): Promise<Outcome> => {
    const problem = recipientProblem(channel, to)
    if (problem !== undefined) throw new DeliveryError(`the recipient ${problem}`)
    const recipient = recipientOf(channel, to)
    const failures: DeliveryError[] = []
    for (const provider of providers) {
      const driver = drivers.get(provider.driver)
      try {
        if (!driver) throw new DeliveryError('there is no such driver')
        const taken = await inTime(driver.send(recipient, message, provider), patienceMs)
        return { status: 'sent', driver: driver.name, ...taken }
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error
        const { reason, retryable, gone } = error
        failures.push(new DeliveryError(`${nameOf(provider)}: ${reason}`, { retryable, gone }))
        logger.warn(
          {
            realm: provider.realm,
            provider: nameOf(provider),
            to: maskedRecipient(channel, recipient),
            reason,
            retryable,
          },
          'a message was not taken',
        )
      }
    }
    throw new DeliveryError(failures.map(({ reason }) => reason).join('; '), {
      retryable: failures.some(({ retryable }) => retryable),
      gone: failures.every(({ gone }) => gone),
    })
  }

  return {
    async ready(view, { templateKey, ...recipient }) {
      const found = await candidates(view, recipient)
      if ('reason' in found) return { ready: false, reason: found.reason }
      if (templateKey === undefined) return { ready: true }
      const locales = localesFor(await requireSettings(view), undefined)
      const written = await writtenIn(view, templateKey, recipient.channel, locales)
      return 'reason' in written ? { ready: false, reason: written.reason } : { ready: true }
    },

    async send(delivery) {
      const { view, templateKey, channel, user, values } = delivery
      const found = await candidates(view, delivery)
      if ('reason' in found) return { status: 'inert', reason: found.reason }
      const settings = await requireSettings(view)
      const wanted = delivery.locale ?? user?.attributes?.['locale']?.[0]
      const locales = localesFor(settings, wanted)
      const written = await writtenIn(view, templateKey, channel, locales)
      if ('reason' in written) return { status: 'inert', reason: written.reason }
      const { template } = written
      const meaning = valuesFor(settings.displayName || view.realm, user, values)
      const message: Message = {
        id: delivery.id ?? newId(),
        ...render(template, (name) => meaning(name) ?? ''),
        data: delivery.data,
      }
      return deliver(found.providers, delivery, message)
    },

    async test(view, recipient) {
      const alsoDisabled = recipient.driver !== undefined
      const found = await candidates(view, recipient, { alsoDisabled })
      if ('reason' in found) return { status: 'inert', reason: found.reason }
      const { displayName } = await requireSettings(view)
      const realm = oneLine(displayName || view.realm)
      const message = { subject: `Test from ${realm}`, text: `A test message from ${realm}.\n` }
      return deliver(found.providers, recipient, { id: newId(), ...message })
    },

    async preview({ view, templateKey, channel, locale, sample }) {
      const way = channel ?? (await channelOf(view, templateKey))
      if (way === undefined) return null
      const settings = await requireSettings(view)
      const locales = localesFor(settings, locale)
      const template = await findTemplate(view, templateKey, way, locales)
      if (!template) return null
      return render(template, (name) =>
        Object.hasOwn(sample, name)
          ? sample[name]
          : name === 'realm'
            ? settings.displayName || view.realm
            : undefined,
      )
    },

    close() {
      for (const driver of drivers.values()) driver.close?.()
    },
  }
}

const logProvider = (realm: string, channel: Channel): Provider => ({
  id: 'log',
  realm,
  version: 0,
  channel,
  driver: 'log',
  config: {},
})
