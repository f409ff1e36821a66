/** POST …/import: writes the documents of an export to a realm. */

import {
  createImport,
  type ImportParts,
  type ImportRequest,
  importBody,
} from '#server/realm/transfer/import.ts'
import { type Action, asChecked, bodyOf } from '../action.ts'
import { importReply } from './changesets.ts'

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
    summary: 'Writes every document of an export as one revision, or shows the result with dryRun',
    query: bodyOf(
      {
        dryRun: { type: 'boolean', default: false },
        fromRealm: {
          type: 'string',
          maxLength: 255,
          description: 'The realm that the document is an export of, where it is another one.',
        },
      },
      [],
    ),
    body: importBody,
    bodyLimit: 64 * 1024 * 1024,
    reply: { status: 200, schema: importReply },
    handle: ({ realm, body, caller, query, reply }) => {
      reply.header('cache-control', 'no-store')
      const { dryRun, fromRealm } = asChecked<ImportRequest>(query)
      return bringIn(realm, body, caller, { dryRun, fromRealm })
    },
  }
}
