/**
 * Resources of the signed-in owner (UMA 2.0): shares, requests for shares, and resources that other owners share. Only
 * resources with `ownerManagedAccess` that name the user as their owner are among them.
 */

import {
  AuthzResource,
  type AuthzResourceDoc,
} from '#schemas/kinds/authorization/authz-resource.ts'
import { Client, displayNameOf } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { isNamed } from '#server/authz/evaluation/facts.ts'
import type { OwnerPolicies } from '#server/authz/owner-policies.ts'
import type { Shares } from '#server/authz/shares.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { perView } from '#server/storage/documents/kept.ts'
import type { ResourceShareRow } from '#server/storage/tables/authz-tables.ts'
import { clientOf } from '#server/tokens/client.ts'
import { usersByIds } from '#server/users/user-rows.ts'
import type { Users } from '#server/users/users.ts'
import { objectOf } from './description.ts'
import { nothing, type Operation, withBody } from './operation.ts'
import { type Self, selfEvent } from './self.ts'

interface Parts {
  readonly storage: Pick<Storage, 'db'>
  readonly shares: Shares
  readonly ownerPolicies: Pick<OwnerPolicies, 'ofOwner' | 'remove'>
  readonly users: Pick<Users, 'find'>
  readonly recorder: Recorder
}

/** A share, or a request for one. */
export interface ShareRecord {
  readonly id: string
  readonly resourceId: string
  readonly resource: string
  readonly application: string
  /** Null for a resource that has no scopes. */
  readonly scope: string | null
  /** The other side: the requester, or on the requester's own list the owner. */
  readonly username: string
  readonly granted: boolean
  readonly createdAt: number
}

/** A policy by which the user opens a resource, made through its application. */
export interface PolicyRecord {
  readonly id: string
  readonly resourceId: string
  readonly resource: string
  readonly application: string
  readonly name: string
  /** Empty for all scopes of the resource. */
  readonly scopes: readonly string[]
}

export interface OwnedResource {
  readonly id: string
  readonly name: string
  readonly application: string
  readonly scopes: readonly string[]
}

export interface SharingRecord {
  /** Resources of the user. */
  readonly resources: readonly OwnedResource[]
  /** What others ask the user for. */
  readonly requests: readonly ShareRecord[]
  /** What the user shares with others. */
  readonly shares: readonly ShareRecord[]
  /** Policies by which the user opens resources to roles, groups, clients and users. */
  readonly policies: readonly PolicyRecord[]
  /** What others share with the user, and what the user has asked for. */
  readonly received: readonly ShareRecord[]
}

export interface NewShare {
  readonly resourceId: string
  readonly username: string
  readonly scopes?: readonly string[]
}

interface Managed {
  readonly document: StoredDocument
  readonly doc: AuthzResourceDoc
}

/** Resources with owners who decide. */
const managedIn = perView(
  async (view): Promise<readonly Managed[]> =>
    (await view.list(AuthzResource.kind)).flatMap((document) => {
      const doc = contentOf<AuthzResourceDoc>(document)
      return doc.ownerManagedAccess && doc.owner ? [{ document, doc }] : []
    }),
)

/** Whether the realm has anything to share. */
export const offersSharing = async (view: RealmView): Promise<boolean> =>
  (await managedIn(view)).length > 0

const nameOf = ({ name, displayName }: AuthzResourceDoc): string => displayName || name

const applicationOf = async (view: RealmView, clientId: string | null): Promise<string> => {
  const document = await view.byId(Client.kind, clientId ?? '')
  return document ? displayNameOf(clientOf(document).doc) : ''
}

/** What a user shares, decided and has asked for, without the names of others, for the export of the user's data. */
export const sharesIn = async (
  {
    shares,
    ownerPolicies,
  }: {
    readonly shares: Pick<Shares, 'ofOwner' | 'ofRequester'>
    readonly ownerPolicies: Pick<OwnerPolicies, 'ofOwner'>
  },
  realm: string,
  userId: string,
) => {
  const told = (role: 'owner' | 'requester') => (row: ResourceShareRow) => ({
    role,
    resourceId: row.resource_id,
    scope: row.scope || null,
    granted: row.granted === 1,
    createdAt: row.created_at,
  })
  return [
    ...(await shares.ofOwner(realm, userId)).map(told('owner')),
    ...(await shares.ofRequester(realm, userId)).map(told('requester')),
    ...(await ownerPolicies.ofOwner(realm, userId)).map(({ name, resourceId, scopes }) => ({
      role: 'owner',
      policy: name,
      resourceId,
      scopes,
    })),
  ]
}

