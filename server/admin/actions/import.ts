/** POST …/import: an export brought in again. */

import { createImport, type ImportParts, importBody } from '#server/resources/import.ts'
import { type Action, bodyOf } from '../action.ts'
import { changesetReply } from './changesets.ts'

export const importAction = (parts: ImportParts): Action => {
  const bringIn = createImport(parts)
  return {
    operationId: 'import-realm',
    method: 'POST',
    path: '/import',
    permission: 'per-kind',
    resourceType: 'import',
    planning: true,
    events: ['ADMIN_CREATE', 'ADMIN_UPDATE'],
    summary: 'Puts every document of an export as one revision, or tells what that would do',
    query: bodyOf({ dryRun: { type: 'boolean', default: false } }, []),
    body: importBody,
    bodyLimit: 64 * 1024 * 1024,
    reply: { status: 200, schema: changesetReply },
    handle: ({ realm, body, caller, query }) =>
      bringIn(realm, body, caller, { dryRun: query['dryRun'] === true }),
  }
}
