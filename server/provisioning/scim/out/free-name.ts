/**
 * Names that change hands. A target that takes a username, or the name of a group, once refuses it (409) while the one who had it
 * before still has it there: two users who swap names would refuse each other forever. The former holder moves first, to the name it
 * has here, or out of the way for a moment where that name is held too.
 */

import type { Storage } from '#server/storage/contract.ts'
import type { ScimResourceRow } from '#server/storage/tables/scim-tables.ts'
import type { ResourceType, ScimClient } from './protocol/client.ts'
import { isConflict } from './protocol/refusal.ts'
import type { Resources } from './state/resources.ts'
import type { ScimTargetInUse } from './target.ts'
import { sentOf } from './wanted.ts'

/** The name of a user or group here; one that is not sent any more is given no passing name, which it would keep. */
export interface OwnName {
  readonly name: string
  readonly isSent: boolean
}

export interface FreeNameParts {
  readonly storage: Pick<Storage, 'commit'>
  readonly target: ScimTargetInUse
  readonly resources: Resources
  readonly client: ScimClient
  readonly kind: ScimResourceRow['kind']
  readonly nameOf: (localId: string) => Promise<OwnName | undefined>
}

/** Runs a write that gives a resource this name, once more where room could be made for it. */
export type FreeName = <T>(
  localId: string,
  name: string | undefined,
  write: () => Promise<T>,
) => Promise<T>

const unique = {
  user: { type: 'Users', attribute: 'userName' },
  group: { type: 'Groups', attribute: 'displayName' },
} as const

const isSameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/** Short, and an address where usernames are addresses: targets are strict about both. */
const passingName = (localId: string, name: string): string => {
  const at = name.lastIndexOf('@')
  return `moved-${localId.slice(-12)}${at < 0 ? '' : name.slice(at)}`
}

/** One after the other: two who make room for each other would undo what the other did. */
const createTurns = () => {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work)
    last = next.catch(() => undefined)
    return next
  }
}

/** Sets one attribute, and leaves the others as the target has them. */
export const setOne = async (
  { target, client }: Pick<FreeNameParts, 'target' | 'client'>,
  type: ResourceType,
  remoteId: string,
  [path, value]: readonly [string, unknown],
): Promise<void> => {
  if (target.profile.patches) {
    await client.patch(type, remoteId, [{ op: 'replace', path, value }])
    return
  }
  const { id: _, meta: _meta, groups: _groups, ...whole } = await client.read(type, remoteId)
  await client.replace(type, remoteId, { ...whole, [path]: value })
}

export const createFreeName = (parts: FreeNameParts): FreeName => {
  const { storage, target, resources, client, kind, nameOf } = parts
  const { type, attribute } = unique[kind]
  const inTurn = createTurns()

  /** False where the name is held by one that keeps it, or that is none of the realm. */
  const moveHolder = async (localId: string, name: string): Promise<boolean> => {
    const holder = await client.find(type, attribute, name)
    // Moved meanwhile, by its own turn or by that of another.
    if (!holder) return true
    const [row] = await resources.byRemoteIds(target.id, kind, [holder.id])
    if (row?.local_id === localId) return true
    if (!row) return false
    const own = await nameOf(row.local_id)
    if (!own || isSameName(own.name, name)) return false
    // Whatever happens next, the holder is sent its name again.
    const { [attribute]: _, ...sent } = sentOf(row)
    await storage.commit([
      resources.change(row, { sent: JSON.stringify(sent) }),
      ...resources.mark(target.id, kind, [row.local_id]),
    ])
    try {
      await setOne(parts, type, holder.id, [attribute, own.name])
    } catch (error) {
      if (!isConflict(error) || !own.isSent) return false
      const passing = passingName(row.local_id, own.name)
      await setOne(parts, type, holder.id, [attribute, passing])
    }
    return true
  }

  return async (localId, name, write) => {
    try {
      return await write()
    } catch (error) {
      if (!isConflict(error) || name === undefined) throw error
      return inTurn(async () => {
        if (!(await moveHolder(localId, name))) throw error
        return write()
      })
    }
  }
}
