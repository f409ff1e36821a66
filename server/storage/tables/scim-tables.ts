/** The rows of what SCIM targets have, and of what they have still to get. */

import type { Generated } from 'kysely'

/** A user was made, changed or deleted, or joined or left a group, in a realm that has SCIM targets. */
export interface UserChangeRow {
  id: Generated<number>
  realm: string
  user_id: string
}

export interface ScimTargetRow {
  /** The id of the target's document. */
  target_id: string
  realm: string
  /** Counts up when there is news and when a run begins, so that one waits for the other. */
  turn: number
  /** The version of the document by which all users were looked at; 0 before. */
  version: number
  /** The user up to whom all are marked for that version; null when they all are. */
  marked_after: string | null
  /** Of the names of the groups that were last looked at. */
  groups_mark: string | null
  /** How many removals an administrator has allowed; null: as many as the guard allows. */
  removals_allowed: number | null
  /** Removals that the guard keeps back. */
  held: number
  synced_at: number | null
  error: string | null
  error_at: number | null
  /** The address that the ids of its resources belong to; null before its first run. */
  base_url: string | null
}

/** A user or group as a target has it. */
export interface ScimResourceRow {
  target_id: string
  kind: 'user' | 'group'
  /** The user, or the document of the group. */
  local_id: string
  /** At the target; null: it has none, or that is not known yet. */
  remote_id: string | null
  /** 1: a create was sent, whose answer may have been lost. */
  attempted: number
  /** 1: one of those whom the target should have; 0: deactivated there because it left. */
  present: number
  /** JSON of a digest of each attribute that the target was last sent. */
  sent: string | null
  /** Counts changes; more than `done`: there is something to send. */
  changed: number
  done: number
  /** Not before that time. */
  due_at: number
  failures: number
  error: string | null
}

export interface ScimMemberRow {
  target_id: string
  group_id: string
  user_id: string
}
