/**
 * Back to an earlier revision, as one changeset like any other: documents that were there come back under the ids they
 * had, those that were not go. Signing keys, credentials and users that no file declares are no configuration and stay;
 * so do the secrets of every document that exists. Secrets that cannot be restored are reported (`missing`).
 */

import { isDeepStrictEqual } from 'node:util'
import type { Kysely } from 'kysely'
import { type Kind, parentKeyOf } from '#schemas/kind.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { compact } from '#schemas/normalize.ts'
import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import type { MissingSecret, RollbackReply, RollbackRequest } from '#schemas/wire/wire.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Clock } from '#server/platform/clock.ts'
import { createPace } from '#server/platform/pace.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import { usersByIds } from '#server/users/user-rows.ts'
import { replyOf } from '../changesets/changeset-reply.ts'
import { movedSince } from '../changesets/moved.ts'
import {
  type ConfigDocument,
  type Configuration,
  configurationAt,
  type FormerConfiguration,
  readConfiguration,
} from '../read/configuration.ts'
import { refuseUnlessMayWrite } from '../rules/access.ts'
import { impactsOf } from '../rules/impacts.ts'
import { validateDocument } from '../rules/validate.ts'
import { mostErrors } from '../write/faults.ts'
import { type Operation, type Put, placeOf, type WriteChannel } from '../write/operations.ts'
import type { Writer } from '../write/write.ts'
import { createdAt, timesWritten } from './history.ts'
import { givenSecrets, kindsOfSecrets, missingOf, movedErrors } from './rollback-secrets.ts'

export interface RollbackParts {
  readonly storage: Storage
  readonly writer: Writer
  readonly clock: Clock
}

const channel: WriteChannel = { via: 'rollback', origin: 'manual', owner: null }

/** Attempts after concurrent writes. */
const rounds = 10

class MovedOnError extends Error {
  override readonly name = 'MovedOnError'
}

/** What is to be, beside what is: `live` is the document that becomes it. */
interface Change {
  readonly kind: Kind
  readonly then: ConfigDocument
  readonly live: ConfigDocument | undefined
}

const immutableIn = ({ spec }: Kind): string[] =>
  Object.entries(spec.properties ?? {}).flatMap(([name, schema]) =>
    schema['x-immutable'] ? [name] : [],
  )

/**
 * The document that is there now and becomes the one of then: the same one, or one that was made under its name since,
 * which keeps its members and sessions so. Below another parent, a namesake is another document: the parents have changed
 * their names, and users who hold the role of one client would hold a role of the other.
 */
const liveOf = (
  then: ConfigDocument,
  present: Configuration,
  byPlace: ReadonlyMap<string, ConfigDocument>,
  former: FormerConfiguration,
): ConfigDocument | undefined => {
  const same = present.documents.get(then.id)
  if (same) return same
  const namesake = byPlace.get(placeOf(then.kind, then.key))
  if (!namesake || former.documents.has(namesake.id)) return undefined
  if (namesake.parentId !== then.parentId) {
    const parentId = then.parentId ?? ''
    const parent = former.documents.get(parentId) ?? former.runtime.get(parentId)
    if (!parent || liveOf(parent, present, byPlace, former)?.id !== namesake.parentId)
      return undefined
  }
  const alike = immutableIn(kindNamed(then.kind)).every((name) =>
    isDeepStrictEqual(namesake.body[name], then.body[name]),
  )
  return alike ? namesake : undefined
}

interface Difference {
  /** Every document that was touched since, also where it is what it was: others may name it differently meanwhile. */
  readonly changes: readonly Change[]
  readonly gone: readonly ConfigDocument[]
}

const differenceOf = (present: Configuration, former: FormerConfiguration): Difference => {
  const byPlace = new Map(
    [...present.documents.values()].map((one) => [placeOf(one.kind, one.key), one]),
  )
  // What lived at run time then has a history by now: it stays configuration, with the value it had.
  const adopted = [...former.runtime.values()].map((one) => ({ ...one, origin: 'manual' as const }))
  const touched = [...former.documents.values(), ...adopted].filter(
    (then) => present.documents.get(then.id) !== then,
  )
  const changes = touched.map((then) => {
    const kind = kindNamed(then.kind)
    return { kind, then, live: liveOf(then, present, byPlace, former) }
  })
  const kept = new Set(changes.flatMap(({ live }) => live?.id ?? []))
  const gone = [...present.documents.values()].filter(
    ({ id }) => !former.documents.has(id) && !former.runtime.has(id) && !kept.has(id),
  )
  return { changes, gone }
}

const isChange = ({ then, live }: Change): boolean =>
  !live ||
  live.key !== then.key ||
  live.hash !== then.hash ||
  live.origin !== then.origin ||
  live.owner !== then.owner ||
  live.protected !== then.protected

/** A user who comes back has no password: what was known of it then must not hide that from the next apply. */
const secretsOf = (kind: Kind, { secrets }: ConfigDocument) => (kind === User ? {} : secrets)

const putOf = (
  { kind, then, live }: Change,
  versions: ReadonlyMap<string, number>,
  given: Readonly<Record<string, string>>,
  missing: readonly MissingSecret[],
): Put => ({
  op: 'put',
  kind,
  key: then.key,
  ...(live ? { id: live.id } : {}),
  doc: compact(kind, then.body),
  secrets: given,
  forget: missing.flatMap(({ reason, pointers }) => (reason === 'moved' ? pointers : [])),
  protected: then.protected,
  stated: true,
  lineage: {
    origin: then.origin,
    owner: then.owner,
    ...(live
      ? {}
      : { id: then.id, secrets: secretsOf(kind, then), version: versions.get(then.id) ?? 0 }),
  },
})

