/** From a template's key to the text that is sent: which language, whose text, and the values in it. */

import { escapeMarkup } from '#schemas/drivers/gateway-body.ts'
import type { Channel } from '#schemas/drivers/messaging.ts'
import {
  MessageTemplate,
  type MessageTemplateDoc,
} from '#schemas/kinds/notifications/message-template.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { own } from '#schemas/own.ts'
import { fillPlaceholders } from '#schemas/text/placeholders.ts'
import { withoutOverrides } from '#server/platform/language/bidi.ts'
import { dateIn, minutesIn } from '#server/platform/language/dates.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { builtInChannel, builtInText } from './built-in.ts'
import { textOfHtml } from './html-text.ts'
import { oneLine } from './recipients.ts'

/** The fields of the recipient that a template may use. */
export interface MessageUser {
  readonly username: string
  readonly email?: string | null
  readonly firstName?: string | null
  readonly lastName?: string | null
  readonly attributes?: Readonly<Record<string, readonly string[]>>
}

export type Values = Readonly<Record<string, string>>

export interface Template
  extends Pick<MessageTemplateDoc, 'enabled' | 'html' | 'body' | 'subject'> {
  /** The language that it is written in. */
  readonly locale: string
}

export interface Rendered {
  readonly subject: string
  readonly text: string
  readonly html?: string
}

/** Languages to look for, the best first; a realm that lists its languages is not written in another. */
export const localesFor = (
  { supportedLocales, defaultLocale }: SettingsDoc,
  asked: string | undefined,
): readonly string[] => {
  const wanted = asked?.replaceAll('_', '-')
  const language = wanted?.split('-')[0] ?? defaultLocale
  const isSpoken = supportedLocales.length === 0 || supportedLocales.includes(language)
  const own = wanted !== undefined && isSpoken ? [wanted, language] : []
  return [...new Set([...own, defaultLocale, 'en'])]
}

const stored = async (
  view: RealmView,
  key: string,
  channel: Channel,
  locale: string,
): Promise<Template | undefined> => {
  const document = await view.get(MessageTemplate.kind, `${key}/${channel}/${locale}`)
  return document && contentOf<MessageTemplateDoc>(document)
}

/** The texts of the server translate the English document, so they are switched off with it. */
const builtIn = async (
  view: RealmView,
  key: string,
  channel: Channel,
  locale: string,
): Promise<Template | undefined> => {
  const text = builtInText(key, channel, locale)
  if (!text) return undefined
  const english = await stored(view, key, channel, 'en')
  return { html: false, enabled: english?.enabled ?? true, ...text, locale }
}

/** The realm's own text in the best language, else the text of the server, else undefined. */
export const findTemplate = async (
  view: RealmView,
  key: string,
  channel: Channel,
  locales: readonly string[],
): Promise<Template | undefined> => {
  for (const locale of locales) {
    const found =
      (await stored(view, key, channel, locale)) ?? (await builtIn(view, key, channel, locale))
    if (found) return found
  }
  return undefined
}

/** The channel of a key, where it need not be said. */
export const channelOf = async (view: RealmView, key: string): Promise<Channel | undefined> => {
  const documents = await view.list(MessageTemplate.kind)
  const own = documents
    .map((document) => contentOf<MessageTemplateDoc>(document))
    .find(({ templateKey }) => templateKey === key)
  return own?.channel ?? builtInChannel(key)
}

const userValue = (user: MessageUser, attribute: string): string => {
  const fields: Readonly<Record<string, string | null | undefined>> = {
    username: user.username,
    email: user.email,
    firstName: user.firstName,
    lastName: user.lastName,
  }
  return Object.hasOwn(fields, attribute)
    ? oneLine(fields[attribute] ?? '')
    : (own(user.attributes ?? {}, attribute)?.[0] ?? '')
}

/** Mail programs make a link of it: the text of a stranger, in a message with the sender of the realm. */
const hasLink = /[/\\]|www\./i
const hasDomain = /\p{L}\.\p{L}{2}/u

/** How to address the user; nothing rather than a link. A username may be an address. */
const nameFor = ({ firstName, username }: MessageUser): string => {
  if (firstName && !hasLink.test(firstName) && !hasDomain.test(firstName)) return firstName
  return hasLink.test(username) ? '' : username
}

/** The values of placeholders in a message to this user. */
export const valuesFor =
  (realm: string, user: MessageUser | undefined, values: Values) =>
  (name: string): string | undefined => {
    if (Object.hasOwn(values, name)) return values[name]
    if (name === 'realm') return realm
    if (name === 'user') return user ? nameFor(user) : ''
    return user && name.startsWith('user.')
      ? userValue(user, name.slice('user.'.length))
      : undefined
  }

const isInstant = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** What people and applications call themselves, or their browsers: it has no lines of its own. */
const namesOfOthers: ReadonlySet<string> = new Set([
  'user',
  'device',
  'application',
  'organization',
])

/** Values in the words of the template's language. */
const inWords =
  ({ locale }: Template, meaning: (name: string) => string | undefined) =>
  (name: string): string | undefined => {
    const minutes = name === 'duration' ? Number(meaning('ttl') || Number.NaN) : Number.NaN
    if (!Number.isNaN(minutes)) return minutesIn(locale, minutes)
    const value = meaning(name)
    if (value === undefined) return undefined
    if (name === 'time' && isInstant.test(value)) return `${dateIn(locale, Date.parse(value))} UTC`
    return namesOfOthers.has(name) ? withoutOverrides(oneLine(value)) : value
  }

const addressed = /\{\{\s*user\s*\}\}/

/**
 * "Hello {{user}}," to a person without a name. The blanks before the name are no part of the pattern, which would take the
 * square of their number.
 */
const withoutName = (body: string): string => {
  const parts = body.split(addressed)
  const last = parts.pop() ?? ''
  return [...parts.map((part) => part.trimEnd().replace(/,$/, '')), last].join('')
}

/** `meaning` gives undefined for a placeholder that is to stay as it is written. */
export const render = (
  template: Template,
  meaning: (name: string) => string | undefined,
): Rendered => {
  const { subject, html } = template
  const worded = inWords(template, meaning)
  const body = worded('user') === '' ? withoutName(template.body) : template.body
  const escaped = (name: string): string | undefined => {
    const value = worded(name)
    return value === undefined ? undefined : escapeMarkup(value)
  }
  const filled = fillPlaceholders(body, html ? escaped : worded)
  return {
    subject: oneLine(fillPlaceholders(subject ?? '', worded)),
    ...(html ? { html: filled, text: textOfHtml(filled) } : { text: filled }),
  }
}
