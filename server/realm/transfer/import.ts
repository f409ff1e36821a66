/**
 * Imports an export, into the same realm or another: every document of it is put, none is deleted, as one revision. Other
 * parts of the export are ignored, except the ids of users.
 */

import { setImmediate as breathe } from 'node:timers/promises'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import { type Doc, isObject, type JsonSchema, pointerSegment } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { mostManagedUsers, User } from '#schemas/kinds/users/user.ts'
import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import { desiredOf } from '#schemas/realm/desired.ts'
import { flatten, sectionKinds, withoutSecretFlags } from '#schemas/realm/realm-document.ts'
import { childrenOf, kinds } from '#schemas/registry.ts'
import { yamlView } from '#schemas/views.ts'
import { formatVersion, type ImportReply, type MadeSecret } from '#schemas/wire/wire.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Storage } from '#server/storage/contract.ts'
import { replyOf } from '../changesets/changeset-reply.ts'
import { refuseUnlessMayWrite } from '../rules/access.ts'
import { impactsOf } from '../rules/impacts.ts'
import type { Effect } from '../write/effects.ts'
import { type Operation, placeOf, type WriteChannel } from '../write/operations.ts'
import type { Writer } from '../write/write.ts'
import { freeUserIds } from './user-ids.ts'

export interface ImportParts {
  readonly storage: Storage
  readonly writer: Writer
  readonly clock: Clock
}

const channel: WriteChannel = { via: 'import', origin: 'manual', owner: null }

/** The body; entries are checked one by one, so that others have their turn meanwhile. */
export const importBody: JsonSchema = {
  type: 'object',
  properties: {
    formatVersion: { type: 'integer', 'x-described': { enum: [formatVersion] } },
    realm: {
      type: 'string',
      description: 'Where it comes from: this realm, unless `fromRealm` names the other one.',
    },
    revision: { type: 'integer' },
    meta: {
      type: 'object',
      description:
        'Metadata of an export; of it, users that are made get their ids back (`?ids=true`).',
    },
    ...Object.fromEntries(
      sectionKinds.map(({ section, shape, doc }) => [
        section,
        shape === 'singleton'
          ? { type: 'object', description: doc }
          : { type: 'array', items: { type: 'object' }, description: doc },
      ]),
    ),
  },
  required: ['formatVersion'],
  additionalProperties: false,
}

/** How many entries are checked before others get their turn: a few milliseconds. */
const slice = 100

// What an entry leaves out is left to the canonical form.
const ajv = createAjv({ fillDefaults: false })
const validators = new Map(
  sectionKinds.map((kind) => {
    const view = yamlView(kind, kinds)
    const schema = kind.shape === 'tree' ? { ...view, $defs: { [kind.kind]: view } } : view
    return [kind.section, { kind, check: lazyValidator(ajv, schema) }]
  }),
)

/** Takes out what tells that a secret is set, in the entry and below it. */
const withoutFlags = (kind: Kind, entry: unknown): unknown => {
  if (!isObject(entry)) return entry
  const doc: Record<string, unknown> = { ...withoutSecretFlags(kind, entry).doc }
  for (const child of childrenOf(kind)) {
    const below = doc[child.section]
    if (Array.isArray(below)) doc[child.section] = below.map((one) => withoutFlags(child, one))
  }
  return doc
}

const checkVersion = (given: unknown): FieldError[] =>
  given === formatVersion
    ? []
    : [
        {
          field: '/formatVersion',
          code: 'const',
          message: `must be ${formatVersion}, which this server reads`,
        },
      ]

/** The sections alone, checked as those of a file are. */
const sectionsIn = async (body: Doc): Promise<Doc> => {
  const errors = checkVersion(body['formatVersion'])
  const sections: Record<string, unknown> = {}
  let count = 0
  for (const [name, value] of Object.entries(body)) {
    const known = validators.get(name)
    if (!known) continue
    const { kind, check } = known
    const at = `/${pointerSegment(name)}`
    const entries: unknown[] = []
    for (const [i, entry] of [value].flat().entries()) {
      const stripped = withoutFlags(kind, entry)
      entries.push(stripped)
      const place = kind.shape === 'singleton' ? at : `${at}/${i}`
      for (const error of check(stripped))
        errors.push({ ...error, field: `${place}${error.field === '/' ? '' : error.field}` })
      count += 1
      if (count % slice === 0) await breathe()
    }
    sections[name] = kind.shape === 'singleton' ? entries[0] : entries
  }
  if (errors.length > 0) throw invalid(errors.slice(0, 1000))
  return sections
}

/** An operation and the place of its document in the body. */
interface Placed {
  readonly operation: Operation
  readonly pointer: string
}

