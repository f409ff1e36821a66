/** POST …/revisions/{revision}/rollback: restores an earlier revision, as a new revision. */

import { jsonSchemaOf } from '#schemas/json-schema.ts'
import { type RollbackRequest, rollbackRequest } from '#schemas/wire/wire.ts'
import { createRollback, type RollbackParts } from '#server/realm/history/rollback.ts'
import { type Action, asChecked } from '../action.ts'
import { rollbackReply } from './changesets.ts'
import { revisionIn } from './revisions.ts'

export const rollbackAction = (parts: RollbackParts): Action => {
  const rollback = createRollback(parts)
  return {
    operationId: 'rollback-realm',
    method: 'POST',
    path: '/revisions/:revision/rollback',
    permission: 'per-kind',
    resourceType: 'revisions',
    planning: true,
    events: ['ADMIN_UPDATE', 'ADMIN_CREATE', 'ADMIN_DELETE'],
    summary: 'Makes the configuration equal to a revision, or shows the result with dryRun',
    body: jsonSchemaOf(rollbackRequest),
    reply: { status: 200, schema: rollbackReply },
    handle: ({ realm, caller, params, body }) =>
      rollback(realm, revisionIn(params), caller, asChecked<RollbackRequest>(body)),
  }
}
