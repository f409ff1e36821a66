/**
 * Messages between server and CLI about a whole realm: export, compare, changeset, revisions. The server validates the
 * bodies of the CLI against these schemas.
 */

import Type, { type Static } from 'typebox'
import type { ChangeCounts, Figure } from '../change-counts.ts'
import type { FieldChange } from '../diff.ts'
import type { Doc } from '../json-schema.ts'
import { mapOf } from '../marks.ts'
import { longestRevisionText } from './revision-text.ts'

/** Of exports, changesets and saved plans; another one is refused rather than misread. */
export const formatVersion = 1

/** At most so many operations in one changeset. */
export const mostOperations = 100_000

export type DocumentOrigin = 'built-in' | 'declared' | 'manual' | 'runtime'

/** The last change of a document: its actor, time and channel. */
export interface LastChange {
  readonly revision: number
  readonly at: number
  readonly actor: string
  /** The username, where the actor is a user who still exists. */
  readonly actorName: string | null
  readonly source: string
  readonly message: string | null
}

export interface DocumentMeta {
  readonly id?: string
  readonly hash: string
  readonly origin: DocumentOrigin
  /** The estate that applied it; of what no estate declares, the senders that provision it, such as `scim:entra`. */
  readonly owner: string | null
  readonly protected: boolean
  readonly updatedAt: number
  /** The key that the last apply gave it, where it was renamed by other means since. */
  readonly appliedKey?: string
  /** With `?history=true`. */
  readonly lastChange?: LastChange
}

export interface UnmanagedUserMeta {
  readonly id?: string
  /** The senders that provision the user, such as `scim:entra`. */
  readonly owner?: string
}

/** A realm's configuration: `realm`, the sections of a realm file, and what is known about the documents. */
export interface RealmExport {
  readonly formatVersion: typeof formatVersion
  readonly realm: string
  readonly revision: number
  readonly meta: {
    /** Over all documents of the section that are in this export. */
    readonly sections: Readonly<Record<string, string>>
    /** By kind and key. */
    readonly documents: Readonly<Record<string, Readonly<Record<string, DocumentMeta>>>>
    /** By kind and key, of documents that existed once: with `?history=true`. */
    readonly deleted?: Readonly<Record<string, Readonly<Record<string, LastChange>>>>
    /** Those that the caller may not read: what they hold is not known. Of a list of children, `clients/authzPolicies`. */
    readonly omittedSections?: readonly string[]
    /** By username, with `?users=all`: unmanaged users, which are in the section without being documents. */
    readonly unmanagedUsers?: Readonly<Record<string, UnmanagedUserMeta>>
  }
  readonly [section: string]: unknown
}

const name = Type.String({ minLength: 1, maxLength: 255 })
const hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
const closed = { additionalProperties: false } as const

export const sourceName = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]{0,126}$',
  description: 'Name of the estate, which owns the documents that it applies.',
})

const place = { kind: name, key: Type.String({ minLength: 1, maxLength: 2000 }) }

export const compareRequest = Type.Object(
  {
    source: sourceName,
    sectionHashes: mapOf(hash, {
      description: 'For each section of the files: a hash over its documents.',
    }),
    secrets: Type.Optional(
      Type.Array(Type.Object({ ...place, pointer: name, value: Type.String() }, closed), {
        maxItems: mostOperations,
      }),
    ),
  },
  closed,
)
export type CompareRequest = Static<typeof compareRequest>

export interface Place {
  readonly kind: string
  readonly key: string
}
export interface SecretPlace extends Place {
  readonly pointer: string
}

export interface CompareReply {
  readonly revision: number
  /** Sections that were given, and whose documents owned by the source are others than the files say. */
  readonly differingSections: readonly string[]
  readonly differingSecrets: readonly SecretPlace[]
  /** In the sections that were given: configuration that the source does not own; the first of them, and how many. */
  readonly unmanaged: readonly (Place & { readonly owner: string | null })[]
  readonly unmanagedCount: number
  /** Owned by the source, in sections that were not given. */
  readonly orphaned: readonly Place[]
  readonly orphanedCount: number
  /** Users of the source that a rollback gave back, and that have no credentials since; absent where there are none. */
  readonly withoutCredentials?: readonly Place[]
  /** Clients that registered themselves, in the sections that were given; absent where there are none. */
  readonly registered?: readonly Place[]
  readonly registeredCount?: number
}

const operation = Type.Object(
  {
    op: Type.Unsafe<'put' | 'delete' | 'rename'>({
      type: 'string',
      enum: ['put', 'delete', 'rename'],
    }),
    ...place,
    doc: Type.Optional(
      Type.Unsafe<Doc>({
        type: 'object',
        description: 'Full state, without secrets; of put and rename.',
      }),
    ),
    ifHash: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: 'The content hash it must have now; null: it must not exist.',
      }),
    ),
    from: Type.Optional({ ...place.key, description: 'Of rename: the key it has now.' }),
    secrets: Type.Optional(mapOf(Type.String())),
    protected: Type.Optional(Type.Boolean()),
  },
  closed,
)
export type ChangesetOperation = Static<typeof operation>

