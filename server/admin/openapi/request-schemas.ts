/**
 * Schemas of requests as far as a reader of the API description can check them. The formats of this server are words that
 * no other program knows: each that a regular expression can tell has a pattern beside it. A few spellings that are accepted as
 * well are left out, such as host names that are not in ASCII. Replies have no patterns: they show values as they were stored.
 */

import { isObject } from '#schemas/json-schema.ts'
import { eventTypes } from '#schemas/wire/event-types.ts'

const control = '\\u0000-\\u001f\\u007f-\\u009f'
const hex = '[0-9A-Fa-f]'
const uuid = `${hex}{8}(?:-${hex}{4}){3}-${hex}{12}`
const nameWithout = (more: string): string =>
  `^(?!${uuid}$)(?!(?:.*[/\\\\])?\\.{1,2}(?:[/\\\\]|$))` +
  `[^\\s${more}${control}](?:[^${more}${control}]*[^\\s${more}${control}])?$`

const label = '[A-Za-z0-9_-]+'
const hostName = `${label}(?:\\.${label})*`
const ipv6 = `(?:(?:${hex}{1,4}:){1,6}|:):(?:${hex}{1,4})?`
const port = '(?::(?:[1-5]?[0-9]{1,4}|6[0-4][0-9]{3}))?'
const authority = `(?:${hostName}|\\[${ipv6}\\])${port}`
const place = `(?:[/?#][^\\s\\\\${control}]*)?`
const placeWithoutFragment = `(?:[/?][^\\s\\\\#${control}]*)?`
const asciiPlace = '(?:[/?][!"$-\\[\\]-~]*)?'
const redirectPlace = '(?:[/?][!"$-)+-\\[\\]-~]*)?'
const privateScheme =
  '(?!(?:https?|ftp|wss?|javascript|data|vbscript|file|blob|about):)[a-z][a-z0-9+.-]*:/[A-Za-z0-9._~/-]*'
const domainLabel = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const ldapUrl = `ldaps?://${authority}/?`
const eventNames = Object.keys(eventTypes)
const eventType = `(?:\\*|${eventNames.join('|')}|(?:${[...new Set(eventNames.map((type) => type.split('_')[0]))].join('|')})_?\\*)`

const patterns: Readonly<Record<string, string>> = {
  name: nameWithout(''),
  segment: nameWithout('/'),
  'child-name': nameWithout('').replace('^', '^(?!.*%2F)'),
  line: `^[^${control}]*$`,
  'realm-name': '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  'web-url': `^https?://${authority}${place}$`,
  'https-url': `^https://${authority}${place}$`,
  'logo-url': `^(?:https://${authority}${place}|data:image/(?:png|jpeg|gif|webp|svg\\+xml);base64,[A-Za-z0-9+/]+={0,2})$`,
  'logout-url': `^https?://${authority}${placeWithoutFragment}$`,
  'resource-indicator': `^https?://${authority}${placeWithoutFragment}$`,
  'resource-uri': `^(?:/[!-~]*|https?://${authority}${place})$`,
  'redirect-uri': `^(?:https?://${authority}${redirectPlace}|${privateScheme})$`,
  'saml-endpoint': `^https?://${authority}${asciiPlace}$`,
  'saml-binding': '^(?:urn:oasis:names:tc:SAML:2\\.0:bindings:)?HTTP-(?:POST|Redirect|Artifact)$',
  'name-id-format':
    '^(?:persistent|transient|email|unspecified|urn:oasis:names:tc:SAML:2\\.0:nameid-format:(?:persistent|transient)|urn:oasis:names:tc:SAML:1\\.1:nameid-format:(?:emailAddress|unspecified))$',
  'ldap-urls': `^${ldapUrl}(?: ${ldapUrl}){0,7}$`,
  'sync-interval': '^(?:[5-9]m|[1-9][0-9]{1,3}m|[1-9][0-9]{0,3}[hd])$',
  origin: `^https?://(?:[a-z0-9_-]+\\.)*[a-z][a-z0-9]*(?::[1-9][0-9]{3})?$`,
  host: `^(?:${hostName}|${ipv6})$`,
  'host-pattern': `^(?:\\*\\.)?${hostName}$`,
  'relying-party': '^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)*$',
  'mail-domain': `^${domainLabel}(?:\\.${domainLabel})+$`,
  email: `^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${domainLabel}(?:\\.${domainLabel})*$`,
  color: '^#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$',
  'event-types': `^${eventType}(?: *, *${eventType})*$`,
  username: `^(?!${uuid}$)[^\\s${control}]+$`,
  'time-span': '^[1-9][0-9]{0,4}[hdw]$',
  'otp-secret': '^(?:[A-Za-z2-7]{8}){4,15}$',
}

/** The part of a document that requests have: with patterns, and with what handlers check themselves (`x-described`). */
export const asRequested = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(asRequested)
  if (!isObject(value)) return value
  const { 'x-described': more, ...schema } = value
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, one]) => [key, asRequested(one)]),
  )
  const described = isObject(more) ? { ...inner, ...more } : inner
  const { format, pattern } = described
  const known = typeof format === 'string' && pattern === undefined ? patterns[format] : undefined
  return known === undefined ? described : { ...described, pattern: known }
}
