/** GET …/export: the realm's configuration as one document. */

import { Readable } from 'node:stream'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { isKnown } from '#server/http/etag.ts'
import { mayRead } from '#server/realm/rules/access.ts'
import { type ExportOptions, exportRealm } from '#server/realm/transfer/transfer.ts'
import type { Storage } from '#server/storage/contract.ts'
import { type Action, type ActionContext, bodyOf } from '../action.ts'

const sectionNames = sectionKinds.map(({ section }) => section).join('|')

const query = bodyOf(
  {
    builtIns: {
      type: 'boolean',
      default: false,
      description: 'Also unchanged built-in documents without an owner.',
    },
    users: {
      type: 'string',
      enum: ['managed', 'all'],
      default: 'managed',
      description: 'Whether it includes unmanaged users, without credentials.',
    },
    runtime: {
      type: 'boolean',
      default: false,
      description: 'Also documents made while the realm runs, such as registered clients.',
    },
    ids: { type: 'boolean', default: false, description: 'With the ids of documents.' },
    sections: {
      type: 'string',
      description: 'Names of sections, separated by commas.',
      'x-described': { pattern: `^(?:${sectionNames})(?:,(?:${sectionNames}))*$` },
    },
    history: {
      type: 'boolean',
      default: false,
      description: 'With the last author of each document, and deleted documents.',
    },
    revision: { type: 'integer', minimum: 1, description: 'The realm as it was then.' },
  },
  [],
)

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const number = { type: 'integer' } as const
const byName = (value: JsonSchema): JsonSchema => ({ type: 'object', additionalProperties: value })

export const lastChangeSchema = bodyOf({
  revision: number,
  at: number,
  actor: text,
  actorName: { type: ['string', 'null'] },
  source: text,
  message: { type: ['string', 'null'] },
})

const documentMeta = bodyOf(
  {
    id: text,
    hash: text,
    origin: { type: 'string', enum: ['built-in', 'declared', 'manual', 'runtime'] },
    owner: { type: ['string', 'null'] },
    protected: flag,
    updatedAt: number,
    appliedKey: text,
    lastChange: lastChangeSchema,
  },
  ['hash', 'origin', 'owner', 'protected', 'updatedAt'],
)

/** The sections have the shape of a realm file, with `<field>Set: true` where a secret is stored. */
const reply = {
  type: 'object',
  properties: {
    formatVersion: { type: 'integer', enum: [1] },
    realm: text,
    revision: number,
    meta: bodyOf(
      {
        sections: byName(text),
        documents: byName(byName(documentMeta)),
        omittedSections: { type: 'array', items: text },
        deleted: byName(byName(lastChangeSchema)),
        unmanagedUsers: byName(bodyOf({ id: text, owner: text }, [])),
      },
      ['sections', 'documents', 'omittedSections'],
    ),
  },
  required: ['formatVersion', 'realm', 'revision', 'meta'],
  additionalProperties: true,
}

const sectionsIn = (given: unknown): readonly string[] | null => {
  if (typeof given !== 'string') return null
  const names = given.split(',')
  const unknown = names.filter((name) => !sectionKinds.some(({ section }) => section === name))
  if (unknown.length > 0)
    throw invalid([
      { field: 'sections', code: 'enum', message: `there is no section "${unknown[0]}"` },
    ])
  return names
}

const optionsIn = ({ query: given, caller }: ActionContext): ExportOptions => {
  const { builtIns, users, runtime, ids, history, revision } = given as Omit<
    ExportOptions,
    'sections'
  > & {
    readonly revision?: number
  }
  if (users === 'all' && !mayRead(caller, User))
    throw new Problem('forbidden', `users=all: this needs the permission ${User.permission.read}`)
  if (users === 'all' && revision !== undefined)
    throw invalid([
      { field: 'users', code: 'exclusive', message: 'only managed users have a history' },
    ])
  const sections = sectionsIn(given['sections'])
  return { builtIns, users, runtime, ids, history, sections, revision: revision ?? null }
}

const etagOf = (revision: number): string => `"${revision}"`

export const exportAction = ({ db }: Pick<Storage, 'db'>): Action => ({
  operationId: 'export-realm',
  method: 'GET',
  path: '/export',
  permission: 'per-kind',
  resourceType: 'export',
  summary: "The realm's configuration, in the shape of a realm file",
  query,
  reply: { status: 200, schema: reply },
  handle: async (context) => {
    const { realm, view, caller, request, reply: answer } = context
    const options = optionsIn(context)
    // What users do to themselves, and what is made while the realm runs, moves no revision.
    const unchanged =
      options.users === 'managed' &&
      !options.runtime &&
      isKnown(request.headers['if-none-match'], etagOf(options.revision ?? view.revision))
    if (unchanged && (options.revision ?? 0) <= view.revision)
      return answer
        .code(304)
        .header('etag', etagOf(options.revision ?? view.revision))
        .send()
    const made = await exportRealm(db, realm, caller, options)
    if (!made)
      throw new Problem(
        'not-found',
        options.revision === null
          ? `there is no realm "${realm}"`
          : `realm "${realm}" has no revision ${options.revision}`,
      )
    answer.header('etag', etagOf(made.revision)).type('application/json; charset=utf-8')
    return Readable.from(made.text, { objectMode: false })
  },
})
