/**
 * Flags of the server. It reads its own variables, so a flag that is not given stays away; the variable's name, which the
 * help tells, follows from the flag's.
 */

import { type Flag, text, toggle } from '../../invocation/flags.ts'

/** Name, what it takes (nothing: a switch), what it is, and its default. */
type Row = readonly [name: string, value: string, help: string, fallback?: string]

const addressFlags: readonly Row[] = [
  ['host', 'address', 'address to listen on; 0.0.0.0 or :: for all', '127.0.0.1'],
  ['port', 'number', 'port to listen on', '8080'],
  ['base-url', 'url', 'origin that users and clients see', 'http://127.0.0.1:<port>'],
  ['trusted-proxies', 'ranges', 'proxies whose X-Forwarded-For is trusted, separated by commas'],
]

const processFlags: readonly Row[] = [
  ['workers', 'number', 'processes that share the port; more than one needs PostgreSQL', '1'],
  ['log-level', 'level', 'trace, debug, info, warn, error, fatal or silent', 'info'],
  ['log-messages', '', 'also write messages to users to the log, with codes; for local work only'],
  ['tuning-off', 'names', 'performance measures to switch off, separated by commas; for diagnosis'],
  ['exit-with-parent', '', 'stop when standard input ends'],
]

const storageFlags: readonly Row[] = [
  ['database-url', 'url', 'sqlite:PATH or postgres://…', 'sqlite:<data>/iamctl.db'],
  ['data', 'folder', 'folder of the embedded database and its master key', './data'],
  ['master-key-file', 'file', 'file with the master key', '<data>/master.key with SQLite'],
]

const bootstrapFlags: readonly Row[] = [
  ['bootstrap-admin-username', 'name', 'first administrator of an empty database', 'admin'],
  [
    'bootstrap-admin-password-file',
    'file',
    'file with the password of that administrator',
    'a random one, printed once',
  ],
]

const limitFlags: readonly Row[] = [
  ['body-limit', 'bytes', 'largest request body', '1048576'],
  ['changeset-limit', 'bytes', 'largest changeset or import of a realm', '268435456'],
  ['header-limit', 'bytes', 'largest request line and headers together', '16384'],
  ['url-limit', 'bytes', 'longest path and query', '8192'],
  ['headers-timeout', 'seconds', 'time limit for the headers of a request', '15'],
  ['request-timeout', 'seconds', 'time limit for a whole request', '60'],
  ['keep-alive-timeout', 'seconds', 'time an idle connection stays open', '65'],
  [
    'database-wait',
    'seconds',
    'time for which a start waits for PostgreSQL; 0 fails at once',
    '30',
  ],
  [
    'shutdown-delay',
    'seconds',
    'time for which a stopping server still serves, with readiness OUT_OF_SERVICE',
    '0',
  ],
  [
    'shutdown-timeout',
    'seconds',
    'time limit for requests in progress when the server stops',
    '20',
  ],
]

const outsideFlags: readonly Row[] = [
  ['breach-file', 'file', 'breached passwords: sorted lines SHA1:count'],
  [
    'breach-url',
    'url',
    'range API for breached passwords, queried by the first 5 digits of a SHA-1 hash',
  ],
  [
    'outgoing-allow',
    'targets',
    'private ranges or hosts that the server may call, separated by commas',
  ],
  ['outgoing-allow-http', '', 'allow outgoing calls over plain http'],
]

const variableOf = (name: string): string => `IAMCTL_${name.toUpperCase().replaceAll('-', '_')}`

const keyOf = (name: string): string =>
  name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** What the server gets: undefined where the flag is not given. */
type ServerFlag = Flag<string | true | undefined>

const flagsOf = (group: string, rows: readonly Row[]): Record<string, ServerFlag> =>
  Object.fromEntries(
    rows.map(([name, value, help, fallback]) => {
      const extras = fallback === undefined ? { group } : { group, fallback }
      const shown = value === '' ? toggle(help, extras) : text(`<${value}>`, help, extras)
      const read: ServerFlag['read'] = (given) =>
        typeof given === 'string' || given === true ? given : undefined
      return [keyOf(name), { ...shown, variable: variableOf(name), read }]
    }),
  )

export const storageOptions = flagsOf('Storage:', storageFlags)

export const allOptions = {
  ...flagsOf('Address:', addressFlags),
  ...flagsOf('Process:', processFlags),
  ...storageOptions,
  ...flagsOf('First administrator:', bootstrapFlags),
  ...flagsOf('Limits:', limitFlags),
  ...flagsOf('Other services:', outsideFlags),
}

/** Those that were given. */
export const givenOf = (
  values: Readonly<Record<string, unknown>>,
  known: Readonly<Record<string, ServerFlag>> = allOptions,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== undefined && name in known),
  )
