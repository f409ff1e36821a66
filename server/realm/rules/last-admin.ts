/**
 * The master realm keeps at least one administrator who can sign in: otherwise no administrator could be created any more.
 * Checked before a write, so that a dry run reports it too, and again at its end, because two concurrent writes may each
 * rely on the administrator that the other one removes.
 */

import { createClosure } from '#schemas/graph/closure.ts'
import { Group, type GroupDoc } from '#schemas/kinds/users/group.ts'
import { Role, type RoleDoc } from '#schemas/kinds/users/role.ts'
import { User, type UserDoc } from '#schemas/kinds/users/user.ts'
import { Problem } from '#schemas/problems.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { holdSelectedUser } from '#server/users/user-rows.ts'
import type { Effect } from '../write/effects.ts'
import { placeOf } from '../write/operations.ts'

export interface LastAdminParts {
  readonly storage: Pick<Storage, 'db'>
  readonly master: string
}

export interface LastAdmin {
  /** What a write of documents must end with. Throws a 409 where it takes the last administrator away. */
  afterDocuments(
    realm: string,
    effects: readonly Effect[],
    view: () => Promise<RealmView | undefined>,
  ): Promise<Statement[]>
  /**
   * The statements of a write that disables users, or removes a role or group from them, with a guard that an administrator
   * is left. Throws a 409 otherwise.
   */
  aroundData(
    view: RealmView,
    users: readonly UserRow[],
    statements: readonly Statement[],
    taken?: StoredDocument,
  ): Promise<Statement[]>
}

const administers = 'realm-admin'
const pageSize = 100

const granting: readonly string[] = [Role.kind, Group.kind]

/** Roles and groups as they will be. */
const grantsIn = async (
  view: RealmView,
  effects: readonly Effect[] = [],
): Promise<readonly StoredDocument[]> => {
  const superseded = new Set(effects.flatMap(({ before }) => before?.id ?? []))
  const standing = [...(await view.list(Role.kind)), ...(await view.list(Group.kind))]
  return [
    ...standing.filter(({ id }) => !superseded.has(id)),
    ...effects.flatMap(({ after }) => (after && granting.includes(after.kind) ? after : [])),
  ]
}

/** The roles and groups that make their holders administrators. */
const giversAmong = (documents: readonly StoredDocument[]): readonly StoredDocument[] => {
  const byId = new Map(documents.map((one) => [one.id, one]))
  const byPlace = new Map(documents.map((one) => [placeOf(one.kind, one.key), one]))
  const named = (roles: readonly string[]): StoredDocument[] =>
    roles.flatMap((name) => byPlace.get(placeOf(Role.kind, name)) ?? [])
  const permissionsOf = createClosure<StoredDocument, string>({
    own: (one) => (one.kind === Role.kind ? contentOf<RoleDoc>(one).permissions : []),
    next: (one) => {
      if (one.kind === Role.kind) return named(contentOf<RoleDoc>(one).composites)
      return [...named(contentOf<GroupDoc>(one).roles), byId.get(one.parentId ?? '') ?? []].flat()
    },
  })
  return documents.filter((one) => permissionsOf(one).has(administers))
}

/** Whether it could remove permissions of an existing user. */
const takes = ({ draft, before, prepared }: Effect): boolean =>
  (before !== null && [Role, Group, User].includes(draft.kind)) ||
  (draft.kind === User && prepared.id !== undefined)

/** Whose row and memberships are what their document says afterwards. */
const isWritten = ({ draft }: Effect): boolean => draft.kind === User && draft.release !== true

const refusal = (master: string): Problem =>
  new Problem(
    'conflict',
    `${master} would have no administrator who can sign in: create another administrator first`,
  )

export const createLastAdmin = ({ storage, master }: LastAdminParts): LastAdmin => {
  const { db } = storage
  const administrators = (givers: readonly StoredDocument[]) => {
    const ids = givers.map(({ id }) => id)
    const holders = db.selectFrom('user_roles').select('user_id').where('role_id', 'in', ids)
    const members = db.selectFrom('user_groups').select('user_id').where('group_id', 'in', ids)
    return db
      .selectFrom('users')
      .select('id')
      .where('realm', '=', master)
      .where('enabled', '=', 1)
      .where('locked', '=', 0)
      .where((eb) => eb.or([eb('id', 'in', holders), eb('id', 'in', members)]))
      .orderBy('id')
  }

  const isAnyLeft = async (
    givers: readonly StoredDocument[],
    without: ReadonlySet<string> = new Set(),
  ): Promise<boolean> => {
    if (givers.length === 0) return false
    for (let last = ''; ; ) {
      const page = await administrators(givers).where('id', '>', last).limit(pageSize).execute()
      if (page.some(({ id }) => !without.has(id))) return true
      if (page.length < pageSize) return false
      last = page.at(-1)?.id ?? last
    }
  }

  const isAnyAmong = async (
    userIds: readonly string[],
    givers: readonly StoredDocument[],
  ): Promise<boolean> => {
    if (givers.length === 0) return false
    const found = await readInSlices(userIds, (part) =>
      administrators(givers).where('id', 'in', part).limit(1).execute(),
    )
    return found.length > 0
  }

  const somebodyIsLeft = (givers: readonly StoredDocument[]): Statement =>
    holdSelectedUser(storage, administrators(givers).limit(1), 'last-admin')

  /** Users who are written as administrators, and can sign in. */
  const isAnyWritten = async (
    effects: readonly Effect[],
    givers: readonly StoredDocument[],
  ): Promise<boolean> => {
    const places = new Set(givers.map(({ kind, key }) => placeOf(kind, key)))
    const ids = effects.flatMap(({ after }) => {
      if (after?.kind !== User.kind) return []
      const { enabled, roles, groups } = contentOf<UserDoc>(after)
      const has =
        roles.some((key) => places.has(placeOf(Role.kind, key))) ||
        groups.some((key) => places.has(placeOf(Group.kind, key)))
      return enabled && has ? [after.id] : []
    })
    const locked = await readInSlices(ids, (part) =>
      db.selectFrom('users').select('id').where('id', 'in', part).where('locked', '=', 1).execute(),
    )
    return ids.length > locked.length
  }

  return {
    afterDocuments: async (realm, effects, open) => {
      const view = realm === master && effects.some(takes) ? await open() : undefined
      if (!view) return []
      const givers = giversAmong(await grantsIn(view, effects))
      const written = new Set(effects.filter(isWritten).map(({ draft }) => draft.id))
      if ((await isAnyLeft(givers, written)) || (await isAnyWritten(effects, givers)))
        return [somebodyIsLeft(givers)]
      // Where there was none before, nothing is taken away.
      if (await isAnyLeft(giversAmong(await grantsIn(view)))) throw refusal(master)
      return []
    },

    aroundData: async (view, users, statements, taken) => {
      if (view.realm !== master || users.length === 0) return [...statements]
      const givers = giversAmong(await grantsIn(view))
      const ids = users.map(({ id }) => id)
      const isTouched = taken === undefined || givers.some(({ id }) => id === taken.id)
      if (!isTouched || !(await isAnyAmong(ids, givers))) return [...statements]
      const isLeft =
        (await isAnyLeft(givers, new Set(ids))) ||
        // By another role or group than the one that is taken away.
        (taken !== undefined && (await isAnyLeft(givers.filter(({ id }) => id !== taken.id))))
      if (!isLeft) throw refusal(master)
      const inTurn = db.updateTable('realms').set((eb) => ({ seq: eb.ref('seq') }))
      return [statement(inTurn.where('name', '=', master)), ...statements, somebodyIsLeft(givers)]
    },
  }
}
