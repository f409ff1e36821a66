/**
 * Writes of groups by SCIM. The group is a runtime document and goes through the one write path; memberships are data. Both are
 * one transaction with their audit events, and a change that changes nothing writes nothing.
 */

import { parentKeyOf } from '#schemas/kind.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { User, type UserDoc } from '#schemas/kinds/users/user.ts'
import { complete } from '#schemas/normalize.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Effect } from '#server/realm/write/effects.ts'
import { type Operation, type Put, runtimeChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { atMostChanges } from '#server/storage/documents/changes.ts'
import { etagOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { countGroups, holdMembers } from '#server/users/group-versions.ts'
import { joinGroups, leaveGroups } from '#server/users/memberships.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { usersIn } from '#server/users/user-rows.ts'
import { type ScimCall, scimEvent } from '../caller.ts'
import { forbidden, invalidValue, ScimError } from '../errors.ts'
import { explainExternalId, nameGroup } from '../external-ids.ts'
import { displayNameOf, namedGroup, withDisplayName } from './display-name.ts'
import { type MemberChange, membersAmong } from './members.ts'

export interface GroupWriteParts {
  readonly storage: Storage
  readonly clock: Clock
  readonly recorder: Recorder
  readonly writer: Writer
  readonly ranks: Ranks
}

export interface StatedGroup {
  readonly displayName: string
  readonly externalId: string | null
  readonly members: MemberChange
}

export interface KnownGroup {
  readonly group: StoredDocument
  readonly externalId: string | undefined
  /** Of the members. */
  readonly version: number
  /** Whether the sender asks for this version (If-Match). */
  readonly isConditional: boolean
}

export interface GroupWrites {
  /** Answers its id. */
  create(call: ScimCall, stated: StatedGroup): Promise<string>
  replace(call: ScimCall, known: KnownGroup, stated: StatedGroup): Promise<void>
  remove(call: ScimCall, known: KnownGroup): Promise<void>
}

/** The members that join and that leave, after all operations. */
interface Moves {
  readonly joining: readonly UserRow[]
  readonly leaving: readonly UserRow[]
  readonly nested: readonly StoredDocument[]
  readonly released: readonly StoredDocument[]
}

const without = (some: Iterable<string>, others: ReadonlySet<string>): string[] =>
  [...some].filter((one) => !others.has(one))

const keyBelow = (parent: string, group: StoredDocument): string =>
  `${parent}/${group.key.slice(group.key.lastIndexOf('/') + 1)}`

const moveTo = (group: StoredDocument, key: string): Put => ({
  op: 'put',
  kind: Group,
  id: group.id,
  key,
  doc: (before) => before,
  secrets: {},
  // It may take the name of the group that it leaves, where that one goes.
  stated: true,
})

/** A managed user's memberships are in the document of the user. */
const managedPut = (user: UserRow, key: string, isMember: boolean): Put => ({
  op: 'put',
  kind: User,
  id: user.id,
  key: user.username,
  doc: (before) => {
    const { groups } = complete(User, before) as UserDoc
    const others = groups.filter((one) => one !== key)
    return { ...before, groups: isMember ? [...others, key] : others }
  },
  secrets: {},
  expect: { exists: true },
})

const isManaged = ({ managed }: UserRow): boolean => managed === 1

/**
 * The guard of a name that was free when it was looked up: the write is decided again where groups were written since then.
 * Keys differ in case, so that the database does not keep two such names apart.
 */
const groupNamesGuard = 'final:scim-group-names'

/** How many entries the write makes in the log of changes for groups. */
const groupsIn = (effects: readonly Effect[]): number =>
  new Set(
    effects
      .flatMap(({ before, after }) => [before, after])
      .flatMap((side) => (side?.kind === Group.kind ? [side.key] : [])),
  ).size

export const createGroupWrites = (parts: GroupWriteParts): GroupWrites => {
  const { storage, clock, recorder, writer, ranks } = parts

  const movesOf = async (
    { view, realm }: ScimCall,
    groupId: string,
    { exact, join, leave }: MemberChange,
  ): Promise<Moves> => {
    const whole = await view.list(Group.kind)
    const isProvisioned = whole.find(({ id }) => id === groupId)?.origin === 'runtime'
    const all = whole.filter(({ id }) => id !== groupId)
    const groups = new Map(all.map((group) => [group.id, group]))
    const below = new Set(all.flatMap(({ id, parentId }) => (parentId === groupId ? [id] : [])))
    const wanted = exact ?? join
    if (wanted.has(groupId)) throw invalidValue('members: a group is not in itself')
    const users = [...wanted, ...leave].filter((id) => !groups.has(id))
    const present = await membersAmong(storage, groupId, exact ? undefined : users)
    const entering = without(wanted, present).filter((id) => !below.has(id))
    // A sender that states its users knows nothing of the tree that a file or an administrator has made: those groups stay below.
    const placed = new Set(
      isProvisioned ? [] : [...below].filter((id) => groups.get(id)?.origin !== 'runtime'),
    )
    const going = exact
      ? without([...present, ...below], exact).filter((id) => !placed.has(id))
      : [...leave].filter((id) => present.has(id) || below.has(id))
    const moved = [...entering, ...going].filter((id) => !groups.has(id))
    // Ids of unknown users are left out: one user who was deleted here must not stop the sender from filling the group.
    const rows = new Map((await usersIn(storage, realm, 'id', moved)).map((row) => [row.id, row]))
    const rowsOf = (ids: readonly string[]): UserRow[] => ids.flatMap((id) => rows.get(id) ?? [])
    const groupsOf = (ids: readonly string[]): StoredDocument[] =>
      ids.flatMap((id) => groups.get(id) ?? [])
    return {
      joining: rowsOf(entering),
      leaving: rowsOf(going),
      nested: groupsOf(entering),
      released: groupsOf(going),
    }
  }

  /** A group has one place in the tree, and so one group above it. */
  const refuseSecondParent = (nested: readonly StoredDocument[]): void => {
    const held = nested.find(({ parentId }) => parentId !== null)
    if (held)
      throw invalidValue(`members: the group "${displayNameOf(held)}" is in another group already`)
  }

  const refuseAdministration = async ({ view }: ScimCall, groupId: string): Promise<void> => {
    const [held] = await ranks.permissionsOfGroup(view, groupId)
    if (held !== undefined)
      throw forbidden(`the group grants ${held}: SCIM changes no members of such a group`)
  }

  /** In the whole realm: SCIM has no paths, and a sender finds a group by this name (RFC 7643 §7, uniqueness "server"). */
  const refuseTaken = async (
    { view }: ScimCall,
    displayName: string,
    own: { readonly id: string },
  ): Promise<void> => {
    const wanted = displayName.toLowerCase()
    const taken = (await view.list(Group.kind)).some(
      (group) => group.id !== own.id && displayNameOf(group).toLowerCase() === wanted,
    )
    if (taken) throw new ScimError(409, 'displayName: another group has it already', 'uniqueness')
  }

  const onlyChanges = ({ view, realm }: ScimCall, effects: readonly Effect[]): Statement =>
    atMostChanges(
      storage,
      { realm, seq: view.seq, kind: Group.kind },
      groupsIn(effects),
      groupNamesGuard,
    )

  const memberDetail = ({ joining, leaving, nested, released }: Moves): string => {
    const [added, removed] = [joining.length + nested.length, leaving.length + released.length]
    const [only] = [...joining, ...leaving, ...nested, ...released]
    if (added + removed === 1 && only)
      return `member ${only.id} ${added === 1 ? 'added' : 'removed'}`
    return `members: ${added} added, ${removed} removed`
  }

  const write = async (
    call: ScimCall,
    {
      group,
      key,
      own,
      moves,
      seen,
      isNamed,
      names,
    }: {
      readonly group: { readonly id: string }
      /** That the group has afterwards. */
      readonly key: string
      /** Of the document of the group, where it changes. */
      readonly own: readonly Put[]
      readonly moves: Moves
      readonly seen: { readonly version: number } | undefined
      /** Whether the write gives the group its name. */
      readonly isNamed: boolean
      readonly names: readonly Statement[]
    },
  ): Promise<void> => {
    const { joining, leaving, nested, released } = moves
    const size = joining.length + leaving.length + nested.length + released.length
    const above = parentKeyOf(Group, key) ?? ''
    const rowsOf = (users: readonly UserRow[]) =>
      users
        .filter((user) => !isManaged(user))
        .map(({ id }) => ({ user_id: id, group_id: group.id }))
    const now = clock.now()
    const guards = seen ? holdMembers(storage, { groupId: group.id, ...seen, now }) : []
    const statements = [
      ...joinGroups(storage, rowsOf(joining), now),
      ...leaveGroups(storage, rowsOf(leaving), now),
      ...names,
    ]
    const operations: Operation[] = [
      ...own,
      ...nested.map((one) => moveTo(one, keyBelow(key, one))),
      ...released.map((one) => moveTo(one, keyBelow(above, one))),
      ...joining.filter(isManaged).map((user) => managedPut(user, key, true)),
      ...leaving.filter(isManaged).map((user) => managedPut(user, key, false)),
    ]
    const resource = { type: 'groups', id: group.id } as const
    const events = [
      ...(size > 0 ? [scimEvent(call, 'ADMIN_UPDATE', resource, memberDetail(moves))] : []),
      ...(size === 0 && own.length === 0 ? [scimEvent(call, 'ADMIN_UPDATE', resource)] : []),
    ]
    try {
      if (operations.length === 0) await recorder.commit([...guards, ...statements], events)
      else
        await writer.write({
          realm: call.realm,
          caller: call.caller,
          channel: runtimeChannel,
          operations,
          alongside: (effects) => ({
            guards,
            statements: [...statements, ...(isNamed ? [onlyChanges(call, effects)] : [])],
            events,
          }),
        })
    } catch (error) {
      throw explainExternalId(error)
    }
  }

  return {
    create: async (call, { displayName, externalId, members }) => {
      const id = newId()
      const { name } = namedGroup(displayName)
      await refuseTaken(call, displayName, { id })
      const moves = await movesOf(call, id, members)
      refuseSecondParent(moves.nested)
      const key = `/${name}`
      await write(call, {
        group: { id },
        key,
        own: [
          {
            op: 'put',
            kind: Group,
            key,
            doc: withDisplayName({}, displayName),
            secrets: {},
            expect: { exists: false },
            idWhenMade: id,
          },
        ],
        moves,
        seen: undefined,
        isNamed: true,
        names: [nameGroup(storage, call, id, externalId)],
      })
      return id
    },

    replace: async (call, { group, externalId, version, isConditional }, stated) => {
      // All members at once are what they were stated to be, never a mixture of two requests.
      const seen = isConditional || stated.members.exact ? { version } : undefined
      const isRenamed = displayNameOf(group) !== stated.displayName
      if (isRenamed) await refuseTaken(call, stated.displayName, group)
      const isKnown = (externalId ?? null) === stated.externalId
      const moves = await movesOf(call, group.id, stated.members)
      const size = Object.values(moves).flat().length
      if (!isRenamed && isKnown && size === 0) return
      if (size > 0) await refuseAdministration(call, group.id)
      refuseSecondParent(moves.nested)
      const { name } = namedGroup(stated.displayName)
      const key = isRenamed ? `${parentKeyOf(Group, group.key) ?? ''}/${name}` : group.key
      await write(call, {
        group,
        key,
        own: isRenamed
          ? [
              {
                op: 'put',
                kind: Group,
                id: group.id,
                key,
                doc: (before) => withDisplayName(before, stated.displayName),
                secrets: {},
                expect: {
                  exists: true,
                  ...(isConditional ? { conditions: { ifMatch: etagOf(group) } } : {}),
                },
              },
            ]
          : [],
        moves,
        seen,
        isNamed: isRenamed,
        names: isKnown
          ? []
          : [
              nameGroup(storage, call, group.id, stated.externalId),
              // The externalId is part of the resource, and no part of the document: the version follows it.
              ...countGroups(storage, [group.id], clock.now()),
            ],
      })
    },

    remove: async (call, { group, version, isConditional }) => {
      const above = parentKeyOf(Group, group.key) ?? ''
      const below = (await call.view.list(Group.kind)).filter(
        ({ parentId }) => parentId === group.id,
      )
      const now = clock.now()
      await writer.write({
        realm: call.realm,
        caller: call.caller,
        channel: runtimeChannel,
        operations: [
          // Groups that were members stay.
          ...below.map((one) => moveTo(one, keyBelow(above, one))),
          {
            op: 'delete',
            kind: Group,
            key: group.key,
            id: group.id,
            expect: {
              exists: true,
              ...(isConditional ? { conditions: { ifMatch: etagOf(group) } } : {}),
            },
          },
        ],
        alongside: () => ({
          guards: isConditional ? holdMembers(storage, { groupId: group.id, version, now }) : [],
          statements: [],
          events: [],
        }),
      })
    },
  }
}
