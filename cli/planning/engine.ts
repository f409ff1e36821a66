/** The part of the admin API that planning and applying need; the typed client has it. */

import type {
  ChangesetReply,
  ChangesetRequest,
  CompareReply,
  CompareRequest,
  RealmExport,
} from '#schemas/wire/wire.ts'

export interface ExportQuery {
  readonly builtIns?: boolean
  readonly history?: boolean
  readonly ids?: boolean
  /** Also documents that are made while the realm runs. */
  readonly runtime?: boolean
  readonly users?: 'managed' | 'all'
  readonly sections?: readonly string[]
  readonly revision?: number
}

export interface Engine {
  /** Null where there is no such realm. */
  compare(realm: string, request: CompareRequest): Promise<CompareReply | null>
  exportRealm(realm: string, query: ExportQuery): Promise<RealmExport>
  changeset(
    realm: string,
    request: ChangesetRequest,
    options?: { readonly idempotencyKey?: string },
  ): Promise<ChangesetReply>
}