export const createOwnSharing = (parts: Parts) => {
  const { storage, shares, ownerPolicies, users, recorder } = parts
  const ownedBy = async ({ issuer, user }: Self): Promise<readonly Managed[]> =>
    (await managedIn(issuer.view)).filter(({ doc }) => isNamed(doc.owner ?? '', user))

  const recordsOf = async (
    { issuer: { view } }: Self,
    rows: readonly ResourceShareRow[],
    other: (row: ResourceShareRow) => string,
  ): Promise<readonly ShareRecord[]> => {
    const ids = [...new Set(rows.map(other))]
    const names = new Map((await usersByIds(storage, ids)).map((one) => [one.id, one.username]))
    const records: ShareRecord[] = []
    for (const row of rows) {
      const document = await view.byId(AuthzResource.kind, row.resource_id)
      if (!document) continue
      records.push({
        id: row.id,
        resourceId: row.resource_id,
        resource: nameOf(contentOf<AuthzResourceDoc>(document)),
        application: await applicationOf(view, row.client_id),
        scope: row.scope || null,
        username: names.get(other(row)) ?? '',
        granted: row.granted === 1,
        createdAt: row.created_at,
      })
    }
    return records
  }

  const policiesOf = async (
    { issuer: { name: realm, view }, user }: Self,
    owned: readonly Managed[],
  ): Promise<readonly PolicyRecord[]> => {
    const byId = new Map(owned.map((one) => [one.document.id, one]))
    const records: PolicyRecord[] = []
    for (const { id, name, resourceId, scopes } of await ownerPolicies.ofOwner(realm, user.id)) {
      const found = byId.get(resourceId)
      if (!found) continue
      const application = await applicationOf(view, found.document.parentId)
      records.push({ id, name, resourceId, resource: nameOf(found.doc), application, scopes })
    }
    return records
  }

  /** Fails as not-found where the share or the policy is none of the user's. */
  const decide = async (
    self: Self,
    statements: readonly Statement[],
    detail: string,
  ): Promise<void> => {
    try {
      await recorder.commit(statements, [selfEvent(self, 'PERMISSION_DECISION', detail)])
    } catch (error) {
      if (!(error instanceof GuardFailedError)) throw error
      throw new Problem('not-found', 'There is no such share or policy of yours.')
    }
  }

  return {
    list: async (self: Self): Promise<SharingRecord> => {
      const { issuer, user } = self
      const owned = await ownedBy(self)
      const ids = new Set(owned.map(({ document }) => document.id))
      const asOwner = (await shares.ofOwner(issuer.name, user.id)).filter((row) =>
        ids.has(row.resource_id),
      )
      const given = await recordsOf(self, asOwner, (row) => row.requester_id)
      const rows = await shares.ofRequester(issuer.name, user.id)
      return {
        resources: await Promise.all(
          owned.map(async ({ document, doc }) => ({
            id: document.id,
            name: nameOf(doc),
            application: await applicationOf(issuer.view, document.parentId),
            scopes: doc.scopes,
          })),
        ),
        requests: given.filter(({ granted }) => !granted),
        shares: given.filter(({ granted }) => granted),
        policies: await policiesOf(self, owned),
        received: await recordsOf(self, rows, (row) => row.owner_id),
      }
    },

    share: async (self: Self, { resourceId, username, scopes }: NewShare): Promise<void> => {
      const { issuer, user } = self
      const found = (await ownedBy(self)).find(({ document }) => document.id === resourceId)
      if (!found) throw new Problem('not-found', 'You own no such resource.')
      const wanted = scopes ?? found.doc.scopes
      if (wanted.some((scope) => !found.doc.scopes.includes(scope)))
        throw new Problem('bad-request', 'The resource does not have this scope.')
      if (wanted.length === 0 && found.doc.scopes.length > 0)
        throw new Problem('bad-request', 'Choose at least one scope.')
      const requester = await users.find(issuer.name, username)
      if (!requester || requester.id === user.id)
        throw new Problem('not-found', 'There is no other user of this name.')
      const named = wanted.length === 0 ? [null] : wanted
      await decide(
        self,
        named.map((scope) =>
          shares.grant({
            realm: issuer.name,
            clientId: found.document.parentId ?? '',
            resourceId,
            scope,
            ownerId: user.id,
            requesterId: requester.id,
          }),
        ),
        `shared ${resourceId}`,
      )
    },

    approve: (self: Self, id: string): Promise<void> =>
      decide(self, [shares.approve(self.user.id, id)], `approved ${id}`),

    /** Denies a request, or ends a share. */
    remove: (self: Self, id: string): Promise<void> =>
      decide(self, [shares.remove(self.user.id, id)], `removed ${id}`),

    removePolicy: (self: Self, id: string): Promise<void> =>
      decide(self, [ownerPolicies.remove(self.user.id, id)], `policy ${id} removed`),
  }
}

