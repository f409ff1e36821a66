/**
 * The guard of the admin API. Order of refusals: no session 401, CSRF 403, permission 403 (decisions.md). Session,
 * user and permissions are read from the database on every request: what was taken away a moment ago, on whatever
 * node, is refused now.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { EventType } from '#schemas/event-types.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { type Permission, permissionKeys } from '#schemas/permissions.ts'
import { Problem } from '#schemas/problems.ts'
import type { Ranks } from '#server/accounts/permissions.ts'
import type { Recorder } from '#server/events/audit.ts'
import { type Cookies, xsrfHeader } from '#server/http/cookies.ts'
import type { Csrf } from '#server/http/csrf.ts'
import type { AdminSession } from '#server/sessions/admin-session.ts'
import { csrfBinding, type Sessions } from '#server/sessions/sessions.ts'
import type { Copy } from '#server/storage/documents/copy.ts'

export interface GuardParts {
  readonly copy: Copy
  readonly ranks: Ranks
  readonly sessions: Sessions
  readonly recorder: Recorder
  readonly cookies: Cookies
  readonly csrf: Csrf
  readonly master: string
  readonly settingsOf: (realm: string) => Promise<SettingsDoc | null>
  readonly resolveSession: (
    cookies: Readonly<Record<string, string | undefined>>,
    realm: string,
  ) => Promise<AdminSession | null>
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

const denials: Readonly<Record<string, EventType>> = {
  POST: 'ADMIN_CREATE',
  PUT: 'ADMIN_UPDATE',
  PATCH: 'ADMIN_UPDATE',
  DELETE: 'ADMIN_DELETE',
}

const everything: ReadonlySet<Permission> = new Set(permissionKeys)
const nothing: ReadonlySet<Permission> = new Set()

export const installGuard = (app: FastifyInstance, parts: GuardParts): void => {
  const { copy, ranks, recorder, cookies, csrf, master } = parts

  /** In its own realm by its roles; a master realm-admin is one everywhere, any other master session nowhere. */
  const permissionsIn = async (
    realm: string,
    { user, sessionRealm }: AdminSession,
  ): Promise<ReadonlySet<Permission>> => {
    const view = await copy.fresh(sessionRealm)
    const held = view ? await ranks.permissionsOf(view, user.id) : nothing
    if (sessionRealm === realm) return held
    return held.has('realm-admin') ? everything : nothing
  }

  const deny = async (
    request: FastifyRequest,
    realm: string,
    actor: string,
    problem: Problem,
  ): Promise<never> => {
    const type = denials[request.method]
    const known = type && (await copy.known(realm))
    if (type && known)
      await recorder.append(
        [],
        [
          {
            type,
            realm,
            actor,
            sourceIp: request.ip,
            outcome: 'FAILURE',
            resourceType: request.routeOptions.config.resourceType ?? 'unknown',
            detail: `denied:${problem.code}`,
          },
        ],
      )
    throw problem
  }

  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    const { permission, ofServer } = request.routeOptions.config
    const params = request.params as { realm?: string }
    const realm = ofServer ? master : (params.realm ?? master)
    const session = await parts.resolveSession(request.cookies, realm)
    if (!session)
      throw new Problem('unauthenticated', `sign in at /realms/${encodeURIComponent(realm)}/login`)
    const binding = csrfBinding(session.session)
    const reading = safeMethods.has(request.method)
    if (!reading && !csrf.matches(binding, request.headers[xsrfHeader]))
      await deny(
        request,
        realm,
        session.user.id,
        new Problem('csrf', 'send the value of the XSRF-TOKEN cookie as X-XSRF-TOKEN'),
      )
    if (reading) reply.setCookie(cookies.xsrf.name, csrf.tokenFor(binding), cookies.xsrf.options)
    const permissions = await permissionsIn(realm, session)
    if (permission === undefined || !permissions.has(permission))
      await deny(
        request,
        realm,
        session.user.id,
        new Problem('forbidden', `this needs the permission ${permission ?? 'realm-admin'}`),
      )
    request.caller = { actor: session.user.id, sourceIp: request.ip, permissions }
    const settings = await parts.settingsOf(session.sessionRealm)
    if (settings) await parts.sessions.touch(session.session, settings)
  })
}

/** Every admin route says who may use it, how it is called and what it answers; else the server does not boot. */
export const insistOnDescriptions = (app: FastifyInstance): void => {
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    if (method === 'HEAD' || method === 'OPTIONS') return
    const lacks = [
      ...(config?.permission === undefined ? ['a permission'] : []),
      ...(schema && 'operationId' in schema ? [] : ['an operationId']),
      ...(schema?.response ? [] : ['a reply schema']),
    ]
    if (lacks.length > 0)
      throw new Error(`the admin route ${String(method)} ${url} lacks ${lacks.join(', ')}`)
  })
}
