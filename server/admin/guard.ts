/**
 * The guard of the admin API. Order of refusals: no session 401, CSRF 403, permission 403 (docs/decisions/admin-api.md).
 * Session, user and permissions are read from the database on every request: a revocation on any node is effective with the
 * next request. A request with an access token is authenticated by the token alone: its cookies are not read, so it needs
 * no CSRF token. Denied writes, here or by the handler, are audited.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Permission, permissionKeys } from '#schemas/access/permissions.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { Problem, type ProblemCode } from '#schemas/problems.ts'
import { versionHeader } from '#schemas/wire/capabilities.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { eventOfMethod, eventsOf, type RoutePermission } from '#server/http/caller.ts'
import { type Cookies, xsrfHeader } from '#server/http/cookies/cookies.ts'
import type { Csrf } from '#server/http/cookies/csrf.ts'
import { type Metrics, outcomeOf } from '#server/metrics/metrics.ts'
import type { AdminSession } from '#server/sessions/admin-session.ts'
import { type Doer, doerOf } from '#server/sessions/doer.ts'
import { csrfBinding, type Sessions } from '#server/sessions/sessions.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { printable } from '#server/users/names.ts'
import type { Ranks } from '#server/users/permissions.ts'
import type { AdminTokens } from './bearer.ts'
import { release } from './build-info.ts'

export interface GuardParts {
  readonly copy: Copy
  readonly ranks: Ranks
  readonly sessions: Sessions
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'adminWrite'>
  readonly cookies: Cookies
  readonly csrf: Csrf
  readonly master: string
  readonly settingsOf: (realm: string) => Promise<SettingsDoc | null>
  readonly resolveSession: (
    cookies: Readonly<Record<string, string | undefined>>,
    realm: string,
  ) => Promise<AdminSession | null>
  readonly tokens: AdminTokens
}

/** The caller of a request, before authorization. */
interface Identity {
  readonly actor: string
  readonly onBehalfOf?: string
  readonly ownRealm: string
  readonly session?: AdminSession
  readonly planOnly?: boolean
  /** In their own realm. */
  readonly permissions: () => Promise<ReadonlySet<Permission>>
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

const deniedCodes: ReadonlySet<ProblemCode> = new Set(['csrf', 'forbidden'])

/** What the path names as the resource: the value right after the segment that is its type. */
const namedBy = ({ routeOptions, params }: FastifyRequest): string | undefined => {
  const segments = routeOptions.url?.split('/') ?? []
  const place = segments.lastIndexOf(routeOptions.config.resourceType ?? '')
  const parameter = place === -1 ? undefined : segments[place + 1]
  const value = parameter?.startsWith(':')
    ? (params as Record<string, string | undefined>)[parameter.slice(1)]
    : undefined
  return value === undefined ? undefined : printable(value, 255)
}

const needed = (permission: RoutePermission | undefined): string =>
  permission === 'per-kind' ? 'a permission' : `the permission ${permission ?? 'realm-admin'}`

/** Audited reads return secrets. Other routes declare themselves whether plan-only callers may use them. */
const isPlanning = ({ method, routeOptions: { config } }: FastifyRequest): boolean =>
  config.planning === true || (safeMethods.has(method) && eventsOf(method, config).length === 0)

const allows = (
  permissions: ReadonlySet<Permission>,
  permission: RoutePermission | undefined,
): boolean =>
  permission === 'per-kind'
    ? permissions.size > 0
    : permission !== undefined && permissions.has(permission)

const everything: ReadonlySet<Permission> = new Set(permissionKeys)
const nothing: ReadonlySet<Permission> = new Set()

export const installGuard = (app: FastifyInstance, parts: GuardParts): void => {
  const { copy, ranks, recorder, metrics, cookies, csrf, master, tokens } = parts

  const bySession = async (request: FastifyRequest, realm: string): Promise<Identity> => {
    const session = await parts.resolveSession(request.cookies, realm)
    if (!session)
      throw new Problem('unauthenticated', `sign in at /realms/${encodeURIComponent(realm)}/login`)
    return {
      ...doerOf(session.user.id, session.session),
      ownRealm: session.sessionRealm,
      session,
      permissions: async () => {
        const view = await copy.fresh(session.sessionRealm)
        return view ? ranks.permissionsOf(view, session.user.id) : nothing
      },
    }
  }

  const byToken = async (
    request: FastifyRequest,
    realm: string,
    isProven = false,
  ): Promise<Identity> => {
    const { actor, tokenRealm, permissions, planOnly } = await tokens.resolve(
      request,
      realm,
      isProven,
    )
    return { actor, ownRealm: tokenRealm, planOnly, permissions: async () => permissions }
  }

  /** In their own realm by their roles; a master realm-admin is one everywhere, any other of master nowhere. */
  const permissionsIn = async (
    realm: string,
    { ownRealm, permissions }: Identity,
  ): Promise<ReadonlySet<Permission>> => {
    const held = await permissions()
    if (ownRealm === realm) return held
    return held.has('realm-admin') ? everything : nothing
  }

  /** Of its session; each read returns the token again. */
  const checkCsrf = (
    request: FastifyRequest,
    reply: FastifyReply,
    { session }: AdminSession,
  ): void => {
    const binding = csrfBinding(session)
    if (safeMethods.has(request.method))
      reply.setCookie(cookies.xsrf.name, csrf.tokenFor(binding), cookies.xsrf.options)
    else if (!csrf.matches(binding, request.headers[xsrfHeader]))
      throw new Problem('csrf', 'send the value of the XSRF-TOKEN cookie as X-XSRF-TOKEN')
  }

  /** The authenticated caller of a request, also if the request is denied afterwards. */
  const identified = new WeakMap<FastifyRequest, Doer & { readonly realm: string }>()

  const recordDenial = async (request: FastifyRequest, problem: Problem): Promise<void> => {
    const who = identified.get(request)
    const type = eventOfMethod[request.method]
    if (!who || !type || !deniedCodes.has(problem.code)) return
    if (!(await copy.known(who.realm))) return
    const resourceId = namedBy(request)
    await recorder.append(
      [],
      [
        {
          type,
          ...who,
          sourceIp: request.ip,
          outcome: 'FAILURE',
          resourceType: request.routeOptions.config.resourceType ?? 'unknown',
          ...(resourceId === undefined ? {} : { resourceId }),
          detail: `denied:${problem.code}`,
        },
      ],
    )
  }

  app.setErrorHandler(async (error, request, reply) => {
    if (error instanceof Problem) {
      if (error.code === 'unauthenticated') reply.headers(tokens.challenge(request, error))
      await recordDenial(request, error)
    }
    throw error
  })

  const realmOf = ({ routeOptions, params }: FastifyRequest): string => {
    const { realm = master } = params as { realm?: string }
    return routeOptions.config.ofServer ? master : realm
  }

  // Before the response is sent, so that a client that has it finds it counted.
  app.addHook('onSend', async (request, { statusCode }) => {
    const outcome = safeMethods.has(request.method) ? undefined : outcomeOf(statusCode)
    if (outcome) await metrics.adminWrite(realmOf(request), request.method, outcome)
  })

  app.addHook('onRequest', (_request, reply, done) => {
    reply.header(versionHeader, release.version)
    done()
  })

  const isStillAllowed = async (request: FastifyRequest, realm: string): Promise<boolean> => {
    try {
      const who = tokens.presented(request)
        ? await byToken(request, realm, true)
        : await bySession(request, realm)
      return allows(await permissionsIn(realm, who), request.routeOptions.config.permission)
    } catch (error) {
      if (error instanceof Problem) return false
      throw error
    }
  }

  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    const { permission } = request.routeOptions.config
    const realm = realmOf(request)
    const identify = tokens.presented(request) ? byToken : bySession
    const who = await identify(request, realm)
    const { actor, onBehalfOf, ownRealm, session, planOnly = false } = who
    const doer: Doer = { actor, ...(onBehalfOf === undefined ? {} : { onBehalfOf }) }
    identified.set(request, { realm, ...doer })
    if (session) checkCsrf(request, reply, session)
    const permissions = await permissionsIn(realm, who)
    if (!allows(permissions, permission))
      throw new Problem('forbidden', `this needs ${needed(permission)}`)
    if (planOnly && !isPlanning(request))
      throw new Problem('forbidden', 'the access token is for planning: it changes nothing')
    request.caller = {
      ...doer,
      sourceIp: request.ip,
      ...(session ? { session: session.session.id } : {}),
      ofMaster: ownRealm === master && permissions.has('realm-admin'),
      permissions,
      ...(planOnly ? { planOnly } : {}),
      stillAllowed: () => isStillAllowed(request, realm),
    }
    const settings = session && (await parts.settingsOf(ownRealm))
    if (settings) await parts.sessions.touch(session.session, settings)
  })
}

/** Every admin route declares its permission, operationId and reply schema; otherwise the server does not boot. */
export const insistOnDescriptions = (app: FastifyInstance): void => {
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    if (method === 'HEAD' || method === 'OPTIONS') return
    const lacks = [
      ...(config?.permission === undefined ? ['a permission'] : []),
      ...(schema && 'operationId' in schema && schema.operationId ? [] : ['an operationId']),
      ...(Object.keys(schema?.response ?? {}).length > 0 ? [] : ['a reply schema']),
    ]
    if (lacks.length > 0)
      throw new Error(`the admin route ${String(method)} ${url} lacks ${lacks.join(', ')}`)
  })
}