const operationsIn = async (
  sections: Doc,
  userIds: ReadonlyMap<string, string>,
): Promise<Placed[]> => {
  const { entries } = flatten(sections)
  const errors: FieldError[] = []
  const seen = new Map<string, string>()
  const placed: Placed[] = []
  for (const [i, entry] of entries.entries()) {
    const { kind, key, body, secrets, pointer, renamedFrom } = desiredOf(entry)
    const place = placeOf(kind.kind, key)
    const other = seen.get(place)
    if (other !== undefined)
      errors.push({ field: pointer, code: 'duplicate', message: `is given at ${other} already` })
    if (renamedFrom !== null)
      errors.push({
        field: `${pointer}/renamedFrom`,
        code: 'unknown-field',
        message: 'is for files',
      })
    seen.set(place, pointer)
    placed.push({
      pointer,
      operation: {
        op: 'put',
        kind,
        key,
        doc: body,
        secrets,
        at: `/${i}`,
        ...(kind === User ? { idWhenMade: userIds.get(key) } : {}),
        ...(entry.protected ? { protected: true } : {}),
      },
    })
    if (i % slice === slice - 1) await breathe()
  }
  if (errors.length > 0) throw invalid(errors)
  return placed
}

const refuseTooManyUsers = (sections: Doc): void => {
  const users = sections[User.section]
  if (Array.isArray(users) && users.length > mostManagedUsers)
    throw invalid([
      {
        field: `/${User.section}`,
        code: 'maxItems',
        message: `at most ${mostManagedUsers} users can be declared: bring the others in by POST /users/import`,
      },
    ])
}

/** Errors point into the body, not into the derived list of operations. */
const atTheirPlaces = (error: unknown, placed: readonly Placed[]): unknown => {
  if (!(error instanceof Problem) || error.errors.length === 0) return error
  const errors = error.errors.map((one) => {
    const [, index, field = ''] = /^\/(\d+)(?:\/doc)?(.*)$/s.exec(one.field) ?? []
    const pointer = placed[Number(index)]?.pointer
    return pointer === undefined ? one : { ...one, field: `${pointer}${field}` }
  })
  const detail =
    error.code === 'validation'
      ? errors.map(({ field, message }) => `${field}: ${message}`).join('; ')
      : error.message
  return new Problem(error.code, detail.slice(0, 2000), {
    errors,
    extra: error.extra,
    cause: error,
  })
}

/** A document of another realm is brought in by mistake more often than on purpose. */
const refuseOther = (realm: string, from: unknown, asked: string | undefined): void => {
  if (typeof from !== 'string' || from === realm || from === asked) return
  throw invalid([
    {
      field: '/realm',
      code: 'other-realm',
      message: `the document is of realm "${from.slice(0, 100)}" and this is realm "${realm}": give fromRealm=${from.slice(0, 100)} (iamctl import --from-realm) to import it here`,
    },
  ])
}

/** Secrets generated for documents without one: they are returned once. */
const madeSecretsOf = ({ draft, prepared }: Effect): MadeSecret[] =>
  prepared.answer === undefined
    ? []
    : Object.entries(prepared.secrets ?? {}).map(([pointer, value]) => ({
        kind: draft.kind.kind,
        key: draft.key,
        pointer,
        value,
      }))

export interface ImportRequest {
  readonly dryRun: boolean
  /** The realm of the document, where it is meant to be another one. */
  readonly fromRealm?: string | undefined
}

export const createImport = ({ storage, writer, clock }: ImportParts) => {
  const { db } = storage
  return async (
    realm: string,
    body: Doc,
    caller: Caller,
    { dryRun, fromRealm }: ImportRequest,
  ): Promise<ImportReply> => {
    refuseOther(realm, body['realm'], fromRealm)
    const sections = await sectionsIn(body)
    refuseTooManyUsers(sections)
    const placed = await operationsIn(sections, await freeUserIds(db, realm, body))
    const operations = placed.map(({ operation }) => operation)
    refuseUnlessMayWrite(caller, new Set(operations.map(({ kind }) => kind)))
    const { realm: from, revision: at } = body
    try {
      const { effects, drafts, revision } = await writer.write({
        realm,
        caller,
        channel,
        dryRun,
        operations,
        provenance: {
          ...(typeof from === 'string' ? { realm: from.slice(0, 100) } : {}),
          ...(Number.isSafeInteger(at) ? { revision: String(at) } : {}),
        },
      })
      const impacts = dryRun
        ? await impactsOf(effects, drafts, { db, realm, now: clock.now() })
        : []
      const madeSecrets = dryRun ? [] : effects.flatMap(madeSecretsOf)
      return { ...replyOf(effects, { revision, dryRun }), impacts, madeSecrets }
    } catch (error) {
      throw atTheirPlaces(error, placed)
    }
  }
}
