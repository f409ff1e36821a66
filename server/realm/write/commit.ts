/**
 * `commit(effects)`: the one short transaction of a configuration write. It checks the revision and the versions
 * that `decide` saw, writes documents, references, history, the changes log and the audit, and counts up.
 */

import { sql } from 'kysely'
import { User } from '#schemas/kinds/users/user.ts'
import { kindNamed } from '#schemas/registry.ts'
import { beginningOf } from '#schemas/text/storable-text.ts'
import { referencesOf } from '#schemas/walk.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { doneBy } from '#server/http/caller.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { changeStatements } from '#server/storage/documents/changes.ts'
import { rowOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { changeRows, inSlices, insertRows, statement } from '#server/storage/statements.ts'
import type { RevisionOperationRow } from '#server/storage/tables/tables.ts'
import type { Drafts } from './drafts.ts'
import { type Effect, fieldsChangedBy, keyOf } from './effects.ts'
import type { WriteChannel } from './operations.ts'

export interface Commit {
  readonly statements: Statement[]
  readonly events: AuditEvent[]
  /** The revision the realm has afterwards. */
  readonly revision: number
}

export interface CommitContext {
  readonly storage: Storage
  readonly realm: string
  readonly baseRevision: number
  readonly drafts: Drafts
  /** What the kinds write beside their documents. */
  readonly beside: readonly Statement[]
  readonly now: number
  readonly by: ReturnType<typeof doneBy>
  readonly channel: Pick<WriteChannel, 'via' | 'events'>
  readonly message: string | null
  readonly provenance: string | null
}

/** Runtime documents follow their own versions: no revision, no history, no lock on the realm. */
const isConfiguration = ({ before, after }: Effect): boolean =>
  (after ?? before)?.origin !== 'runtime'

export const opOf = ({ before, after }: Effect): RevisionOperationRow['op'] => {
  if (!before) return 'create'
  if (!after) return 'delete'
  return before.key === after.key ? 'update' : 'rename'
}

/** What history keeps of one side; secrets stay sealed. */
const kept = (document: StoredDocument | null): string | null =>
  document &&
  JSON.stringify({
    key: document.key,
    parentId: document.parentId,
    origin: document.origin,
    owner: document.owner,
    protected: document.protected,
    body: document.body,
    secrets: document.secrets,
  })

/** Documents of one kind and depth, of which none is above another, parents first as they come. */
const generations = (documents: readonly StoredDocument[]): StoredDocument[][] => [
  ...Map.groupBy(documents, ({ kind, key }) => `${kind} ${key.split('/').length}`).values(),
]

const removals = ({ storage: { db } }: CommitContext, effects: readonly Effect[]): Statement[] => {
  const written = effects.flatMap(({ before }) => (before ? [before.id] : []))
  const renamed = effects.flatMap(({ before, after }) =>
    before && after && before.key !== after.key ? [before.id] : [],
  )
  const gone = effects.flatMap(({ before, after }) => (before && !after ? [before] : []))
  return [
    ...inSlices(written).map((ids) =>
      statement(db.deleteFrom('document_refs').where('from_id', 'in', ids)),
    ),
    // Keys may be swapped, and what moves away does not go with its old parent: they step aside first. No natural
    // key holds a control character.
    ...inSlices(renamed).map((ids) =>
      statement(
        db
          .updateTable('documents')
          .set({ key: sql<string>`'\u0001' || id`, parent_id: null })
          .where('id', 'in', ids),
      ),
    ),
    // Deepest first, so that no parent takes a guarded child along before its turn.
    ...generations(gone)
      .toReversed()
      .flatMap((documents) => changeRows(db, 'documents', documents)),
  ]
}

const writes = ({ storage: { db } }: CommitContext, effects: readonly Effect[]): Statement[] => {
  const created = effects.flatMap(({ before, after }) => (!before && after ? [rowOf(after)] : []))
  const updated = effects.flatMap(({ before, after }) => {
    if (!before || !after) return []
    const { id, realm: _, kind: __, created_at: ___, ...set } = rowOf(after)
    return [{ id, version: before.version, set }]
  })
  return [...insertRows(db, 'documents', created), ...changeRows(db, 'documents', updated)]
}

const references = (context: CommitContext, effects: readonly Effect[]): Statement[] => {
  const rows = effects.flatMap(({ after }) => {
    if (!after) return []
    const found = referencesOf(kindNamed(after.kind), after.body, after.key).map(
      ({ field, kind, key }) => {
        const target = context.drafts.find(kind, key)
        if (!target)
          throw new Error(`${kind} "${key}" was not gathered for ${after.kind} "${after.key}"`)
        return { from_id: after.id, path: field, to_id: target.id }
      },
    )
    return [...new Map(found.map((row) => [`${row.path}\n${row.to_id}`, row])).values()]
  })
  return insertRows(context.storage.db, 'document_refs', rows)
}

const history = (context: CommitContext, effects: readonly Effect[]): Statement[] => {
  const { realm, baseRevision, storage } = context
  const revision = baseRevision + 1
  return [
    ...insertRows(storage.db, 'revisions', [
      {
        realm,
        revision,
        at: context.now,
        actor: context.by.actor,
        source: context.channel.via,
        message: context.message,
        provenance: context.provenance,
      },
    ]),
    ...insertRows(
      storage.db,
      'revision_operations',
      effects.map((effect, n) => ({
        realm,
        revision,
        n,
        op: opOf(effect),
        kind: effect.draft.kind.kind,
        document_id: effect.draft.id,
        key: keyOf(effect),
        figure: effect.draft.figure ?? null,
        before: kept(effect.before),
        after: kept(effect.after),
      })),
    ),
  ]
}

const adminEvents: NonNullable<WriteChannel['events']> = {
  create: 'ADMIN_CREATE',
  update: 'ADMIN_UPDATE',
  delete: 'ADMIN_DELETE',
}

const eventTypeOf = (
  effect: Effect,
  { events = adminEvents }: CommitContext['channel'],
): EventType => {
  const op = opOf(effect)
  return events[op === 'rename' ? 'update' : op]
}

/** Of a user it is a person's name. */
const formerKey = ({ before, after }: Effect): string | undefined =>
  before && after && before.key !== after.key ? before.key : undefined

const isPerson = ({ draft }: Effect): boolean => draft.kind.kind === User.kind

/** Names what changed and never a value, so that nothing secret or personal can slip in. */
const detailOf = (effect: Effect): string | undefined => {
  const { draft, before, after, prepared } = effect
  if (!before || !after) return undefined
  const fields = fieldsChangedBy(effect).map(({ pointer }) => pointer)
  const secrets = Object.keys(prepared.secrets ?? draft.secrets)
  const former = formerKey(effect)
  const words = [
    ...(former === undefined ? [] : [isPerson(effect) ? 'renamed' : `renamed from ${former}`]),
    ...(before.owner === after.owner ? [] : ['owner']),
    ...(before.protected === after.protected ? [] : ['protected']),
  ]
  return beginningOf([...words, ...new Set([...fields, ...secrets])].join(', '), 1000)
}

const eventOf = (context: CommitContext, effect: Effect, revision?: number): AuditEvent => {
  const detail = detailOf(effect)
  const former = formerKey(effect)
  const { kind, id } = effect.draft
  return {
    type: eventTypeOf(effect, context.channel),
    realm: context.realm,
    ...context.by,
    outcome: 'SUCCESS',
    resourceType: kind.resourceType,
    resourceId: kind.idField === null ? keyOf(effect) : id,
    ...(detail ? { detail } : {}),
    ...(former !== undefined && isPerson(effect) ? { personal: `once ${former}` } : {}),
    ...(revision === undefined ? {} : { revision }),
  }
}

export const commitOf = (effects: readonly Effect[], context: CommitContext): Commit => {
  const { storage, realm, baseRevision } = context
  const { db } = storage
  const configuration = effects.filter(isConfiguration)
  const revises = configuration.length > 0
  const count = db.updateTable('realms').where('name', '=', realm)
  const places = effects.flatMap(({ before, after }) =>
    [before, after].filter((side) => side !== null),
  )
  const announcement = storage.announce(realm)
  const statements = [
    ...(revises
      ? [
          statement(
            count
              .set((eb) => ({ revision: eb('revision', '+', 1), seq: eb('seq', '+', 1) }))
              .where('revision', '=', baseRevision),
            { rows: 1, guard: 'revision' },
          ),
        ]
      : []),
    ...removals(context, effects),
    ...writes(context, effects),
    ...references(context, effects),
    ...context.beside,
    ...(revises
      ? history(context, configuration)
      : [
          statement(
            count.set((eb) => ({ seq: eb('seq', '+', 1) })),
            { rows: 1, guard: 'realm' },
          ),
        ]),
    ...changeStatements(storage, realm, places),
    ...(announcement ? [announcement] : []),
  ]
  const revision = revises ? baseRevision + 1 : baseRevision
  return {
    statements,
    revision,
    // The built-in documents of a new realm are covered by the event of its creation.
    events: effects
      .filter(({ draft }) => !draft.seed)
      .map((effect) => eventOf(context, effect, isConfiguration(effect) ? revision : undefined)),
  }
}
