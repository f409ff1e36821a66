/** Our string formats, each with the sentence a person reads when a value does not fit. */

import { nameIdFormatOf } from '../drivers/saml.ts'
import { readCertificate } from '../public-keys/certificates.ts'
import { isEventPattern } from '../wire/event-types.ts'
import { documentAddress } from './document-address.ts'
import { milliseconds } from './durations.ts'
import { arePlainRules } from './style-rules.ts'

interface Format {
  readonly test: (value: string) => boolean
  readonly message: string
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const control = /[\u0000-\u001f\u007f-\u009f]/
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** What a path must not hold, however it is encoded: nothing could be addressed by such a name. */
const dotSegment = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/

const isName = (value: string): boolean =>
  !control.test(value) &&
  !uuid.test(value) &&
  !dotSegment.test(value) &&
  value.trim() === value &&
  value.isWellFormed()

const parsed = (value: string): URL | null => (control.test(value) ? null : URL.parse(value))

/** Forms of password hashes that are taken over from elsewhere. What they cost is looked at by the server. */
const passwordHashes = [
  /^\$argon2(?:id|i|d)(?:\$v=\d+)?\$[mtp]=\d+,[mtp]=\d+,[mtp]=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/,
  /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/,
  /^\$pbkdf2(?:-sha(?:1|256|512))?\$(?:i=)?\d+(?:,l=\d+)?\$[A-Za-z0-9+/.]+\$[A-Za-z0-9+/.]+$/,
  /^pbkdf2_sha(?:1|256|512)\$\d+\$[^$\s]+\$[A-Za-z0-9+/]+={0,2}$/,
  /^\$scrypt\$ln=\d+,r=\d+,p=\d+\$[A-Za-z0-9+/.]+\$[A-Za-z0-9+/.]+$/,
]

const reservedRealms = new Set([
  'admin',
  'realms',
  'monitoring',
  'v3',
  'interactive-docs',
  'assets',
  '.well-known',
])

/** Schemes that run code where a browser follows them; compared in lower case, as URL parses them. */
const scriptSchemes = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:'])

const isWeb = (url: URL | null): boolean => url?.protocol === 'http:' || url?.protocol === 'https:'

const isHttps = (value: string): boolean => {
  const url = parsed(value)
  return url?.protocol === 'https:' && url.username === '' && url.password === ''
}

const timeZones = new Set<string>()
const mostTimeZones = 4000

/** What was found is remembered: each look costs 33 kB outside of the heap, and a changeset may name zones by the thousand. */
const isTimeZone = (value: string): boolean => {
  if (timeZones.has(value)) return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: value })
  } catch {
    return false
  }
  if (timeZones.size >= mostTimeZones) timeZones.clear()
  timeZones.add(value)
  return true
}

/** A path or a query of an LDAP URL (RFC 4516) would say what to search; the fields beside it do. */
const isLdapUrl = (value: string): boolean => {
  const url = parsed(value)
  if (!url || !['ldap:', 'ldaps:'].includes(url.protocol) || url.hostname === '') return false
  const rest = `${url.username}${url.password}${url.pathname}${url.search}${url.hash}`
  return rest === '' || rest === '/'
}

const dataPicture = /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/

/** What the server adds to a redirect; an address that holds one already would be answered twice. */
const answered = new Set([
  'code',
  'state',
  'iss',
  'error',
  'error_description',
  'error_uri',
  'access_token',
  'id_token',
  'token_type',
  'expires_in',
  'session_state',
  'response',
])

