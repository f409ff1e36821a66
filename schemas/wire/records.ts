/**
 * Records of the admin API that are no documents: callers, realms, users, sessions, keys, deliveries, invitations, secrets,
 * results of an import.
 */

import type { AdminAccess } from '../access/admin-access.ts'
import type { Permission } from '../access/permissions.ts'
import type { ChangesetRequest } from './wire.ts'

/** The caller, and the permissions of the caller in the realm of the request. */
export interface Whoami {
  readonly userId: string
  /** Of a service account its clientId. */
  readonly username: string
  /** The realm that the caller signed in to. */
  readonly realm: string
  readonly permissions: readonly Permission[]
  readonly adminAccess: AdminAccess
}

export interface RealmRecord {
  readonly realm: string
  /** Of its configuration. */
  readonly revision: number
  readonly createdAt: number
}

export type Attributes = Readonly<Record<string, readonly string[]>>

/** What may be written of a user, apart from credentials and memberships. */
export interface UserFields {
  readonly username: string
  readonly email: string | null
  readonly emailVerified: boolean
  readonly firstName: string | null
  readonly lastName: string | null
  readonly enabled: boolean
  /** By an administrator; a lock by failed attempts is none of these fields. */
  readonly locked: boolean
  readonly attributes: Attributes
  readonly requiredActions: readonly string[]
}

export interface UserRecord extends UserFields {
  readonly realmId: string
  readonly userId: string
  readonly mfaEnabled: boolean
  /** Names of the realm roles that the user holds directly. */
  readonly roles: readonly string[]
  /** Whether the user's declared fields are kept equal to a file. */
  readonly managed: boolean
  readonly createdAt: number
}

import type { CertificateFacts } from '../public-keys/certificates.ts'

/** A session, as the admin API lists it. */
export interface SessionRecord {
  readonly id: string
  readonly userId: string
  readonly username: string
  readonly ipAddress: string
  readonly start: number
  readonly lastAccess: number
  readonly rememberMe: boolean
  /** The administrator who acts as the user in it, by name; null where the user does. */
  readonly impersonator: string | null
  /** clientIds by the id of the client. */
  readonly clients: Readonly<Record<string, string>>
}

/** ACTIVE signs, NEXT is published and will sign, PASSIVE verifies earlier signatures. */
export const keyStatuses = ['ACTIVE', 'NEXT', 'PASSIVE'] as const
export type KeyStatus = (typeof keyStatuses)[number]

export interface KeyRecord {
  readonly keyId: string
  readonly algorithm: string
  readonly status: KeyStatus
  /** Base64 of the DER. */
  readonly publicKey: string
  readonly certificate: string
  readonly createdAt: number
  /** Of a NEXT key after a rotation. */
  readonly signsFrom: number | null
  readonly rotatedAt: number | null
}

/** An initial access token, which is answered once. */
export interface InitialTokenRecord {
  readonly id: string
  readonly token: string
  /** Seconds; 0 means unlimited. */
  readonly expiration: number
  readonly count: number | null
  readonly remainingCount: number | null
}

/** The secret of a client; the value is null where the realm keeps its hash. */
export interface ClientSecretRecord {
  readonly type: 'secret'
  readonly value: string | null
  readonly secretSet: boolean
  readonly createdAt: number | null
  /** Until when the one before is good. */
  readonly expiresAt: number | null
}

/** The delivery of an event to a webhook. */
export interface DeliveryRecord {
  readonly id: string
  readonly status: 'PENDING' | 'DELIVERED' | 'FAILED'
  /** Null once the event is not kept any more. */
  readonly eventId: string | null
  readonly eventType: string | null
  readonly attempts: number
  readonly createdAt: number
  /** Of one that is to be tried, or is being tried. */
  readonly nextAttemptAt: number | null
  readonly finishedAt: number | null
  readonly lastAttemptAt: number | null
  readonly responseStatus: number | null
  readonly durationMs: number | null
  readonly reason: string | null
}

/** What came of a test delivery. */
export interface TestDelivery {
  /** The `webhook-id` that was sent. */
  readonly id: string
  readonly delivered: boolean
  readonly responseStatus: number | null
  readonly durationMs: number
  readonly reason: string | null
}

