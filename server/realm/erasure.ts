/**
 * Erasure of a person (GDPR article 17): everything that hangs on the user goes with the user; what else could name them
 * goes here. The audit trail stays, with an id in it that means nothing any more: what was personal in it is sealed under
 * a key that is destroyed. It cannot be undone, by a rollback either: history forgets the user too.
 */

import type { PersonalKeys } from '#server/audit/personal-keys.ts'
import { forgetGuards, guardSubjectsOf } from '#server/credentials/guessing/guard-rows.ts'
import { deleteJobsFor } from '#server/jobs/store.ts'
import { forgetNamesOf } from '#server/sessions/saml-sessions.ts'
import { forgetClientsOf } from '#server/sessions/session-clients.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { forgetChanges } from '#server/storage/documents/changes.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { addressLane, messageQueue } from '#server/users/messages/post.ts'
import { deleteInvitationsTo } from '#server/users/organizations/invitations.ts'
import { forgetOwner } from './erased-owners.ts'

export interface ErasureParts {
  readonly storage: Storage
  readonly personalKeys: Pick<PersonalKeys, 'destroyPersonalKey'>
  /** The names under which receivers of security events follow the person. */
  readonly forgetFollowed: (view: RealmView, user: UserRow) => Promise<Statement>
}

/** Beside the deletion of the user itself. */
export const erasureStatements = async (
  { storage, personalKeys, forgetFollowed }: ErasureParts,
  view: RealmView,
  user: UserRow,
): Promise<Statement[]> => {
  const { id, realm, username, email, email_key } = user
  const { db } = storage
  return [
    ...personalKeys.destroyPersonalKey(realm, id),
    deleteJobsFor(storage, messageQueue, [
      id,
      ...(email === null ? [] : [addressLane(realm, email)]),
    ]),
    deleteInvitationsTo(storage, realm, email_key ?? ''),
    forgetGuards(storage, realm, guardSubjectsOf(id, [username, email ?? username])),
    forgetNamesOf(storage, id),
    forgetClientsOf(storage, id),
    statement(db.deleteFrom('revision_operations').where('document_id', '=', id)),
    ...(await forgetOwner(storage, user)),
    await forgetFollowed(view, user),
    // Both hold keys of documents.
    forgetChanges(storage, realm),
    statement(db.deleteFrom('idempotency_keys').where('realm', '=', realm)),
  ]
}
