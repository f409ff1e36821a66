/** How far a SCIM target is, and how it differs from the realm. */

export type ScimOp = 'create' | 'adopt' | 'update' | 'deactivate' | 'delete'

/** An attribute of SCIM; complex values as JSON. */
export interface ScimFieldChange {
  readonly field: string
  readonly before: string | boolean | null
  readonly after: string | boolean | null
}

export interface ScimChange {
  readonly op: ScimOp
  readonly kind: 'user' | 'group'
  readonly name: string
  readonly fields: readonly ScimFieldChange[]
}

/** What is different at a target, before it is sent. */
export interface ScimReport {
  readonly dryRun: boolean
  /** Users and groups of the target that were read. */
  readonly compared: number
  readonly created: number
  readonly adopted: number
  readonly updated: number
  /** Deactivated or deleted. */
  readonly removed: number
  /** Users of the target that match no user of the realm; they are left alone. */
  readonly strangers: number
  readonly status: string
  /** The first of them. */
  readonly changes: readonly ScimChange[]
}

export interface ScimFigures {
  /** At the target. */
  readonly known: number
  /** To be sent, also those that failed. */
  readonly waiting: number
  readonly failed: number
}

export interface ScimFailure {
  readonly kind: 'user' | 'group'
  readonly id: string
  /** The username of a user who is still there. */
  readonly name: string
  readonly problem: string
}

export interface ScimStanding {
  readonly enabled: boolean
  readonly users: ScimFigures
  readonly groups: ScimFigures
  /** Removals that the guard keeps back. */
  readonly held: number
  readonly lastSyncAt: number | null
  readonly lastError: string | null
  /** When the target is tried again after a failure. */
  readonly nextAttemptAt: number | null
  /** The first of them. */
  readonly failures: readonly ScimFailure[]
}
