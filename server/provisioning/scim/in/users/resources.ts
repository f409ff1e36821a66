/** The resources of `/Users` (RFC 7644 §3.2). */

import type { FastifyRequest } from 'fastify'
import { isUuid } from '#server/platform/ids.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { userGroupsOf } from '#server/users/memberships.ts'
import type { ScimCall } from '../caller.ts'
import { notFound } from '../errors.ts'
import { externalIdsOfUsers } from '../external-ids.ts'
import { displayNameOf } from '../groups/display-name.ts'
import { applyChanges } from '../patch/apply.ts'
import { type Change, readPatch } from '../patch/operations.ts'
import { readProjection } from '../projection.ts'
import { asksForVersion, inTurn, isConditional, refuseStale } from '../replies.ts'
import type { Admitted, FindPage, Resources } from '../resource-routes.ts'
import type { Resource } from '../schema/attribute.ts'
import { userType } from '../schema/user-schema.ts'
import { readResource } from '../values.ts'
import { withWorkAddress } from './attributes.ts'
import { type UserGroup, userResource, userVersion, writableUser } from './resource.ts'
import { searchUsers } from './search.ts'
import { createUserWrites, type KnownUser, type UserWriteParts } from './write.ts'

const choosesAddresses = ({ place }: Change): boolean =>
  !('whole' in place) && place.attribute.name === 'emails' && place.filter !== undefined

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

  /** By user; read for every response, because the version depends on them. */
  const groupsOf = async (
    { view }: ScimCall,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, readonly UserGroup[]>> => {
    const memberships = await userGroupsOf(storage, ids)
    const groups = new Map<string, UserGroup>()
    for (const id of new Set(memberships.map(({ group_id }) => group_id))) {
      const group = await view.byId('group', id)
      if (group) groups.set(id, { id, display: displayNameOf(group) })
    }
    const byUser = Map.groupBy(memberships, ({ user_id }) => user_id)
    return new Map(
      [...byUser].map(([userId, own]) => [
        userId,
        own
          .map(({ group_id }) => group_id)
          .sort()
          .flatMap((id) => groups.get(id) ?? []),
      ]),
    )
  }

  const refuseStaleUser = async (
    request: FastifyRequest,
    call: ScimCall,
    row: UserRow,
  ): Promise<void> => {
    if (!isConditional(request)) return
    const groups = (await groupsOf(call, [row.id])).get(row.id) ?? []
    refuseStale(request, userVersion(row, groups))
  }

  const show = async (call: ScimCall, rows: readonly UserRow[]): Promise<Resource[]> => {
    const ids = rows.map(({ id }) => id)
    const [names, groups] = await Promise.all([
      externalIdsOfUsers(storage, call, ids),
      groupsOf(call, ids),
    ])
    return rows.map((row) =>
      userResource(call, row, {
        externalId: names.get(row.id),
        groups: groups.get(row.id) ?? [],
      }),
    )
  }

  const shown = async (row: UserRow, { call }: Admitted): Promise<Resource> => {
    const [resource] = await show(call, [row])
    return resource ?? {}
  }

  const find: FindPage = async (call, asked, page) => {
    const projection = readProjection(userType, asked)
    const { rows, total } = await searchUsers(storage, call, page, show)
    const resources = await show(call, rows)
    return { resources: resources.map(projection.of), total }
  }

  const change = (
    { request, call, id }: Admitted,
    next: (before: KnownUser) => Resource | Promise<Resource>,
  ): Promise<UserRow> =>
    inTurn(request, async () => {
      const before = await known(call, id)
      await refuseStaleUser(request, call, before.row)
      await writes.replace(call, before, await next(before))
      return await found(call, before.row.id)
    })

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
      const choosing = changes.some(choosesAddresses)
      const row = await change(admitted, ({ row, externalId }) => {
        const before = writableUser(row, externalId)
        return applyChanges(userType, choosing ? withWorkAddress(before) : before, changes)
      })
      return shown(row, admitted)
    },

    remove: ({ request, call, id }) =>
      inTurn(request, async () => {
        const row = await found(call, id)
        await refuseStaleUser(request, call, row)
        await writes.remove(call, row, asksForVersion(request))
      }),
  }
}
