/** GET …/revisions: the history of a realm's configuration. */

import { Readable } from 'node:stream'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { Problem } from '#schemas/problems.ts'
import type { Vault } from '#server/keys/vault.ts'
import { listRevisions, revisionDetail } from '#server/realm/history/revisions.ts'
import type { Storage } from '#server/storage/contract.ts'
import { type Action, asChecked, bodyOf } from '../action.ts'
import { changeSchema, countsSchema } from './changesets.ts'
import { lastChangeSchema } from './export.ts'

export interface RevisionParts {
  readonly storage: Storage
  readonly vault: Vault
}

const number: JsonSchema = { type: 'integer' }

const summary = {
  ...lastChangeSchema.properties,
  provenance: { type: ['object', 'null'], additionalProperties: { type: 'string' } },
  ...countsSchema,
  hidden: { ...number, description: 'Changes of kinds that the caller may not read.' },
} as const

export const revisionIn = (params: Readonly<Record<string, string>>): number => {
  const given = params['revision'] ?? ''
  if (!/^[1-9]\d{0,14}$/.test(given)) throw new Problem('not-found', 'there is no such revision')
  return Number(given)
}

export const revisionActions = ({ storage: { db }, vault }: RevisionParts): Action[] => [
  {
    operationId: 'list-revisions',
    method: 'GET',
    path: '/revisions',
    permission: 'per-kind',
    resourceType: 'revisions',
    summary: 'Revisions of the configuration, newest first',
    query: bodyOf(
      {
        before: { type: 'integer', minimum: 1, description: 'Only those below this one.' },
        max: { type: 'integer', minimum: 1, maximum: 500, default: 50 },
      },
      [],
    ),
    reply: { status: 200, schema: { type: 'array', items: bodyOf(summary) } },
    handle: ({ realm, caller, query }) => {
      const { before, max } = asChecked<{ before?: number; max: number }>(query)
      return listRevisions(db, realm, caller, { before, max })
    },
  },
  {
    operationId: 'read-revision',
    method: 'GET',
    path: '/revisions/:revision',
    permission: 'per-kind',
    resourceType: 'revisions',
    summary: 'The changes of one revision, field by field',
    reply: {
      status: 200,
      schema: bodyOf({ ...summary, changes: { type: 'array', items: changeSchema } }),
    },
    handle: async ({ realm, caller, params, reply }) => {
      const revision = revisionIn(params)
      const detail = await revisionDetail({ db, vault }, realm, revision, caller)
      if (!detail) throw new Problem('not-found', `realm "${realm}" has no revision ${revision}`)
      reply.type('application/json; charset=utf-8')
      return Readable.from(detail, { objectMode: false })
    },
  },
]
