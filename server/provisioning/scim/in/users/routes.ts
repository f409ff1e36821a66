/** `/Users` (RFC 7644 §3.2). */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUuid } from '#server/platform/ids.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { userGroupsOf } from '#server/users/memberships.ts'
import type { Admit, ScimCall } from '../caller.ts'
import { notFound } from '../errors.ts'
import { externalIdsOfUsers } from '../external-ids.ts'
import { displayNameOf } from '../groups/display-name.ts'
import { type Asked, listResponse, readPage, readQuery, readSearch } from '../paging.ts'
import { applyChanges } from '../patch/apply.ts'
import { readPatch } from '../patch/operations.ts'
import { type Projection, readProjection } from '../projection.ts'
import { inTurn, refuseStale, sendJson, sendResource } from '../replies.ts'
import type { Resource } from '../schema/attribute.ts'
import { userType } from '../schema/user-schema.ts'
import type { FindPage } from '../search-all.ts'
import { readResource } from '../values.ts'
import { userResource, userVersion, writableUser } from './resource.ts'
import { searchUsers } from './search.ts'
import { createUserWrites, type KnownUser, type UserWriteParts } from './write.ts'

const idOf = ({ params }: FastifyRequest): string => (params as { id?: string }).id ?? ''

export const userRoutes = (parts: UserWriteParts & { readonly admit: Admit }, path: string) => {
  const { storage, users } = parts
  const writes = createUserWrites(parts)
  const admit = (request: FastifyRequest): Promise<ScimCall> => parts.admit(request, 'users')

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

  const list = async (call: ScimCall, asked: Asked): Promise<Resource> => {
    const page = readPage(asked)
    const { resources, total } = await find(call, asked, page)
    return listResponse(page, total, resources)
  }

  const change = (
    request: FastifyRequest,
    call: ScimCall,
    next: (before: KnownUser) => Resource,
  ): Promise<UserRow> =>
    inTurn(request, async () => {
      const before = await known(call, idOf(request))
      refuseStale(request, userVersion(before.row))
      await writes.replace(call, before, next(before))
      return await found(call, before.row.id)
    })

  const routes = (app: FastifyInstance): void => {
    app.get(path, async (request, reply) => {
      const call = await admit(request)
      return sendJson(reply, 200, await list(call, readQuery(request.query)))
    })

    app.post(`${path}/.search`, { config: { events: [] } }, async (request, reply) => {
      const call = await admit(request)
      return sendJson(reply, 200, await list(call, readSearch(request.body)))
    })

    app.post(path, { config: { events: ['ADMIN_CREATE'] } }, async (request, reply) => {
      const call = await admit(request)
      const projection = readProjection(userType, readQuery(request.query))
      const { row, externalId } = await writes.create(call, readResource(userType, request.body))
      const resource = userResource(call, row, { externalId, groups: [] })
      return sendResource(request, reply, 201, resource, projection)
    })

    app.get(`${path}/:id`, async (request, reply) => {
      const call = await admit(request)
      const projection = readProjection(userType, readQuery(request.query))
      const row = await found(call, idOf(request))
      return sendResource(request, reply, 200, await one(call, row, projection), projection)
    })

    app.put(`${path}/:id`, { config: { events: ['ADMIN_UPDATE'] } }, async (request, reply) => {
      const call = await admit(request)
      const projection = readProjection(userType, readQuery(request.query))
      const row = await change(request, call, () => readResource(userType, request.body))
      return sendResource(request, reply, 200, await one(call, row, projection), projection)
    })

    app.patch(`${path}/:id`, { config: { events: ['ADMIN_UPDATE'] } }, async (request, reply) => {
      const call = await admit(request)
      const projection = readProjection(userType, readQuery(request.query))
      const row = await change(request, call, ({ row: before, externalId }) =>
        applyChanges(userType, writableUser(before, externalId), readPatch(userType, request.body)),
      )
      return sendResource(request, reply, 200, await one(call, row, projection), projection)
    })

    app.delete(`${path}/:id`, { config: { events: ['ADMIN_DELETE'] } }, async (request, reply) => {
      const call = await admit(request)
      const row = await found(call, idOf(request))
      refuseStale(request, userVersion(row))
      await writes.remove(call, row)
      return reply.code(204).send()
    })
  }
  return { find, routes }
}
