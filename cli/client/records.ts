/** Records of the admin API that are not documents. */

import type { AdminAccess } from '#schemas/access/admin-access.ts'
import type { Permission } from '#schemas/access/permissions.ts'
import type { ChainFault, EventRecord } from '#schemas/wire/events.ts'

export interface Whoami {
  readonly userId: string
  readonly username: string
  /** The realm of the user, which is the one that was signed in to. */
  readonly realm: string
  /** In the realm that was asked about. */
  readonly permissions: readonly Permission[]
  /** Absent from a server that does not tell. */
  readonly adminAccess?: AdminAccess
}

export interface RealmRecord {
  readonly realm: string
  readonly revision: number
  readonly createdAt: number
}

export interface UserRecord {
  readonly userId: string
  readonly username: string
  readonly email: string | null
  readonly enabled: boolean
  readonly locked: boolean
  readonly [field: string]: unknown
}

export interface EventPage {
  readonly items: readonly EventRecord[]
  readonly before: number | null
  /** The cursor of the next page. */
  readonly next?: number | null
}

/** What the check of a part of the audit trail has found. */
export interface ChainPart {
  readonly blocks: number
  readonly events: number
  readonly unsealed: number | null
  readonly head: { readonly block: number; readonly hash: string; readonly sealedAt: string } | null
  /** The block whose hash was given; null where none has it. */
  readonly knownBlock: number | null
  readonly fault: ChainFault | null
  /** From where the next part goes on. */
  readonly next: number | null
}

export interface EventFilter {
  readonly type?: string
  readonly actor?: string
  readonly outcome?: string
  readonly category?: string
  /** RFC 3339. */
  readonly from?: string
  readonly to?: string
}