const depth = ({ kind, key }: Put): number => {
  const above = parentKeyOf(kind, key)
  return above === null ? 0 : kind.shape === 'child' ? 100 : above.split('/').length
}

/** A kind may have other rules than it had then. */
const errorsOf = ({ kind, key, doc }: Put): FieldError[] =>
  validateDocument(kind, doc).map((error) => ({
    ...error,
    field: `/${kind.kind}/${key}${error.field}`,
  }))

/** Users that were there before a file named them: they stay, and are no longer declared. */
const releasedAmong = async (
  db: Kysely<Tables>,
  gone: readonly ConfigDocument[],
): Promise<ReadonlySet<string>> => {
  const ids = gone.flatMap(({ kind, id }) => (kind === User.kind ? [id] : []))
  const declared = await createdAt(db, ids)
  const users = await usersByIds({ db }, ids)
  return new Set(
    users.flatMap(({ id, created_at }) => (created_at < (declared.get(id) ?? 0) ? [id] : [])),
  )
}

export const createRollback = ({ storage, writer, clock }: RollbackParts) => {
  const { db } = storage
  const names = kinds.map(({ kind }) => kind)

  const operationsFor = async (
    { revision }: Configuration,
    { changes, gone }: Difference,
    { secrets = [], dropSecrets = false, dryRun = false }: RollbackRequest,
  ): Promise<{ readonly operations: Operation[]; readonly missing: readonly MissingSecret[] }> => {
    const versions = await timesWritten(
      db,
      changes.flatMap(({ live, then }) => (live ? [] : [then.id])),
    )
    const places = new Set(changes.map(({ then }) => placeOf(then.kind, then.key)))
    const given = givenSecrets(secrets, (place) => places.has(place))
    const missing: MissingSecret[] = []
    const puts: Put[] = []
    const errors: FieldError[] = []
    const pace = createPace()
    for (const change of changes) {
      const { kind, then, live } = change
      const own = given.get(placeOf(then.kind, then.key)) ?? {}
      const lacking = missingOf(kind, then, live, own)
      missing.push(...lacking)
      const put = putOf(change, versions, own, lacking)
      puts.push(put)
      errors.push(...errorsOf(put))
      if (pace.over()) await pace.rest()
    }
    if (errors.length > 0)
      throw new Problem('conflict', `documents of revision ${revision} are no longer valid`, {
        errors: errors.slice(0, mostErrors),
      })
    const moved = dryRun || dropSecrets ? [] : movedErrors(missing)
    if (moved.length > 0) throw invalid(moved.slice(0, mostErrors))
    const released = await releasedAmong(db, gone)
    const deletions = gone.map(
      ({ id, kind, key }): Operation => ({
        op: 'delete',
        kind: kindNamed(kind),
        key,
        id,
        ...(released.has(id) ? { release: true } : {}),
      }),
    )
    return { operations: [...puts.sort((a, b) => depth(a) - depth(b)), ...deletions], missing }
  }

  const attempt = async (
    realm: string,
    revision: number,
    caller: Caller,
    request: RollbackRequest,
  ): Promise<RollbackReply> => {
    const { dryRun = false, message, baseRevision } = request
    const moved = async (now: number): Promise<never> => {
      if (baseRevision === undefined) throw new MovedOnError()
      throw new Problem('stale', `the realm is at revision ${now}, not at ${baseRevision}`, {
        extra: { revision: now, moved: await movedSince(db, realm, baseRevision, caller) },
      })
    }
    const present = await readConfiguration(db, realm, names)
    if (!present) throw new Problem('not-found', `there is no realm "${realm}"`)
    if (revision > present.revision)
      throw new Problem('not-found', `realm "${realm}" has no revision ${revision}`)
    if (baseRevision !== undefined && baseRevision !== present.revision)
      await moved(present.revision)
    const former = await configurationAt(db, present, revision, names)
    const difference = differenceOf(present, former)
    refuseUnlessMayWrite(caller, [
      ...difference.changes.filter(isChange).map(({ kind }) => kind),
      ...difference.gone.map(({ kind }) => kindNamed(kind)),
      // A given secret is a write of its document, also where nothing else of the document changes.
      ...kindsOfSecrets(request.secrets),
    ])
    const { operations, missing } = await operationsFor(former, difference, request)
    const outcome = await writer.write({
      realm,
      caller,
      channel,
      dryRun,
      operations,
      base: { revision: present.revision, moved },
      ...(message === undefined ? {} : { message }),
      provenance: { rollbackTo: String(revision) },
    })
    const { effects, drafts } = outcome
    const impacts = dryRun ? await impactsOf(effects, drafts, { db, realm, now: clock.now() }) : []
    const reply = { ...replyOf(effects, { revision: outcome.revision, dryRun }), impacts }
    return missing.length === 0 ? reply : { ...reply, missing }
  }

  return async (
    realm: string,
    revision: number,
    caller: Caller,
    request: RollbackRequest,
  ): Promise<RollbackReply> => {
    for (let round = 1; ; round += 1)
      try {
        return await attempt(realm, revision, caller, request)
      } catch (error) {
        if (!(error instanceof MovedOnError)) throw error
        if (round === rounds)
          throw new Problem('conflict', 'the realm keeps changing; try again', { cause: error })
      }
  }
}
