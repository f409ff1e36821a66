/**
 * Resources that their owners share (UMA 2.0 Grant §1.3, "asynchronous" authorization): a request waits until the owner
 * decides, and a granted one counts in every evaluation until it is revoked.
 */

import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { ResourceShareRow } from '#server/storage/tables/authz-tables.ts'
import { holdUsers } from '#server/users/user-rows.ts'
import { atMost } from './holding-limits.ts'
import type { AuthzLimits } from './limits.ts'

/** The guard of a share that is not there, or is not the owner's. */
const shareGuard = 'resource-share'
/** The guard of requests that are too many. */
export const shareLimitGuard = 'resource-share-limit'

/** A scope of a resource of an owner; null for a resource without scopes. */
export interface SharedScope {
  readonly realm: string
  readonly clientId: string
  readonly resourceId: string
  readonly scope: string | null
  readonly ownerId: string
  readonly requesterId: string
}

export interface ShareQuery {
  readonly clientId: string
  readonly id?: string | undefined
  /** The owner or the requester. */
  readonly party?: string | undefined
  readonly ownerId?: string | undefined
  readonly requesterId?: string | undefined
  readonly resourceId?: string | undefined
  /** '' of a resource without scopes. */
  readonly scope?: string | undefined
  readonly granted?: boolean | undefined
  readonly first: number
  readonly max: number
}

export interface Shares {
  /** Of the resource server, oldest first. */
  list(query: ShareQuery): Promise<ResourceShareRow[]>
  /** What was shared with the user by resources of the client. */
  grantedTo(userId: string, clientId: string): Promise<ResourceShareRow[]>
  /** Everything that the owner shares or is asked to share, oldest first. */
  ofOwner(realm: string, ownerId: string): Promise<ResourceShareRow[]>
  /** Everything that was shared with the user, or that the user asked for, oldest first. */
  ofRequester(realm: string, requesterId: string): Promise<ResourceShareRow[]>
  /** How many requests of all users wait for the owner. */
  waitingFor(realm: string, ownerId: string): Promise<number>
  /**
   * Asks the owners for one requester; what was asked for or granted before stays as it is. Fails the guard
   * `resource-share-limit` where more requests than the limits allow would wait then.
   */
  request(
    shared: readonly SharedScope[],
    limits: Pick<AuthzLimits, 'requestsOfRequester' | 'requestsOfOwner'>,
  ): Statement[]
  /** Shares without a request, or grants one that waits. */
  grant(shared: SharedScope): Statement
  /** Fails the guard `resource-share` unless the owner is asked for it. */
  approve(ownerId: string, id: string): Statement
  /** Denies a request or ends a share. Fails the guard `resource-share` unless it is the owner's. */
  remove(ownerId: string, id: string): Statement
  /** The same, by an administrator. Fails the guard `resource-share` unless it is of the client. */
  removeOf(clientId: string, id: string): Statement
}

