/**
 * Compares a target with the realm: reads all that the target has, and says what is different before anything is sent. Without
 * `dryRun` the differences are noted, and the next run sends them: each user as a change of what the target really has. Users of
 * the target that match no user of the realm are counted and left alone.
 */

import type { ScimChange, ScimFieldChange, ScimReport } from '#schemas/wire/scim-targets.ts'
import type { Statement } from '#server/storage/contract.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { ScimResourceRow } from '#server/storage/tables/scim-tables.ts'
import { userIdsAfter } from '#server/users/user-rows.ts'
import { type Digests, digestsOf } from '../digests.ts'
import { heldReason, removalLimit } from '../guard.ts'
import { isElsewhere } from '../mark-changes.ts'
import { allUsersOf } from '../protocol/all-of.ts'
import type { RemoteResource } from '../protocol/client.ts'
import type { Profile } from '../protocol/profiles.ts'
import { scimQueue } from '../run.ts'
import { type MatchedBy, matchedBy } from '../send-user.ts'
import type { Resources } from '../state/resources.ts'
import type { ScimTargetInUse } from '../target.ts'
import { changesSince, observedIn, type ScimAttributes } from '../user-resource.ts'
import { type Wanted, wantedOf } from '../wanted.ts'
import { compareGroups } from './reconcile-groups.ts'
import type { Difference, ReconcileParts, ReconcileRequest } from './reconciliation.ts'

/** More would be removed than is allowed; nothing was changed. */
export class RemovalsRefused extends Error {
  override readonly name = 'RemovalsRefused'
}

const mostListed = 1000
const localPage = 500
const partSize = 500

const shown = (value: unknown): string | boolean | null => {
  if (value === undefined || value === null) return null
  return typeof value === 'string' || typeof value === 'boolean' ? value : JSON.stringify(value)
}

const fieldsOf = (
  observed: ScimAttributes,
  wanted: ScimAttributes,
  { isChangeable }: Profile,
): ScimFieldChange[] =>
  changesSince(digestsOf(observed), wanted)
    .filter(({ path }) => isChangeable(path))
    .map(({ path }) => ({
      field: path,
      before: shown(observed[path]),
      after: shown(wanted[path]),
    }))

/** The users of a target, by what they are found by. */
const indexOf = (remote: readonly RemoteResource[], { attribute }: MatchedBy) => ({
  byId: new Map(remote.map((one) => [one.id, one])),
  byMatch: new Map(
    remote.flatMap((one) => {
      const value = one[attribute]
      return typeof value === 'string' ? [[value.toLowerCase(), one] as const] : []
    }),
  ),
})