/** Nothing that a browser, a proxy and a client could read differently (CVE-2024-8883, CVE-2026-9689). */
const isRedirectUri = (value: string): boolean => {
  const url = parsed(value)
  if (url === null || scriptSchemes.has(url.protocol) || !/^[!-~]+$/.test(value)) return false
  if (/[#*\\]/.test(value) || url.username !== '' || url.password !== '') return false
  const hasPlace = isWeb(url)
    ? /^https?:\/\/[^/]/i.test(value)
    : /^[a-z][a-z0-9+.-]*:\//i.test(value)
  return hasPlace && ![...url.searchParams.keys()].some((name) => answered.has(name))
}

/** An address that browsers and service providers cannot read differently: it is compared byte for byte. */
const isSamlEndpoint = (value: string): boolean => {
  const url = parsed(value)
  if (url === null || !/^https?:\/\/[^/]/i.test(value) || !/^[!-~]+$/.test(value)) return false
  return !/[#\\]/.test(value) && url.username === '' && url.password === ''
}

const isHost = (value: string): boolean =>
  /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?$/i.test(value) ||
  /^\[?[0-9a-f]*(?::[0-9a-f.]*){2,}\]?$/i.test(value)

export const formats: Readonly<Record<string, Format>> = {
  name: {
    test: isName,
    message:
      'must be a name: no control characters, no outer spaces, no dot segment, not shaped like a UUID',
  },
  segment: {
    test: (value) => isName(value) && !value.includes('/'),
    message:
      'must be a name without "/", control characters or outer spaces, not "..", not shaped like a UUID',
  },
  'child-name': {
    test: (value) => isName(value) && !value.includes('%2F'),
    message:
      'must be a name without "%2F", control characters or outer spaces, not "..", not shaped like a UUID',
  },
  'realm-name': {
    test: (value) =>
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(value) && !reservedRealms.has(value.toLowerCase()),
    message:
      'must be 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or a digit, and not a reserved word',
  },
  'web-url': {
    test: (value) => isWeb(parsed(value)),
    message: 'must be an absolute http or https URL',
  },
  'logout-url': {
    test: (value) => isWeb(parsed(value)) && !value.includes('#'),
    message:
      'must be an absolute http or https URL without a fragment: leave out "#" and what follows (OIDC Front-Channel Logout §2, Back-Channel Logout §2.2)',
  },
  'logo-url': {
    test: (value) => isHttps(value) || dataPicture.test(value),
    message:
      'must be an absolute https URL, or a data: URL of a PNG, JPEG, GIF, WebP or SVG picture in base64',
  },
  'https-url': {
    test: isHttps,
    message: 'must be an absolute https URL without user name or password in it',
  },
  'resource-indicator': {
    test: (value) => isWeb(parsed(value)) && !value.includes('#'),
    message:
      'must be an absolute http or https URL without a fragment: leave out "#" and what follows (RFC 8707 §2)',
  },
  'resource-uri': {
    test: (value) => /^\/[!-~]*$/.test(value) || (isWeb(parsed(value)) && !/\s/.test(value)),
    message: 'must be a path that begins with "/", or an absolute http or https URL',
  },
  'time-zone': {
    test: isTimeZone,
    message: 'must be a time zone of the IANA database, such as Europe/Amsterdam',
  },
  certificate: {
    test: (value) => readCertificate(value) !== undefined,
    message: 'must be one X.509 certificate, in PEM or as base64 of its DER form',
  },
  'name-id-format': {
    test: (value) => nameIdFormatOf(value) !== undefined,
    message: 'must be persistent, transient, email, unspecified or the URN of one of these formats',
  },
  'saml-endpoint': {
    test: isSamlEndpoint,
    message: 'must be an absolute http or https URL in ASCII without fragment or user name',
  },
  'saml-binding': {
    test: (value) =>
      /^(?:urn:oasis:names:tc:SAML:2\.0:bindings:)?HTTP-(?:POST|Redirect|Artifact)$/.test(value),
    message: 'must be HTTP-POST, HTTP-Redirect, HTTP-Artifact or the URN of one of them',
  },
  'ldap-urls': {
    test: (value) => value.split(' ').length <= 8 && value.split(' ').every(isLdapUrl),
    message:
      'must be an ldap:// or ldaps:// URL without user name, password, path or query, or up to 8 with single spaces between',
  },
  'sync-interval': {
    test: (value) => /^[1-9]\d{0,3}[mhd]$/.test(value) && milliseconds(value) >= 300_000,
    message: 'must be a number of minutes, hours or days, at least 5m',
  },
  'redirect-uri': {
    test: isRedirectUri,
    message:
      'must be an absolute URI in ASCII without fragment, wildcard, user name, script scheme or OAuth parameter',
  },
  origin: {
    test: (value) => {
      const url = parsed(value)
      return isWeb(url) && url?.origin === value && !value.includes('*')
    },
    message: 'must be an origin such as https://shop.example, without path or trailing slash',
  },
  line: {
    test: (value) => !control.test(value) && value.isWellFormed(),
    message: 'must be one line, without control characters',
  },
  host: {
    test: isHost,
    message: 'must be a host name or an address, without port or path',
  },
  'host-pattern': {
    test: (value) => isHost(value.startsWith('*.') ? value.slice(2) : value),
    message: 'must be a host name such as shop.example, or *.shop.example for all below it',
  },
  'metadata-document': {
    test: (value) => documentAddress(value) !== undefined,
    message:
      'must be the client_id of a client with a metadata document: https with a path, in one spelling, such as https://client.example/oauth/client.json',
  },
  'mail-domain': {
    test: (value) =>
      value.length <= 253 &&
      /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/i.test(
        value,
      ),
    message: 'must be a domain such as acme.example; other letters than a to z in the form xn--…',
  },
  // WebAuthn §5.1.2: a domain, of which the origin of the pages is a part; browsers refuse anything else at every ceremony.
  'relying-party': {
    test: (value) =>
      value.length <= 253 &&
      !/^\d+(?:\.\d+){3}$/.test(value) &&
      /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/.test(
        value,
      ),
    message: 'must be a domain such as shop.example, in lower case, without scheme, port and path',
  },
  color: {
    test: (value) => /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(value),
    message: 'must be a colour such as #0a5 or #00aa55',
  },
  css: {
    test: arePlainRules,
    message:
      'must be plain style rules: no "<", no backslash, no @import or @font-face, nothing that loads, such as url() or image-set()',
  },
  'event-types': {
    test: (value) => value.split(',').every((pattern) => isEventPattern(pattern.trim())),
    message:
      'must be event types separated by commas; `*` and prefixes such as ADMIN_* are allowed',
  },
  username: {
    test: (value) => !control.test(value) && !uuid.test(value) && !/\s/.test(value),
    message: 'must be a name without white space or control characters, not shaped like a UUID',
  },
  'time-span': {
    test: (value) => /^[1-9]\d{0,4}[hdw]$/.test(value),
    message: 'must be a number of hours, days or weeks, such as 12h, 90d or 4w',
  },
  'otp-secret': {
    // RFC 4226 §4 asks for 128 bits at least. Base32 has no text of these lengths modulo 8.
    test: (value) => {
      const digits = value.replace(/={1,6}$/, '')
      return /^[A-Z2-7]{26,128}$/i.test(digits) && ![1, 3, 6].includes(digits.length % 8)
    },
    message: 'must be a secret of 16 to 80 bytes in base32',
  },
  'phc-argon2id': {
    test: (value) =>
      /^\$argon2id\$v=19\$m=\d+,(?:t=\d+,p=\d+|p=\d+,t=\d+)\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/.test(
        value,
      ),
    message: 'must be an Argon2id hash in PHC form ($argon2id$v=19$m=…,t=…,p=…$salt$hash)',
  },
  'password-hash': {
    test: (value) => passwordHashes.some((form) => form.test(value)),
    message:
      'must be a hash in PHC form ($argon2id$…, $pbkdf2-sha256$i=…$salt$hash, $scrypt$ln=…,r=…,p=…$salt$hash), of bcrypt ($2b$…) or of Django (pbkdf2_sha256$…)',
  },
}
