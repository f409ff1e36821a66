/** The caller of an admin request, set by the guard; and the declarations of a route for the guard. */

import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { type Permission, permissionKeys } from '#schemas/access/permissions.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { Problem } from '#schemas/problems.ts'
import type { EventType } from '#schemas/wire/event-types.ts'

export interface Caller {
  /** The id of the user or service account; of the administrator in a session in which one acts as a user. */
  readonly actor: string
  /** The user whom the administrator impersonates. */
  readonly onBehalfOf?: string
  readonly sourceIp: string
  /** The session that the request came with, if it came with one. */
  readonly session?: string
  /** A realm-admin of the master realm, who may make realms. */
  readonly ofMaster?: boolean
  /** Effective permissions in the realm of the request. */
  readonly permissions: ReadonlySet<Permission>
  /** Accepted for references that are marked `needs`, and never held: what a scope of a SCIM token stands for. */
  readonly scoped?: ReadonlySet<Permission>
  /** May read, compare and dry-run only: write handlers call `refuseUnlessDry`. */
  readonly planOnly?: boolean
  /** Whether the same request would still be let in: for one that is answered for long. */
  readonly stillAllowed?: () => Promise<boolean>
}

/** What an audit event says of the caller. */
export const doneBy = ({
  actor,
  onBehalfOf,
  sourceIp,
}: Caller): Pick<Caller, 'actor' | 'onBehalfOf' | 'sourceIp'> => ({
  actor,
  ...(onBehalfOf === undefined ? {} : { onBehalfOf }),
  sourceIp,
})

/** Whether the caller is this user, or acts as this user. */
export const isSelf = ({ actor, onBehalfOf }: Caller, userId: string): boolean =>
  userId === actor || userId === onBehalfOf

/** The actor of writes of the server itself. */
export const systemCaller: Caller = {
  actor: 'system',
  sourceIp: '127.0.0.1',
  permissions: new Set(permissionKeys),
}

/**
 * The permission of a route. `per-kind` admits callers with any permission: the handler checks the permissions of the kinds
 * in the request.
 */
export type RoutePermission = Permission | 'per-kind'

/**
 * The caller of a route outside the admin API: a session that sends its CSRF token as a header, or in the form of a page;
 * an access token for the account API; an access token of the realm; a token of a sender of SCIM.
 */
export type CallerKind = 'session' | 'page' | 'account-token' | 'token' | 'scim-token'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the guard on every admin request that passes it. */
    caller: Caller | null
  }
  interface FastifyContextConfig {
    /** The permission an admin route needs; the server does not boot with an admin route that lacks one. */
    permission?: RoutePermission
    /** The route is of the whole server: it takes a session of the master realm. */
    ofServer?: boolean
    /** The media types of the body, where it is not JSON alone. */
    bodyTypes?: readonly string[]
    /** What the handler takes as body; checked there, because a PUT may repeat read-only fields. */
    body?: JsonSchema
    /** Parameters of the query that the handler reads itself, for the API description. */
    query?: JsonSchema
    /** The path segment that audit events of this route carry. */
    resourceType?: string
    /** What it records, the event of the write itself first; by its method where it is not given. */
    events?: readonly EventType[]
    /** Plan-only callers may use it although it is a write: the handler refuses everything but dry runs. */
    planning?: boolean
    /** Callers of a route outside the admin API; public if not given. */
    callers?: readonly CallerKind[]
    /** The kind whose documents the route serves, of a declared one. */
    kind?: string
  }
}

/** The event of a write that says nothing else, and of every one that is denied. */
export const eventOfMethod: Readonly<Record<string, EventType>> = {
  POST: 'ADMIN_CREATE',
  PUT: 'ADMIN_UPDATE',
  PATCH: 'ADMIN_UPDATE',
  DELETE: 'ADMIN_DELETE',
}

/** The audit events that a route records; none for most reads. */
export const eventsOf = (method: string, config: FastifyContextConfig = {}): readonly EventType[] =>
  config.events ?? [eventOfMethod[method]].filter((event) => event !== undefined)

export const callerOf = ({ caller }: FastifyRequest): Caller => {
  if (!caller) throw new Problem('unauthenticated', 'sign in first')
  return caller
}

export const refuseUnlessDry = ({ planOnly }: Caller, dryRun: boolean): void => {
  if (planOnly && !dryRun)
    throw new Problem('forbidden', 'the access token is for planning: only dry runs are allowed')
}
