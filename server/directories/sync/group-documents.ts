/** Groups of the realm as a sync needs them. `server/realm`, which writes documents, implements the interface. */

import type { AuditEvent } from '#server/audit/event.ts'
import type { Statement } from '#server/storage/contract.ts'

export interface KnownGroup {
  readonly id: string
  readonly name: string
  /** Made at run time, and in no file. */
  readonly isRuntime: boolean
}

export type GroupOperation =
  | { readonly op: 'create'; readonly name: string }
  | { readonly op: 'rename'; readonly from: string; readonly name: string }
  | { readonly op: 'delete'; readonly name: string }

export interface GroupWrite {
  readonly realm: string
  readonly by: Pick<AuditEvent, 'actor' | 'sourceIp' | 'onBehalfOf'>
  readonly operations: readonly GroupOperation[]
  /** Committed with them, given the ids of the created groups by name. */
  readonly alongside: (created: ReadonlyMap<string, string>) => readonly Statement[]
}

export interface GroupDocuments {
  /** Groups without one above them. */
  list(realm: string): Promise<readonly KnownGroup[]>
  write(write: GroupWrite): Promise<void>
}
