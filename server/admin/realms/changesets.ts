/** Changesets: many operations on the configuration of a realm, committed together or not at all. */

import { Readable } from 'node:stream'
import { type Figure, figures } from '#schemas/change-counts.ts'
import { type JsonSchema, jsonSchemaOf } from '#schemas/json-schema.ts'
import { Problem } from '#schemas/problems.ts'
import { changesetRequest } from '#schemas/wire/wire.ts'
import { changesetTypes } from '#server/realm/changesets/changeset-body.ts'
import type { Changesets } from '#server/realm/changesets/changesets.ts'
import type { Realms } from '#server/realm/realms.ts'
import { type Action, bodyOf, type RealmlessContext } from '../action.ts'

export interface ChangesetActionParts {
  readonly changesets: Changesets
  readonly realms: Realms
}

const text = { type: 'string' } as const
const number = { type: 'integer' } as const
const texts = { type: 'array', items: text } as const
const place = { kind: text, key: text }

/** The values of a field, of any type. */
const fieldChange: JsonSchema = bodyOf(
  {
    pointer: text,
    change: { type: 'string', enum: ['set', 'add', 'remove'] },
    before: {},
    after: {},
    value: {},
  },
  ['pointer', 'change'],
)

/** Before and after, field by field. */
export const changedMembers = {
  fields: { type: 'array', items: fieldChange },
  secrets: {
    type: 'array',
    items: text,
    description: 'Pointers of secrets that change; never a value.',
  },
} satisfies Readonly<Record<string, JsonSchema>>

/** The outcome of one document. */
export const changeSchema = bodyOf(
  {
    ...place,
    op: { type: 'string', enum: ['create', 'update', 'rename', 'delete'] },
    from: { type: 'string', description: 'Of a rename: the key it had.' },
    figure: {
      type: ['string', 'null'],
      enum: [...figures, null],
      description: 'As what it counts; null: it does not, as every realm is born with it.',
    },
    ...changedMembers,
  },
  ['kind', 'key', 'op', 'fields', 'secrets'],
)

const impact = bodyOf(
  {
    ...place,
    sessions: number,
    users: { type: 'integer', description: 'Users who can no longer sign in.' },
    members: { type: 'integer', description: 'Members or holders.' },
    documents: {
      type: 'integer',
      description: 'Documents that are changed or deleted together with it.',
    },
    gains: { ...texts, description: 'Admin permissions that it did not hold before.' },
    replaces: {
      ...texts,
      description:
        'Of an existing user that no file declared before: fields whose values are removed or changed.',
    },
  },
  ['kind', 'key', 'sessions', 'users', 'members', 'documents'],
)

export const countsSchema = {
  created: number,
  updated: { ...number, description: 'Changed or renamed by what was asked for.' },
  deleted: { ...number, description: 'By name, or along with what they cannot exist without.' },
  adopted: { ...number, description: 'Nothing changed but their owner.' },
  along: {
    ...number,
    description:
      'Changed because of others: a reference or a key follows a rename or a deletion, or a stored secret is hashed.',
  },
} satisfies Record<Figure, JsonSchema>

const replyMembers = {
  revision: {
    type: 'integer',
    description: 'Afterwards; of a dry run, the one it was decided on.',
  },
  dryRun: { type: 'boolean' },
  ...countsSchema,
  changes: { type: 'array', items: changeSchema },
  impacts: {
    type: 'array',
    items: impact,
    description: 'Of a dry run: what deletions and the like reach.',
  },
} satisfies Readonly<Record<string, JsonSchema>>

const changesetReply: JsonSchema = { title: 'changeset-reply', ...bodyOf(replyMembers) }

export const importReply: JsonSchema = {
  title: 'import-reply',
  ...bodyOf({
    ...replyMembers,
    madeSecrets: {
      type: 'array',
      description: 'Secrets generated for new documents, returned once.',
      items: bodyOf({ ...place, pointer: text, value: text }),
    },
  }),
}

export const rollbackReply: JsonSchema = {
  title: 'rollback-reply',
  ...bodyOf(
    {
      ...replyMembers,
      missing: {
        type: 'array',
        description:
          'Documents that come back without a secret, because the request does not give it.',
        items: bodyOf({
          kind: text,
          key: text,
          pointers: { type: 'array', items: text, description: 'Any one of these would do.' },
          reason: {
            type: 'string',
            enum: ['moved', 'not-kept'],
            description:
              'It would be sent to another place, or it is a credential of a user, which went with the user.',
          },
        }),
      },
    },
    Object.keys(replyMembers),
  ),
}

/** A body of no bytes is none at all, whatever the realm. */
const bodyIn = async (
  { request, realm }: RealmlessContext,
  { realms }: ChangesetActionParts,
): Promise<Readable> => {
  if (request.body instanceof Readable) return request.body
  if (!(await realms.find(realm))) throw new Problem('not-found', `there is no realm "${realm}"`)
  throw new Problem('bad-request', 'The body is empty.')
}

export const applyChangeset = (parts: ChangesetActionParts): Action => ({
  operationId: 'apply-changeset',
  method: 'POST',
  path: '/changesets',
  permission: 'per-kind',
  resourceType: 'changesets',
  planning: true,
  events: ['ADMIN_CREATE', 'ADMIN_UPDATE', 'ADMIN_DELETE'],
  summary: 'Applies operations as one revision, or shows the result with dryRun',
  realmOptional: true,
  streams: changesetTypes,
  headers: {
    type: 'object',
    properties: {
      'idempotency-key': {
        type: 'string',
        minLength: 1,
        maxLength: 255,
        pattern: '^[ -~]*$',
        description:
          'Answers the same request again, for a day, as it was answered first, with Idempotency-Replayed: true.',
      },
    },
  },
  body: jsonSchemaOf(changesetRequest),
  reply: { status: 200, schema: changesetReply },
  handle: async (context) => {
    const { realm, caller, request, reply } = context
    const key = request.headers['idempotency-key']
    const answer = await parts.changesets.apply({
      realm,
      caller,
      body: await bodyIn(context, parts),
      type: request.headers['content-type'] ?? '',
      idempotencyKey: typeof key === 'string' ? key : undefined,
    })
    if (answer.replayed) reply.header('idempotency-replayed', 'true')
    return answer.reply
  },
})