export const createReconcile = (parts: ReconcileParts) => {
  const { storage, jobs, resources, members, standings } = parts

  const compareUsers = async (
    request: ReconcileRequest,
    remote: readonly RemoteResource[],
    known: Pick<Resources, 'all'>,
  ) => {
    const { view, target } = request
    const { id: targetId, doc } = target
    const by = matchedBy(target, doc.matchOn)
    const { byId, byMatch } = indexOf(remote, by)
    const rows = new Map((await known.all(targetId, 'user')).map((row) => [row.local_id, row]))
    const taken = new Set([...rows.values()].flatMap(({ remote_id }) => remote_id ?? []))
    const differences: Difference[] = []
    const stood = new Set<string>()

    const noteOf = (row: ScimResourceRow, remoteId: string | null, sent: Digests): Statement[] => [
      resources.change(row, { remote_id: remoteId, sent: JSON.stringify(sent) }),
    ]

    const difference = (id: string, wanted: Wanted): Difference | undefined => {
      const row = rows.get(id)
      const own = row?.remote_id ? byId.get(row.remote_id) : undefined
      const name = wanted.user?.username ?? String(own?.['userName'] ?? id)
      if (wanted.kind === 'gone') {
        if (!own || !row) return undefined
        stood.add(own.id)
        if (doc.deprovision === 'deactivate' && own['active'] === false) return undefined
        const op = doc.deprovision === 'delete' ? 'delete' : 'deactivate'
        const statements = [resources.change(row, { present: 1, sent: null })]
        return { id, change: { op, kind: 'user', name, fields: [] }, statements }
      }
      const { attributes } = wanted
      const match = attributes[by.value]
      const found =
        own ?? (typeof match === 'string' ? byMatch.get(match.toLowerCase()) : undefined)
      const isAdopted = found !== undefined && found !== own
      if (isAdopted && taken.has(found.id)) return undefined
      if (!found) {
        if (attributes['active'] === false) return undefined
        const statements = row ? noteOf(row, null, {}) : []
        return { id, change: { op: 'create', kind: 'user', name, fields: [] }, statements }
      }
      stood.add(found.id)
      const observed = observedIn(found, attributes)
      const fields = fieldsOf(observed, attributes, target.profile)
      if (fields.length === 0 && !isAdopted) return undefined
      const isOut = attributes['active'] === false && observed['active'] !== false
      const op = isOut ? 'deactivate' : isAdopted ? 'adopt' : 'update'
      return {
        id,
        change: { op, kind: 'user', name, fields },
        statements: row && own ? noteOf(row, own.id, digestsOf(observed)) : [],
      }
    }

    const compare = async (ids: readonly string[]): Promise<void> => {
      for (const [id, wanted] of await wantedOf({ storage, view, target }, ids)) {
        const found = difference(id, wanted)
        if (found) differences.push(found)
      }
    }

    for (let after = ''; ; ) {
      const ids = await userIdsAfter(storage, target.realm, after, localPage)
      await compare(ids)
      for (const id of ids) rows.delete(id)
      const last = ids.at(-1)
      if (last === undefined || ids.length < localPage) break
      after = last
    }
    // Rows that are left are of users who were deleted here.
    await compareDeleted([...rows.keys()], compare)
    return { differences, strangers: remote.filter(({ id }) => !stood.has(id)).length }
  }

  const noted = ({ id }: ScimTargetInUse, part: readonly Difference[]): Statement[] => [
    ...part.flatMap(({ statements }) => statements),
    ...(['user', 'group'] as const).flatMap((kind) => {
      const own = part.filter(({ change }) => change.kind === kind)
      return resources.mark(
        id,
        kind,
        own.map((one) => one.id),
      )
    }),
  ]

  return async (request: ReconcileRequest): Promise<ScimReport> => {
    const { view, target, client, dryRun, allowRemovals } = request
    const standing = await standings.read(target.id)
    // Rows about another address say nothing of this one.
    const known: Resources =
      standing && isElsewhere(target, standing) ? { ...resources, all: async () => [] } : resources
    const users = target.doc.syncUsers ? await allUsersOf(client, target.profile) : []
    const compared = target.doc.syncUsers
      ? await compareUsers(request, users, known)
      : { differences: [], strangers: 0 }
    const groups = target.sendsGroups
      ? await compareGroups({ storage, resources: known, members, view, target, client })
      : { differences: [], compared: 0 }
    const differences = [...compared.differences, ...groups.differences]
    const count = (...ops: readonly ScimChange['op'][]): number =>
      differences.filter(({ change }) => ops.includes(change.op)).length
    const removedUsers = compared.differences.filter(({ change }) =>
      ['deactivate', 'delete'].includes(change.op),
    ).length
    const { users: figures } = await resources.figures(target.id)
    const limit = removalLimit(figures.known, allowRemovals ?? null)
    if (!dryRun && removedUsers > limit)
      throw new RemovalsRefused(heldReason(removedUsers, limit, target.name))
    if (!dryRun) {
      await storage.commit([standings.turn(target)])
      for (const part of inSlices(differences, partSize)) await storage.commit(noted(target, part))
      await storage.commit([
        standings.change(target.id, { removals_allowed: Math.max(limit, removedUsers), held: 0 }),
        ...jobs.askStatements(
          scimQueue,
          { realm: target.realm, target: target.id, payload: {} },
          { mended: true },
        ),
      ])
      jobs.wake(scimQueue)
    }
    const figuresOf = {
      created: count('create'),
      adopted: count('adopt'),
      updated: count('update'),
      removed: count('deactivate', 'delete'),
    }
    const words = Object.entries(figuresOf).map(([word, n]) => `${n} ${word}`)
    return {
      dryRun,
      compared: users.length + groups.compared,
      ...figuresOf,
      strangers: compared.strangers,
      status: `${dryRun ? 'dry run: ' : ''}${words.join(', ')}`,
      changes: differences.slice(0, mostListed).map(({ change }) => change),
    }
  }
}

const compareDeleted = async (
  ids: readonly string[],
  compare: (ids: readonly string[]) => Promise<void>,
): Promise<void> => {
  for (let at = 0; at < ids.length; at += localPage) await compare(ids.slice(at, at + localPage))
}
