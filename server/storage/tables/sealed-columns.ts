/**
 * THE list of columns that hold sealed values, for the rotation of the master key. Each holds JSON text in which
 * `{ kid, v }` objects are at any depth; text that is not a JSON object (a PHC hash in `credentials.secret`, a
 * plain `meta` value) and null are left alone.
 */

import type { Tables } from './tables.ts'

export interface SealedColumn {
  readonly table: keyof Tables
  readonly primaryKey: readonly string[]
  readonly column: string
}

const sealed = <T extends keyof Tables>(
  table: T,
  primaryKey: readonly (keyof Tables[T] & string)[],
  column: keyof Tables[T] & string,
): SealedColumn => ({ table, primaryKey, column })

export const sealedColumns: readonly SealedColumn[] = [
  sealed('meta', ['name'], 'value'),
  sealed('documents', ['id'], 'sealed'),
  sealed('revision_operations', ['realm', 'revision', 'n'], 'before'),
  sealed('revision_operations', ['realm', 'revision', 'n'], 'after'),
  sealed('credentials', ['id'], 'secret'),
  sealed('signing_keys', ['id'], 'private_key'),
  sealed('client_secrets', ['client_id'], 'previous'),
  sealed('webhook_secrets', ['webhook_id'], 'previous'),
  sealed('push_tokens', ['id'], 'token'),
  sealed('federated_links', ['id'], 'tokens'),
  sealed('personal_keys', ['user_id'], 'key'),
  sealed('audit_emission', ['name'], 'auth'),
  sealed('signal_streams', ['id'], 'authorization_header'),
]
