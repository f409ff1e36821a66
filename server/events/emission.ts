/** What of the audit trail is emitted, and where to. Everything is persisted, whatever is emitted (spec part 6). */

import { categories, type EventCategory } from '#schemas/event-types.ts'
import type { AuditSink } from './audit.ts'

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

export const defaultEmission: EmissionConfig = {
  enabled: true,
  transports: ['stdout'],
  httpUrl: '',
  httpConfigured: false,
  authConfigured: false,
  categories: categories.filter((category) => category !== 'SECURITY'),
  timeoutMs: 2000,
}

/** Lets through what is to be emitted. */
export const emitting =
  ({ enabled, categories: wanted }: EmissionConfig, sink: AuditSink): AuditSink =>
  (record) => {
    if (enabled && wanted.includes(record.category)) sink(record)
  }