export const createShares = ({
  storage,
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db' | 'dialect'>
  readonly clock: Clock
}): Shares => {
  const rowOf = (shared: SharedScope, isGranted: boolean): ResourceShareRow => {
    const now = clock.now()
    return {
      id: newId(),
      realm: shared.realm,
      client_id: shared.clientId,
      resource_id: shared.resourceId,
      scope: shared.scope ?? '',
      owner_id: shared.ownerId,
      requester_id: shared.requesterId,
      granted: isGranted ? 1 : 0,
      created_at: now,
      granted_at: isGranted ? now : null,
    }
  }
  const once = ['resource_id', 'requester_id', 'scope'] as const

  const ask = (shared: SharedScope): Statement =>
    statement(
      db
        .insertInto('resource_shares')
        .values(rowOf(shared, false))
        // A share of an owner before this one counts no longer: it becomes a request to this one.
        .onConflict((conflict) =>
          conflict
            .columns([...once])
            .doUpdateSet({ granted: 0, granted_at: null, owner_id: shared.ownerId })
            .where('resource_shares.owner_id', '!=', shared.ownerId),
        ),
    )

  const waitingOf = (party: 'owner_id' | 'requester_id', realm: string, userId: string) =>
    db
      .selectFrom('resource_shares')
      .select(({ fn }) => fn.countAll<number | string>().as('waiting'))
      .where(party, '=', userId)
      .where('realm', '=', realm)
      .where('granted', '=', 0)

  return {
    list: ({
      clientId,
      id,
      party,
      ownerId,
      requesterId,
      resourceId,
      scope,
      granted,
      first,
      max,
    }) => {
      let query = db.selectFrom('resource_shares').selectAll().where('client_id', '=', clientId)
      if (id !== undefined) query = query.where('id', '=', id)
      if (ownerId !== undefined) query = query.where('owner_id', '=', ownerId)
      if (requesterId !== undefined) query = query.where('requester_id', '=', requesterId)
      if (resourceId !== undefined) query = query.where('resource_id', '=', resourceId)
      if (scope !== undefined) query = query.where('scope', '=', scope)
      if (granted !== undefined) query = query.where('granted', '=', granted ? 1 : 0)
      if (party !== undefined)
        query = query.where(({ or, eb }) =>
          or([eb('owner_id', '=', party), eb('requester_id', '=', party)]),
        )
      return query.orderBy('created_at').orderBy('id').limit(max).offset(first).execute()
    },

    grantedTo: (userId, clientId) =>
      db
        .selectFrom('resource_shares')
        .selectAll()
        .where('requester_id', '=', userId)
        .where('client_id', '=', clientId)
        .where('granted', '=', 1)
        .execute(),

    ofOwner: (realm, ownerId) =>
      db
        .selectFrom('resource_shares')
        .selectAll()
        .where('owner_id', '=', ownerId)
        .where('realm', '=', realm)
        .orderBy('created_at')
        .orderBy('id')
        .execute(),

    ofRequester: (realm, requesterId) =>
      db
        .selectFrom('resource_shares')
        .selectAll()
        .where('requester_id', '=', requesterId)
        .where('realm', '=', realm)
        .orderBy('created_at')
        .orderBy('id')
        .execute(),

    waitingFor: async (realm, ownerId) => {
      const { waiting } = await waitingOf('owner_id', realm, ownerId).executeTakeFirstOrThrow()
      return Number(waiting)
    },

    request: (shared, { requestsOfRequester, requestsOfOwner }) => {
      const [first] = shared
      if (!first) return []
      const { realm, requesterId } = first
      const owners = [...new Set(shared.map(({ ownerId }) => ownerId))]
      const within = (party: 'owner_id' | 'requester_id', userId: string, most: number) =>
        atMost(storage, waitingOf(party, realm, userId), most, shareLimitGuard)
      return [
        holdUsers(storage, [requesterId, ...owners]),
        ...shared.map(ask),
        within('requester_id', requesterId, requestsOfRequester),
        ...owners.map((ownerId) => within('owner_id', ownerId, requestsOfOwner)),
      ]
    },

    grant: (shared) =>
      statement(
        db
          .insertInto('resource_shares')
          .values(rowOf(shared, true))
          .onConflict((conflict) =>
            conflict
              .columns([...once])
              .doUpdateSet({ granted: 1, granted_at: clock.now(), owner_id: shared.ownerId }),
          ),
      ),

    approve: (ownerId, id) =>
      guarded(
        db
          .updateTable('resource_shares')
          .set({ granted: 1, granted_at: clock.now() })
          .where('id', '=', id)
          .where('owner_id', '=', ownerId)
          .where('granted', '=', 0),
        shareGuard,
      ),

    remove: (ownerId, id) =>
      guarded(
        db.deleteFrom('resource_shares').where('id', '=', id).where('owner_id', '=', ownerId),
        shareGuard,
      ),

    removeOf: (clientId, id) =>
      guarded(
        db.deleteFrom('resource_shares').where('id', '=', id).where('client_id', '=', clientId),
        shareGuard,
      ),
  }
}
