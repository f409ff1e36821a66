/**
 * All users that a target has, page by page: by index (RFC 7644 §3.4.2.4) or by cursor (RFC 9865 §2). A list that is not whole
 * would read as users who are missing there, and is refused.
 */

import type { RemoteResource, ScimClient } from './client.ts'
import { ScimRefusal } from './refusal.ts'

const pageSize = 100

const byIndex = async (client: ScimClient): Promise<RemoteResource[]> => {
  const all = new Map<string, RemoteResource>()
  for (let read = 0; ; ) {
    const { resources, total } = await client.page({ startIndex: read + 1, count: pageSize })
    const before = all.size
    for (const one of resources) all.set(one.id, one)
    read += resources.length
    if (all.size >= total) return [...all.values()]
    if (all.size === before)
      throw new ScimRefusal(`GET /Users lists ${all.size} of ${total}: it cannot be compared`, 502)
  }
}

const byCursor = async (client: ScimClient): Promise<RemoteResource[]> => {
  const all = new Map<string, RemoteResource>()
  const seen = new Set<string>()
  for (let cursor = ''; ; ) {
    const { resources, nextCursor } = await client.page({ cursor, count: pageSize })
    for (const one of resources) all.set(one.id, one)
    if (nextCursor === undefined) return [...all.values()]
    // A page may be empty before the last one; a cursor that comes back would never end.
    if (seen.has(nextCursor))
      throw new ScimRefusal('GET /Users repeats a cursor: it cannot be compared', 502)
    seen.add(nextCursor)
    cursor = nextCursor
  }
}

export const allUsersOf = (
  client: ScimClient,
  { hasCursors }: { readonly hasCursors: boolean },
): Promise<RemoteResource[]> => (hasCursors ? byCursor(client) : byIndex(client))