export type OwnSharing = ReturnType<typeof createOwnSharing>

const text = { type: 'string' } as const
const scopes = { type: 'array', maxItems: 1000, items: text } as const

const shareList = {
  type: 'array',
  items: objectOf({
    id: text,
    resourceId: text,
    resource: text,
    application: text,
    scope: { type: ['string', 'null'] },
    username: text,
    granted: { type: 'boolean' },
    createdAt: { type: 'integer' },
  }),
} as const

const sharingSchema = {
  title: 'own-sharing',
  description: 'Resources, requests and shares.',
  ...objectOf({
    resources: {
      type: 'array',
      items: objectOf({ id: text, name: text, application: text, scopes }),
    },
    requests: shareList,
    shares: shareList,
    policies: {
      type: 'array',
      items: objectOf({
        id: text,
        resourceId: text,
        resource: text,
        application: text,
        name: text,
        scopes,
      }),
    },
    received: shareList,
  }),
}

const path = '/sharing'
/** Beside the page, whose form is posted to the path itself. */
const sharesPath = `${path}/shares`

export const sharingOperations = (sharing: OwnSharing): Operation[] => [
  {
    method: 'GET',
    path,
    operationId: 'list-own-sharing',
    summary: 'Resources of the user, who they are shared with, and who asks for them',
    replies: { 200: sharingSchema },
    refusals: [401, 403, 404],
    handle: (self) => sharing.list(self),
  },
  withBody<NewShare>(
    objectOf({ resourceId: text, username: text, scopes }, ['resourceId', 'username']),
    {
      method: 'POST',
      path: sharesPath,
      operationId: 'share-own-resource',
      summary: 'Shares a resource with another user; all of its scopes unless some are named',
      replies: { 204: nothing },
      refusals: [400, 401, 403, 404],
      events: ['PERMISSION_DECISION'],
      handle: (self, body) => sharing.share(self, body),
    },
  ),
  {
    method: 'POST',
    path: `${sharesPath}/:id/approve`,
    operationId: 'approve-own-share',
    summary: 'Grants what another user asks for',
    replies: { 204: nothing },
    refusals: [401, 403, 404],
    events: ['PERMISSION_DECISION'],
    handle: (self, { params }) => sharing.approve(self, params.id),
  },
  {
    method: 'DELETE',
    path: `${sharesPath}/:id`,
    operationId: 'remove-own-share',
    summary: 'Denies a request, or ends a share',
    replies: { 204: nothing },
    refusals: [401, 403, 404],
    events: ['PERMISSION_DECISION'],
    handle: (self, { params }) => sharing.remove(self, params.id),
  },
  {
    method: 'DELETE',
    path: `${path}/policies/:id`,
    operationId: 'remove-own-policy',
    summary: 'Removes a policy by which the user opens a resource',
    replies: { 204: nothing },
    refusals: [401, 403, 404],
    events: ['PERMISSION_DECISION'],
    handle: (self, { params }) => sharing.removePolicy(self, params.id),
  },
]