/** An invitation into an organization; times in epoch milliseconds. */
export interface InvitationRecord {
  readonly id: string
  readonly organizationId: string
  readonly email: string
  readonly createdAt: number
  readonly expiresAt: number
}

export const importActions = ['ADDED', 'SKIPPED', 'OVERWRITTEN'] as const

export interface ImportedUserResult {
  readonly action: (typeof importActions)[number]
  readonly resourceType: 'USER'
  readonly resourceName: string
  /** Of a dry run only where the user is there already. */
  readonly id?: string
}

/** Roles and groups that users name and the realm does not have. */
export interface MissingMembership {
  readonly kind: string
  readonly key: string
  readonly users: number
}

export interface UserImportReply {
  readonly added: number
  readonly skipped: number
  readonly overwritten: number
  readonly results: readonly ImportedUserResult[]
  readonly missing: readonly MissingMembership[]
}

/** The state of a realm's SAML identity provider, as `GET …/saml/status` tells it. Times are epoch milliseconds. */
export interface SamlStatus {
  readonly signingKeys: readonly (CertificateFacts & {
    readonly kid: string
    readonly status: KeyStatus
  })[]
  readonly serviceProviders: readonly {
    readonly entityId: string
    readonly enabled: boolean
    /** Of the last 30 days, the latest first. */
    readonly keysUsed: readonly { readonly kid: string; readonly usedAt: number }[]
    readonly pinned: {
      readonly kid: string
      readonly until: number | null
      readonly isKnown: boolean
    } | null
    readonly certificates: readonly (CertificateFacts & { readonly field: string })[]
    readonly metadata: {
      readonly url: string
      readonly readAt: number | null
      readonly validUntil: number | null
      readonly failedAt: number | null
      readonly failure: string | null
    } | null
  }[]
}

type AuthzStatus = 'PERMIT' | 'DENY'

/** The answer of a policy, of an aggregate with those of its policies. */
export interface AuthzPolicyAnswer {
  readonly name: string
  readonly type: string
  readonly logic: string
  readonly status: AuthzStatus
  readonly why: string
  readonly policies?: readonly AuthzPolicyAnswer[]
}

/** A decision of authorization services, explained, as `POST …/authz/evaluate` answers it. */
export interface AuthzEvaluation {
  readonly status: AuthzStatus
  readonly results: readonly {
    readonly resource: { readonly _id: string | null; readonly name: string | null }
    readonly status: AuthzStatus
    readonly allowedScopes: readonly string[]
    readonly scopes: readonly {
      readonly name: string | null
      readonly status: AuthzStatus
      readonly why: string
      readonly permissions: readonly {
        readonly name: string
        readonly type: string
        readonly decisionStrategy: string
        readonly status: AuthzStatus
        readonly policies: readonly AuthzPolicyAnswer[]
      }[]
    }[]
  }[]
}

/** A question to authorization services. */
export interface AuthzQuestion {
  readonly userId?: string
  readonly clientId?: string
  readonly roleIds?: readonly string[]
  readonly resources?: readonly { readonly name?: string; readonly scopes?: readonly string[] }[]
  readonly context?: { readonly time: string }
  readonly changeset?: ChangesetRequest
}

/** A policy of an owner about a resource, as `GET …/authz/owner-policies` lists it. */
export interface OwnerPolicyRecord {
  readonly id: string
  readonly name: string
  readonly description?: string
  readonly owner: string
  readonly resourceId: string
  readonly resource: string
  /** Empty for all scopes of the resource. */
  readonly scopes: readonly string[]
  readonly decisionStrategy: string
  readonly roles?: readonly string[]
  readonly groups?: readonly string[]
  readonly clients?: readonly string[]
  readonly users?: readonly string[]
}

/** A scope that an owner shares or is asked to share, as `GET …/authz/shares` lists it. */
export interface ShareRecord {
  readonly id: string
  readonly resourceId: string
  readonly resource: string
  /** Null for a resource without scopes. */
  readonly scope: string | null
  readonly owner: string
  readonly requester: string
  readonly granted: boolean
  readonly createdAt: number
}
