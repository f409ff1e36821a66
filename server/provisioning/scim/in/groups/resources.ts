/** The resources of `/Groups` (RFC 7644 §3.2). */

import type { FastifyRequest } from 'fastify'
import { Group } from '#schemas/kinds/users/group.ts'
import { isUuid } from '#server/platform/ids.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { groupVersions } from '#server/users/group-versions.ts'
import { maxBody } from '../body.ts'
import type { ScimCall } from '../caller.ts'
import { notFound } from '../errors.ts'
import { externalIdIn, externalIdsOfGroups } from '../external-ids.ts'
import { applyChanges } from '../patch/apply.ts'
import { type Change, readPatch } from '../patch/operations.ts'
import { type Projection, readProjection } from '../projection.ts'
import { asksForVersion, inTurn, refuseStale } from '../replies.ts'
import type { Admitted, FindPage, Resources } from '../resource-routes.ts'
import type { Resource } from '../schema/attribute.ts'
import { groupType } from '../schema/group-schema.ts'
import { readResource } from '../values.ts'
import { displayNameOf } from './display-name.ts'
import {
  changeMembers,
  exactly,
  hasMoreMembers,
  idsIn,
  membersOfGroups,
  noChange,
} from './members.ts'
import { groupResource, groupVersion } from './resource.ts'
import { searchGroups } from './search.ts'
import {
  createGroupWrites,
  type GroupWriteParts,
  type KnownGroup,
  type StatedGroup,
} from './write.ts'

/** A PATCH of a larger group is answered without the group: senders add members one by one. */
const mostShown = 100

/** Senders put back the group that they read: with 20,000 members, each with its address and a name. */
const largestBody = 6 * maxBody

const statedIn = (resource: Resource): StatedGroup => ({
  displayName: String(resource['displayName'] ?? ''),
  externalId: externalIdIn(resource),
  members: exactly(idsIn(resource['members'])),
})

/** Members are a difference; the rest is changed as every resource is. */
const patched = async (changes: readonly Change[], before: KnownGroup): Promise<StatedGroup> => {
  const members = noChange()
  const others = changes.filter((change) => {
    if ('whole' in change.place || change.place.attribute.name !== 'members') return true
    changeMembers(members, change, change.place)
    return false
  })
  const resource = await applyChanges(
    groupType,
    {
      displayName: displayNameOf(before.group),
      ...(before.externalId === undefined ? {} : { externalId: before.externalId }),
    },
    others,
  )
  return { ...statedIn(resource), members }
}

export const createGroupResources = (parts: GroupWriteParts): Resources => {
  const { storage } = parts
  const writes = createGroupWrites(parts)

  const found = async ({ view }: ScimCall, given: string): Promise<StoredDocument> => {
    const id = given.toLowerCase()
    const group = isUuid(id) ? await view.byId(Group.kind, id) : undefined
    if (!group) throw notFound(`there is no group "${given.slice(0, 80)}"`)
    return group
  }

  const known = async (
    request: FastifyRequest,
    call: ScimCall,
    id: string,
  ): Promise<KnownGroup> => {
    const group = await found(call, id)
    const [names, versions] = await Promise.all([
      externalIdsOfGroups(storage, call, group.id),
      groupVersions(storage, [group.id]),
    ])
    const version = versions.get(group.id)
    refuseStale(request, groupVersion(group, version))
    return {
      group,
      externalId: names.get(group.id),
      version: version?.version ?? 0,
      isConditional: asksForVersion(request),
    }
  }

  const show = async (
    call: ScimCall,
    groups: readonly StoredDocument[],
    projection: Projection,
  ): Promise<Resource[]> => {
    const ids = groups.map(({ id }) => id)
    const isAsked = projection.has('members')
    const [names, versions, rows, all] = await Promise.all([
      externalIdsOfGroups(storage, call, ids.length === 1 ? ids[0] : undefined),
      groupVersions(storage, ids),
      isAsked ? membersOfGroups(storage, ids) : [],
      isAsked ? call.view.list(Group.kind) : [],
    ])
    const users = Map.groupBy(rows, ({ group_id }) => group_id)
    const below = Map.groupBy(all, ({ parentId }) => parentId)
    return groups.map((group) =>
      groupResource(call, group, {
        externalId: names.get(group.id),
        version: versions.get(group.id),
        members: [
          ...(users.get(group.id) ?? []).map(({ user_id: id }) => ({ id, type: 'User' as const })),
          ...(below.get(group.id) ?? []).map(({ id }) => ({ id, type: 'Group' as const })),
        ],
      }),
    )
  }

  const one = async (call: ScimCall, id: string, projection: Projection): Promise<Resource> => {
    const [resource] = await show(call, [await found(call, id)], projection)
    return resource ?? {}
  }

  const change = (
    { request, id, again }: Admitted,
    next: (before: KnownGroup) => StatedGroup | Promise<StatedGroup>,
  ): Promise<void> =>
    inTurn(request, async () => {
      const call = await again()
      const before = await known(request, call, id)
      await writes.replace(call, before, await next(before))
    })

  const find: FindPage = async (call, asked, page) => {
    const projection = readProjection(groupType, asked)
    const { groups, total } = await searchGroups(storage, call, page)
    const resources = await show(call, groups, projection)
    return { resources: resources.map(projection.of), total }
  }

  return {
    type: groupType,
    scope: 'groups',
    largestBody,
    find,

    create: async ({ request, projection, again }) => {
      const stated = statedIn(readResource(groupType, request.body))
      const id = await inTurn(request, async () => writes.create(await again(), stated))
      return one(await again(), id, projection)
    },

    read: ({ call, id, projection }) => one(call, id, projection),

    replace: async (admitted) => {
      const stated = statedIn(readResource(groupType, admitted.request.body))
      await change(admitted, () => stated)
      return one(await admitted.again(), admitted.id, admitted.projection)
    },

    change: async (admitted) => {
      const { asked, id, projection } = admitted
      const changes = readPatch(groupType, admitted.request.body)
      await change(admitted, (before) => patched(changes, before))
      // RFC 7644 §3.5.2: with a body only where attributes are asked for; a small group is sent anyway.
      const call = await admitted.again()
      const isAsked = asked['attributes'] ?? asked['excludedAttributes']
      const group = await found(call, id)
      if (isAsked === undefined && (await hasMoreMembers(storage, group.id, mostShown)))
        return undefined
      return one(call, group.id, projection)
    },

    remove: ({ request, id, again }) =>
      inTurn(request, async () => {
        const call = await again()
        await writes.remove(call, await known(request, call, id))
      }),
  }
}
