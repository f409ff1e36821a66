/**
 * Policies of owners about their resources, as Keycloak's `uma-policy` has them: an owner opens scopes to the holders of roles,
 * the members of groups, to clients and to users. They add to what permissions grant, as shares do.
 *
 * Roles, groups and clients are kept by id: another one of the same name later is not meant. A party that was deleted is
 * never met again, so that a policy which wants all of its parties permits nothing then.
 */

import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { holdDocument } from '#server/storage/documents/reads.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { OwnerPolicyRow } from '#server/storage/tables/authz-tables.ts'
import type { DecisionStrategy } from './evaluation/strategy.ts'
import { atMost } from './holding-limits.ts'

/** The guard of a policy that is not there any more. */
const ownerPolicyGuard = 'owner-policy'
/** The guard of a policy that is one too many. */
const ownerPolicyLimitGuard = 'owner-policy-limit'

export interface Parties {
  /** Ids of documents of roles, client roles, groups and clients. */
  readonly documents: readonly string[]
  readonly users: readonly string[]
}

/** What an owner says. */
export interface OwnerPolicyFields {
  readonly name: string
  readonly description?: string | undefined
  /** Empty for all scopes of the resource. */
  readonly scopes: readonly string[]
  readonly decisionStrategy: DecisionStrategy
  readonly parties: Parties
}

export interface OwnerPolicyPlace {
  readonly realm: string
  readonly clientId: string
  readonly resourceId: string
  readonly ownerId: string
}

export interface OwnerPolicy extends OwnerPolicyFields, OwnerPolicyPlace {
  readonly id: string
}

export interface OwnerPolicyQuery {
  readonly clientId: string
  readonly ownerId?: string | undefined
  readonly resourceId?: string | undefined
  readonly name?: string | undefined
  readonly first: number
  readonly max: number
}

/** The requesting party: itself, and what it has. */
export interface Meeting {
  readonly clientId: string
  readonly documents: readonly string[]
  readonly userId?: string | undefined
}

export type MetPolicy = Pick<OwnerPolicyRow, 'name' | 'resource_id' | 'owner_id' | 'scopes'>

export interface OwnerPolicies {
  /** Of the resource server, oldest first. */
  list(query: OwnerPolicyQuery): Promise<OwnerPolicy[]>
  find(clientId: string, id: string): Promise<OwnerPolicy | undefined>
  /** Everything that the user decided, oldest first. */
  ofOwner(realm: string, ownerId: string): Promise<OwnerPolicy[]>
  /** Fails the guard `owner-policy-limit` where the resource has more than `most` then. */
  create(
    place: OwnerPolicyPlace,
    fields: OwnerPolicyFields,
    most: number,
  ): { readonly id: string; readonly statements: Statement[] }
  /** Fails the guard `owner-policy` where it is gone. */
  replace(id: string, fields: OwnerPolicyFields): Statement[]
  /** Fails the guard `owner-policy` unless it is the owner's. */
  remove(ownerId: string, id: string): Statement
  /** The same, by an administrator. Fails the guard `owner-policy` unless it is of the client. */
  removeOf(clientId: string, id: string): Statement
  /** The policies that permit, by one query. */
  metBy(meeting: Meeting): Promise<MetPolicy[]>
}

/** How many parties a decision strategy wants. */
const neededOf = ({ decisionStrategy, parties }: OwnerPolicyFields): number => {
  const count = parties.documents.length + parties.users.length
  if (decisionStrategy === 'AFFIRMATIVE') return 1
  return decisionStrategy === 'UNANIMOUS' ? count : Math.floor(count / 2) + 1
}

const columnsOf = (fields: OwnerPolicyFields) => ({
  name: fields.name,
  description: fields.description ?? null,
  scopes: JSON.stringify(fields.scopes),
  decision_strategy: fields.decisionStrategy,
  needed: neededOf(fields),
})

