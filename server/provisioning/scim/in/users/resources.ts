/** The resources of `/Users` (RFC 7644 §3.2). */

import { isUuid } from '#server/platform/ids.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { userGroupsOf } from '#server/users/memberships.ts'
import type { ScimCall } from '../caller.ts'
import { notFound } from '../errors.ts'
import { externalIdsOfUsers } from '../external-ids.ts'
import { displayNameOf } from '../groups/display-name.ts'
import { applyChanges } from '../patch/apply.ts'
import { readPatch } from '../patch/operations.ts'
import { type Projection, readProjection } from '../projection.ts'
import { asksForVersion, inTurn, refuseStale } from '../replies.ts'
import type { Admitted, FindPage, Resources } from '../resource-routes.ts'
import type { Resource } from '../schema/attribute.ts'
import { userType } from '../schema/user-schema.ts'
import { readResource } from '../values.ts'
import { userResource, userVersion, writableUser } from './resource.ts'
import { searchUsers } from './search.ts'
import { createUserWrites, type KnownUser, type UserWriteParts } from './write.ts'

export const createUserResources = (parts: UserWriteParts): Resources => {
  const { storage, users } = parts
  const writes = createUserWrites(parts)

  const found = async ({ realm }: ScimCall, id: string): Promise<UserRow> => {
    const row = isUuid(id) ? await users.find(realm, id) : undefined
    if (!row) throw notFound(`there is no user "${id.slice(0, 80)}"`)
    return row
  }

  const known = async (call: ScimCall, id: string): Promise<KnownUser> => {
    const row = await found(call, id)
    const names = await externalIdsOfUsers(storage, call, [row.id])
    return { row, externalId: names.get(row.id) }
  }

  const show = async (
    call: ScimCall,
    rows: readonly UserRow[],
    projection: Projection,
  ): Promise<Resource[]> => {
    const ids = rows.map(({ id }) => id)
    const [names, memberships] = await Promise.all([
      externalIdsOfUsers(storage, call, ids),
      projection.has('groups') ? userGroupsOf(storage, ids) : [],
    ])
    const groupsOf = Map.groupBy(memberships, ({ user_id }) => user_id)
    const display = new Map<string, string>()
    for (const id of new Set(memberships.map(({ group_id }) => group_id))) {
      const group = await call.view.byId('group', id)
      if (group) display.set(id, displayNameOf(group))
    }
    return rows.map((row) =>
      userResource(call, row, {
        externalId: names.get(row.id),
        groups: (groupsOf.get(row.id) ?? []).flatMap(({ group_id: id }) => {
          const name = display.get(id)
          return name === undefined ? [] : [{ id, display: name }]
        }),
      }),
    )
  }

  const one = async (call: ScimCall, row: UserRow, projection: Projection): Promise<Resource> => {
    const [resource] = await show(call, [row], projection)
    return resource ?? {}
  }

  const find: FindPage = async (call, asked, page) => {
    const projection = readProjection(userType, asked)
    const { rows, total } = await searchUsers(storage, call, page)
    const resources = await show(call, rows, projection)
    return { resources: resources.map(projection.of), total }
  }

  const change = (
    { request, call, id }: Admitted,
    next: (before: KnownUser) => Resource,
  ): Promise<UserRow> =>
    inTurn(request, async () => {
      const before = await known(call, id)
      refuseStale(request, userVersion(before.row))
      await writes.replace(call, before, next(before))
      return await found(call, before.row.id)
    })

  const shown = async (row: UserRow, { call, projection }: Admitted): Promise<Resource> =>
    one(call, row, projection)

  return {
    type: userType,
    scope: 'users',
    find,

    create: async ({ call: first, request, again }) => {
      const resource = readResource(userType, request.body)
      let rounds = 0
      return inTurn(request, async () => {
        const call = rounds === 0 ? first : await again()
        rounds += 1
        const { row, externalId } = await writes.create(call, resource)
        return userResource(call, row, { externalId, groups: [] })
      })
    },

    read: async (admitted) => shown(await found(admitted.call, admitted.id), admitted),

    replace: async (admitted) => {
      const { body } = admitted.request
      return shown(await change(admitted, () => readResource(userType, body)), admitted)
    },

    change: async (admitted) => {
      const changes = readPatch(userType, admitted.request.body)
      const row = await change(admitted, ({ row: before, externalId }) =>
        applyChanges(userType, writableUser(before, externalId), changes),
      )
      return shown(row, admitted)
    },

    remove: ({ request, call, id }) =>
      inTurn(request, async () => {
        const row = await found(call, id)
        refuseStale(request, userVersion(row))
        await writes.remove(call, row, asksForVersion(request))
      }),
  }
}
