/**
 * The emission of audit events: the configuration of the server, and the copy of it on every node. All events are
 * persisted, and stdout is always on: `enabled` is for the HTTP forwarder, `categories` for both.
 */

import { categories, type EventCategory } from '#schemas/wire/event-types.ts'
import type { Keyring, SealedValue } from '#server/platform/sealing.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { AuditSink } from './audit.ts'

/** The reply. */
export interface EmissionConfig {
  readonly enabled: boolean
  /** Always includes stdout. */
  readonly transports: readonly string[]
  readonly httpUrl: string
  readonly httpConfigured: boolean
  readonly authConfigured: boolean
  readonly categories: readonly EventCategory[]
  readonly timeoutMs: number
}

/** The stored form. */
export interface EmissionSettings {
  readonly enabled: boolean
  /** Empty where nothing is forwarded. */
  readonly httpUrl: string
  /** The value of the Authorization header, or `hmac:` and the secret to sign with. */
  readonly authorization: string | null
  readonly categories: readonly EventCategory[]
  readonly timeoutMs: number
}

export interface Emission {
  /** As this node knows it at this moment. */
  current(): EmissionSettings
  /** As it is in the database. */
  read(): Promise<EmissionSettings>
  /** To be committed with the event that tells of it; `follow` afterwards. */
  replaceStatements(settings: EmissionSettings): Statement[]
  /** Makes this node know what is in the database. */
  follow(): Promise<void>
  close(): void
}

export const defaultEmission: EmissionSettings = {
  enabled: true,
  httpUrl: '',
  authorization: null,
  categories: categories.filter((category) => category !== 'SECURITY'),
  timeoutMs: 2000,
}

/** Channel name of the notification to other nodes; not a valid realm name. */
const channel = 'audit emission'

const rowName = 'server'

export const emissionContext = 'audit-emission/authorization'

export const isForwarding = ({ enabled, httpUrl }: EmissionSettings): boolean =>
  enabled && httpUrl !== ''

export const configOf = (settings: EmissionSettings): EmissionConfig => ({
  enabled: settings.enabled,
  transports: isForwarding(settings) ? ['stdout', 'http'] : ['stdout'],
  httpUrl: settings.httpUrl,
  httpConfigured: settings.httpUrl !== '',
  authConfigured: settings.authorization !== null,
  categories: settings.categories,
  timeoutMs: settings.timeoutMs,
})

export interface EmissionParts {
  readonly storage: Pick<Storage, 'db' | 'announce' | 'subscribe'>
  readonly keyring: Keyring
}

export const createEmission = async ({ storage, keyring }: EmissionParts): Promise<Emission> => {
  const { db } = storage

  const read = async (): Promise<EmissionSettings> => {
    const row = await db
      .selectFrom('audit_emission')
      .selectAll()
      .where('name', '=', rowName)
      .executeTakeFirst()
    if (!row) return defaultEmission
    const sealed = row.auth === null ? null : (JSON.parse(row.auth) as SealedValue)
    return {
      enabled: row.enabled === 1,
      httpUrl: row.http_url,
      authorization: sealed && keyring.open(sealed, emissionContext),
      categories: JSON.parse(row.categories) as EventCategory[],
      timeoutMs: row.timeout_ms,
    }
  }

  let known = await read()
  const follow = async (): Promise<void> => {
    known = await read()
  }
  const unsubscribe = storage.subscribe((name) => {
    // What cannot be read now is read at the next change, or by the forwarder, which does not trust the copy.
    if (name === channel || name === null) follow().catch(() => undefined)
  })

  return {
    current: () => known,
    read,
    follow,
    close: unsubscribe,
    replaceStatements: ({ enabled, httpUrl, authorization, categories: wanted, timeoutMs }) => {
      const values = {
        enabled: enabled ? 1 : 0,
        http_url: httpUrl,
        auth:
          authorization === null
            ? null
            : JSON.stringify(keyring.seal(authorization, emissionContext)),
        categories: JSON.stringify(wanted),
        timeout_ms: timeoutMs,
      }
      const announcement = storage.announce(channel)
      return [
        statement(
          db
            .insertInto('audit_emission')
            .values({ name: rowName, ...values })
            .onConflict((conflict) => conflict.column('name').doUpdateSet(values)),
        ),
        ...(announcement ? [announcement] : []),
      ]
    },
  }
}

/** Returns the events to emit. */
export const emitting =
  (emission: Pick<Emission, 'current'>, sink: AuditSink): AuditSink =>
  (record) => {
    if (emission.current().categories.includes(record.category)) sink(record)
  }
