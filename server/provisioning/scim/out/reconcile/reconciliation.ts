/** Input and result of a comparison of a SCIM target with the realm. */

import type { ScimChange } from '#schemas/wire/scim-targets.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { ScimClient } from '../protocol/client.ts'
import type { SentMembers } from '../state/members.ts'
import type { Resources } from '../state/resources.ts'
import type { Standings } from '../state/standings.ts'
import type { ScimTargetInUse } from '../target.ts'

export interface ReconcileParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly jobs: Pick<Jobs, 'askStatements' | 'wake'>
  readonly resources: Resources
  readonly members: SentMembers
  readonly standings: Standings
}

export interface ReconcileRequest {
  readonly view: RealmView
  readonly target: ScimTargetInUse
  readonly client: ScimClient
  readonly dryRun: boolean
  readonly allowRemovals?: number | undefined
}

/** A difference, and what is known of the target from now on, so that the run sends the rest. */
export interface Difference {
  /** Of the user or group here. */
  readonly id: string
  readonly change: ScimChange
  readonly statements: readonly Statement[]
}
