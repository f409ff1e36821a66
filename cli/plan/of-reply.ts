/** What the server tells about a change of a realm (a dry run, a revision), as a plan, so that it is shown like one. */

import type { FieldChange } from '#schemas/diff.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { compact } from '#schemas/normalize.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { ChangesetChange, ChangesetReply } from '#schemas/wire.ts'
import manifest from '../../package.json' with { type: 'json' }
import { type Change, type Plan, type RealmPlan, summaryOf } from './plan.ts'

/** Of a document that comes or goes the fields are its members, each as a whole. */
const wholeOf = (kind: string, fields: readonly FieldChange[], side: 'before' | 'after'): Doc =>
  compact(
    kindNamed(kind),
    Object.fromEntries(
      fields.flatMap((field) =>
        field.change === 'set' && side in field ? [[field.pointer.slice(1), field[side]]] : [],
      ),
    ),
  )

const changeOf = ({ op, kind, key, from, fields, secrets }: ChangesetChange): Change => ({
  action: op,
  kind,
  key,
  from: from ?? null,
  before: op === 'delete' ? wholeOf(kind, fields, 'before') : null,
  doc: op === 'create' ? wholeOf(kind, fields, 'after') : null,
  ifHash: null,
  fields: op === 'update' || op === 'rename' ? fields : [],
  secrets: secrets.map((pointer) => ({
    pointer,
    change: op === 'create' ? 'set' : 'changed',
    source: { from: 'literal', file: '', pointer },
  })),
  protected: { before: false, after: false },
  adopts: false,
  takenFrom: null,
  cascades: [],
  place: null,
  lastChange: null,
})

export const planOfChanges = (
  server: string,
  realm: string,
  changes: readonly ChangesetChange[],
  { revision, impacts }: Pick<ChangesetReply, 'revision' | 'impacts'>,
): Plan => {
  const all = changes.map(changeOf)
  const plan: RealmPlan = {
    realm,
    baseRevision: revision,
    createRealm: false,
    source: '',
    prune: 'none',
    changes: all,
    unmanaged: [],
    unmanagedCount: 0,
    warnings: [],
    problems: [],
    impacts,
    summary: summaryOf(all, false),
  }
  return {
    formatVersion: 1,
    version: manifest.version,
    createdAt: new Date().toISOString(),
    server,
    realms: [plan],
  }
}

export const replyPlan = (server: string, realm: string, reply: ChangesetReply): Plan =>
  planOfChanges(server, realm, reply.changes, reply)