export const createOwnerPolicies = ({
  storage,
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db' | 'dialect'>
  readonly clock: Clock
}): OwnerPolicies => {
  const partyStatements = (policyId: string, { documents, users }: Parties): Statement[] =>
    insertRows(db, 'owner_policy_parties', [
      ...documents.map((id) => ({
        id: newId(),
        policy_id: policyId,
        document_id: id,
        user_id: null,
      })),
      ...users.map((id) => ({ id: newId(), policy_id: policyId, document_id: null, user_id: id })),
    ])

  const withParties = async (rows: readonly OwnerPolicyRow[]): Promise<OwnerPolicy[]> => {
    if (rows.length === 0) return []
    const ids = rows.map(({ id }) => id)
    const parties = Map.groupBy(
      await db
        .selectFrom('owner_policy_parties')
        .selectAll()
        .where('policy_id', 'in', ids)
        .orderBy('id')
        .execute(),
      ({ policy_id }) => policy_id,
    )
    return rows.map((row) => {
      const own = parties.get(row.id) ?? []
      return {
        id: row.id,
        realm: row.realm,
        clientId: row.client_id,
        resourceId: row.resource_id,
        ownerId: row.owner_id,
        name: row.name,
        ...(row.description === null ? {} : { description: row.description }),
        scopes: JSON.parse(row.scopes) as readonly string[],
        decisionStrategy: row.decision_strategy as DecisionStrategy,
        parties: {
          documents: own.flatMap(({ document_id: id }) => (id === null ? [] : [id])),
          users: own.flatMap(({ user_id: id }) => (id === null ? [] : [id])),
        },
      }
    })
  }

  return {
    list: async ({ clientId, ownerId, resourceId, name, first, max }) =>
      withParties(
        await db
          .selectFrom('owner_policies')
          .selectAll()
          .where('client_id', '=', clientId)
          .$if(ownerId !== undefined, (query) => query.where('owner_id', '=', ownerId ?? ''))
          .$if(resourceId !== undefined, (query) =>
            query.where('resource_id', '=', resourceId ?? ''),
          )
          .$if(name !== undefined, (query) => query.where('name', '=', name ?? ''))
          .orderBy('created_at')
          .orderBy('id')
          .limit(max)
          .offset(first)
          .execute(),
      ),

    find: async (clientId, id) => {
      const rows = await db
        .selectFrom('owner_policies')
        .selectAll()
        .where('id', '=', id)
        .where('client_id', '=', clientId)
        .execute()
      return (await withParties(rows))[0]
    },

    ofOwner: async (realm, ownerId) =>
      withParties(
        await db
          .selectFrom('owner_policies')
          .selectAll()
          .where('owner_id', '=', ownerId)
          .where('realm', '=', realm)
          .orderBy('created_at')
          .orderBy('id')
          .execute(),
      ),

    create: ({ realm, clientId, resourceId, ownerId }, fields, most) => {
      const id = newId()
      const row: OwnerPolicyRow = {
        id,
        realm,
        client_id: clientId,
        resource_id: resourceId,
        owner_id: ownerId,
        ...columnsOf(fields),
        created_at: clock.now(),
      }
      const stored = db
        .selectFrom('owner_policies')
        .select(({ fn }) => fn.countAll().as('stored'))
        .where('resource_id', '=', resourceId)
      return {
        id,
        statements: [
          holdDocument(storage, resourceId),
          ...insertRows(db, 'owner_policies', [row]),
          atMost(storage, stored, most, ownerPolicyLimitGuard),
          ...partyStatements(id, fields.parties),
        ],
      }
    },

    replace: (id, fields) => [
      guarded(
        db.updateTable('owner_policies').set(columnsOf(fields)).where('id', '=', id),
        ownerPolicyGuard,
      ),
      statement(db.deleteFrom('owner_policy_parties').where('policy_id', '=', id)),
      ...partyStatements(id, fields.parties),
    ],

    remove: (ownerId, id) =>
      guarded(
        db.deleteFrom('owner_policies').where('id', '=', id).where('owner_id', '=', ownerId),
        ownerPolicyGuard,
      ),

    removeOf: (clientId, id) =>
      guarded(
        db.deleteFrom('owner_policies').where('id', '=', id).where('client_id', '=', clientId),
        ownerPolicyGuard,
      ),

    metBy: ({ clientId, documents, userId = '' }) =>
      db
        .selectFrom('owner_policies as policy')
        .innerJoin('owner_policy_parties as party', 'party.policy_id', 'policy.id')
        .select(['policy.name', 'policy.resource_id', 'policy.owner_id', 'policy.scopes'])
        .where('policy.client_id', '=', clientId)
        .where(({ or, eb }) =>
          or([
            eb('party.user_id', '=', userId),
            ...(documents.length > 0 ? [eb('party.document_id', 'in', documents)] : []),
          ]),
        )
        .groupBy([
          'policy.id',
          'policy.name',
          'policy.resource_id',
          'policy.owner_id',
          'policy.scopes',
          'policy.needed',
          'policy.created_at',
        ])
        .having(({ fn, eb, ref }) => eb(fn.countAll(), '>=', ref('policy.needed')))
        .orderBy('policy.created_at')
        .orderBy('policy.id')
        .execute(),
  }
}