/** Everything but the operations; in a body of lines, the first one. */
export const changesetHead = Type.Object(
  {
    formatVersion: Type.Optional(Type.Integer({ minimum: 1, maximum: formatVersion })),
    baseRevision: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    createRealm: Type.Optional(Type.Boolean()),
    message: Type.Optional(Type.String({ maxLength: longestRevisionText })),
    provenance: Type.Optional(
      mapOf(Type.String({ maxLength: longestRevisionText }), {
        propertyNames: { maxLength: 100 },
        maxProperties: 20,
        description: 'Git commit, repository, CI run …',
      }),
    ),
    source: sourceName,
    dryRun: Type.Optional(Type.Boolean()),
    allowUnrelated: Type.Optional(
      Type.Boolean({ description: 'Go on when the realm moved, but none of these documents did.' }),
    ),
    takeOver: Type.Optional(
      Type.Boolean({ description: 'Also write documents that another source owns.' }),
    ),
  },
  closed,
)
export type ChangesetHead = Static<typeof changesetHead>

export const changesetOperation = operation
export const changesetRequest = Type.Object(
  {
    ...changesetHead.properties,
    operations: Type.Array(operation, { maxItems: mostOperations }),
  },
  closed,
)
export type ChangesetRequest = Static<typeof changesetRequest>

/** What a deletion, a lock-out, a narrowing or a rise of privilege reaches beyond the document itself. */
export interface Impact extends Place {
  readonly sessions: number
  readonly users: number
  /** Members of a group or an organization, or holders of a role. */
  readonly members: number
  /** Documents that are changed or deleted along with it. */
  readonly documents: number
  /** A rise of privilege: admin permissions that the document holds afterwards and did not hold before. */
  readonly gains?: readonly string[]
  /** Of an existing user that no file declared before: fields whose values are removed or changed, such as `attributes.title`. */
  readonly replaces?: readonly string[]
}

export interface ChangesetChange extends Place {
  readonly op: 'create' | 'update' | 'rename' | 'delete'
  readonly from?: string
  /** As what it counts; null: it does not. Absent from a server that does not tell it. */
  readonly figure?: Figure | null
  /** What changes; values of secrets are never in it. */
  readonly fields: readonly FieldChange[]
  readonly secrets: readonly string[]
}

export interface ChangesetReply extends ChangeCounts {
  /** The revision afterwards; of a dry run, the one it was decided on. */
  readonly revision: number
  readonly dryRun: boolean
  readonly changes: readonly ChangesetChange[]
  readonly impacts: readonly Impact[]
}

/** A secret that the server made for a document, told once. */
export interface MadeSecret extends Place {
  readonly pointer: string
  readonly value: string
}

export interface ImportReply extends ChangesetReply {
  readonly madeSecrets: readonly MadeSecret[]
}

/** In the problem of a stale changeset: what others did meanwhile. */
export interface Moved extends LastChange {
  readonly changes: readonly (Place & { readonly op: ChangesetChange['op'] })[]
}

export interface RevisionSummary extends LastChange, ChangeCounts {
  readonly provenance: Readonly<Record<string, string>> | null
  /** Changes of kinds that the caller may not read: they are in no other figure. */
  readonly hidden: number
}

export interface RevisionDetail extends RevisionSummary {
  readonly changes: readonly ChangesetChange[]
}

export const rollbackRequest = Type.Object(
  {
    dryRun: Type.Optional(Type.Boolean()),
    message: Type.Optional(Type.String({ maxLength: longestRevisionText })),
    baseRevision: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The revision that the realm must have now.',
      }),
    ),
    secrets: Type.Optional(
      Type.Array(Type.Object({ ...place, pointer: name, value: Type.String() }, closed), {
        maxItems: mostOperations,
        description:
          'Secrets that documents get which come back, such as those that are `missing`.',
      }),
    ),
    dropSecrets: Type.Optional(
      Type.Boolean({
        description:
          'Let stored secrets go whose place changes and that are not given, instead of refusing.',
      }),
    ),
  },
  closed,
)
export type RollbackRequest = Static<typeof rollbackRequest>

/** A secret that a rollback cannot give back. */
export interface MissingSecret extends Place {
  /** The secrets that would do: any one of them. */
  readonly pointers: readonly string[]
  /** `moved`: it would be sent to another place; `not-kept`: credentials of a user, which went with the user. */
  readonly reason: 'moved' | 'not-kept'
}

export interface RollbackReply extends ChangesetReply {
  /** What comes back without its secret, because the request does not give it; absent where nothing is missing. */
  readonly missing?: readonly MissingSecret[]
}
