/** Records of the admin API that are not documents. */

import type { AdminAccess } from '#schemas/access/admin-access.ts'
import type { Permission } from '#schemas/access/permissions.ts'
import type { FieldChange } from '#schemas/diff.ts'

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

export interface UserImportReply {
  readonly added: number
  readonly skipped: number
  readonly overwritten: number
  readonly results: readonly {
    readonly action: 'ADDED' | 'SKIPPED' | 'OVERWRITTEN'
    readonly resourceName: string
    readonly id?: string
  }[]
  /** Roles and groups that users name and the realm does not have. */
  readonly missing: readonly {
    readonly kind: string
    readonly key: string
    readonly users: number
  }[]
}

export interface SessionRecord {
  readonly id: string
  readonly userId: string
  readonly username: string
  readonly ipAddress: string
  readonly start: number
  readonly lastAccess: number
  readonly rememberMe: boolean
  readonly clients: Readonly<Record<string, string>>
}

export interface EventRecord {
  readonly id: string
  readonly ts: string
  readonly category: string
  readonly type: string
  readonly realm: string
  readonly actor: string
  readonly onBehalfOf?: string
  readonly sourceIp: string
  readonly resourceType: string | null
  readonly resourceId: string | null
  readonly outcome: string
  readonly detail: string | null
  /** Where the server lists events, not where it streams them; an older one does not tell. */
  readonly actorName?: string
  readonly onBehalfOfName?: string
  readonly resourceName?: string
  readonly revision?: number
  readonly changes?: {
    readonly fields: readonly FieldChange[]
    readonly secrets: readonly string[]
  }
}

export interface EventPage {
  readonly items: readonly EventRecord[]
  readonly before: number | null
  /** The cursor of the next page. */
  readonly next?: number | null
}

/** Where the audit trail is not what was sealed. */
export interface ChainFault {
  readonly kind: 'changed' | 'removed' | 'inserted' | 'block'
  readonly block: number | null
  readonly eventId: string | null
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

export interface KeyRecord {
  readonly keyId: string
  readonly algorithm: string
  readonly status: 'ACTIVE' | 'NEXT' | 'PASSIVE'
  readonly publicKey: string
  readonly certificate: string
  readonly createdAt: number
  readonly signsFrom: number | null
  readonly rotatedAt: number | null
  readonly [field: string]: unknown
}

/** The secret of a client; null where the realm keeps its hash. */
export interface ClientSecretRecord {
  readonly value: string | null
  readonly secretSet: boolean
  readonly createdAt: number | null
  readonly expiresAt: number | null
}
