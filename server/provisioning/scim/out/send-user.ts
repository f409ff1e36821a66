/**
 * Makes one user of a target equal to the user here. Whatever was lost before, an answer or a row, the target is asked for the user
 * before one is created, so that no user is there twice; and a user that is there already is adopted (RFC 7644 §3.3, 409).
 */

import type { ScimResourceRow } from '#server/storage/tables/scim-tables.ts'
import { type Digests, digestOf, digestsOf } from './digests.ts'
import { type FreeName, setOne } from './free-name.ts'
import type { RemoteResource, ScimClient } from './protocol/client.ts'
import { isConflict, isMissing, ScimRefusal } from './protocol/refusal.ts'
import type { ResourceChange } from './state/resources.ts'
import type { ScimTargetInUse } from './target.ts'
import {
  changesSince,
  observedIn,
  resourceOf,
  type ScimAttributes,
  userNameIn,
} from './user-resource.ts'
import { sentOf, type Wanted } from './wanted.ts'

export type Done = 'created' | 'adopted' | 'updated' | 'deactivated' | 'deleted' | 'unchanged'

/** What a row becomes; `forget`: the target has nothing of the user any more. */
export interface Sent {
  readonly done: Done
  readonly change: ResourceChange | 'forget'
}

export interface SendParts {
  readonly target: ScimTargetInUse
  readonly client: ScimClient
  readonly freeName: FreeName
  /** Whether the resource of the target stands for another user here. */
  readonly isTaken: (remoteId: string, localId: string) => Promise<boolean>
}

const inactive = digestOf(false)

/** What a user of the target is found by: its attribute, and the one here that has the value. */
export interface MatchedBy {
  readonly attribute: 'userName' | 'externalId' | 'id'
  readonly value: 'userName' | 'externalId'
}

export const matchedBy = (
  { profile }: Pick<ScimTargetInUse, 'profile'>,
  wanted: 'userName' | 'externalId',
): MatchedBy =>
  profile.idIsExternalId
    ? { attribute: 'id', value: 'externalId' }
    : { attribute: wanted, value: wanted }

export const createSendUser = ({ target, client, freeName, isTaken }: SendParts) => {
  const { doc, profile } = target

  const write = async (
    localId: string,
    remoteId: string,
    sent: Digests,
    attributes: ScimAttributes,
  ): Promise<boolean> => {
    const operations = changesSince(sent, attributes).filter(({ path }) =>
      profile.isChangeable(path),
    )
    if (operations.length === 0) return false
    const isRenamed = operations.some(({ path }) => path === 'userName')
    await freeName(localId, isRenamed ? userNameIn(attributes) : undefined, () =>
      profile.patches
        ? client.patch('Users', remoteId, operations)
        : client.replace('Users', remoteId, resourceOf(attributes)),
    )
    return true
  }

  /** One who may be adopted: matched as the target says, and of no other user. */
  const match = async (
    localId: string,
    attributes: ScimAttributes,
    by: MatchedBy,
  ): Promise<RemoteResource | undefined> => {
    const value = attributes[by.value]
    if (typeof value !== 'string') return undefined
    const found = await client.find('Users', by.attribute, value)
    if (!found || (await isTaken(found.id, localId))) return undefined
    const other = found['externalId']
    const isStranger =
      doc.matchOn === 'externalId' && Boolean(other) && other !== attributes['externalId']
    return isStranger ? undefined : found
  }

  const adopt = async (
    localId: string,
    found: RemoteResource,
    attributes: ScimAttributes,
  ): Promise<Sent> => {
    await write(localId, found.id, digestsOf(observedIn(found, attributes)), attributes)
    return {
      done: 'adopted',
      change: {
        remote_id: found.id,
        present: 1,
        sent: JSON.stringify(digestsOf(attributes)),
      },
    }
  }

  const create = async (row: ScimResourceRow, attributes: ScimAttributes): Promise<Sent> => {
    const { local_id: localId } = row
    const found = await match(localId, attributes, matchedBy(target, doc.matchOn))
    if (found) return adopt(localId, found, attributes)
    // A user who may not sign in is not made anywhere.
    if (attributes['active'] === false) return { done: 'unchanged', change: 'forget' }
    try {
      const made = await freeName(localId, userNameIn(attributes), () =>
        client.create('Users', resourceOf(attributes)),
      )
      const sent = JSON.stringify(digestsOf(attributes))
      return { done: 'created', change: { remote_id: made.id, present: 1, sent } }
    } catch (error) {
      if (!isConflict(error)) throw error
      const holder = await match(localId, attributes, matchedBy(target, 'userName'))
      if (!holder) throw error
      return adopt(localId, holder, attributes)
    }
  }

  const update = async (
    row: ScimResourceRow,
    remoteId: string,
    attributes: ScimAttributes,
  ): Promise<Sent> => {
    const isOut = attributes['active'] === false && sentOf(row)['active'] !== inactive
    try {
      const isWritten = await write(row.local_id, remoteId, sentOf(row), attributes)
      const change = { present: 1, sent: JSON.stringify(digestsOf(attributes)) }
      return { done: isWritten ? (isOut ? 'deactivated' : 'updated') : 'unchanged', change }
    } catch (error) {
      if (isMissing(error)) return create({ ...row, remote_id: null }, attributes)
      // Something else that changed is refused: no leaver stays active for that.
      if (isOut && error instanceof ScimRefusal && !error.isOfTarget)
        await setOne({ target, client }, 'Users', remoteId, ['active', false])
      throw error
    }
  }

  const deactivate = async (row: ScimResourceRow, remoteId: string, wanted: Wanted) => {
    await setOne({ target, client }, 'Users', remoteId, ['active', false])
    const sent = JSON.stringify({ ...sentOf(row), active: inactive })
    return {
      done: 'deactivated',
      // Of a deleted user nothing can change any more.
      change: wanted.user ? { present: 0, sent } : 'forget',
    } as const
  }

  const remove = async (row: ScimResourceRow, wanted: Wanted): Promise<Sent> => {
    // A create whose answer was lost may have made the user.
    const remoteId =
      row.remote_id ??
      (row.attempted === 1
        ? (await client.find('Users', matchedBy(target, 'externalId').attribute, row.local_id))?.id
        : undefined)
    if (remoteId === undefined) return { done: 'unchanged', change: 'forget' }
    const isOut = row.present === 0 && sentOf(row)['active'] === inactive
    if (isOut && doc.deprovision === 'deactivate')
      return { done: 'unchanged', change: wanted.user ? {} : 'forget' }
    try {
      if (doc.deprovision === 'deactivate') return await deactivate(row, remoteId, wanted)
      await client.remove('Users', remoteId)
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    return { done: 'deleted', change: 'forget' }
  }

  return (row: ScimResourceRow, wanted: Wanted): Promise<Sent> => {
    if (wanted.kind === 'gone') return remove(row, wanted)
    return row.remote_id === null
      ? create(row, wanted.attributes)
      : update(row, row.remote_id, wanted.attributes)
  }
}

export type SendUser = ReturnType<typeof createSendUser>
