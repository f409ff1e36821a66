/**
 * Impersonation: signs the administrator's browser in as a user. It needs realm-admin, and the user must not hold more
 * permissions than the caller. The session names the administrator: tokens carry `act`, pages a banner, the audit trail a
 * SECURITY event.
 */

import { Problem } from '#schemas/problems.ts'
import { isSelf } from '#server/http/caller.ts'
import type { Cookies } from '#server/http/cookies/cookies.ts'
import { isImpersonated } from '#server/sessions/doer.ts'
import { type Action, bodyOf } from '../action.ts'
import { settingsIn, type UserParts, userEvent, userToChange } from './users.ts'

export interface ImpersonateParts extends UserParts {
  readonly cookies: Cookies
}

export const impersonate = (parts: ImpersonateParts): Action => ({
  operationId: 'impersonate-user',
  method: 'POST',
  path: '/users/:userId/impersonate',
  permission: 'realm-admin',
  resourceType: 'users',
  events: ['ADMIN_ACTION', 'IMPERSONATE'],
  summary: 'Starts a session as the user, in the browser that asks',
  reply: {
    status: 200,
    schema: bodyOf({ sameRealm: { type: 'boolean' }, redirect: { type: 'string' } }),
  },
  handle: async (context) => {
    const { realm, caller, request, reply } = context
    if (caller.session === undefined)
      throw new Problem('forbidden', 'only a session can act as a user, not a token')
    const user = await userToChange(parts, context)
    if (isSelf(caller, user.id)) throw new Problem('conflict', 'you are this user already')
    if (user.enabled !== 1 || user.locked === 1)
      throw new Problem('conflict', 'the user cannot sign in: enable and unlock the user first')
    // The audit trail must lead to a person: an impersonated session cannot impersonate.
    if (await isImpersonated(parts.storage, caller.session))
      throw new Problem('forbidden', 'you act as a user already')
    const settings = await settingsIn(context)
    const opened = parts.sessions.openStatements({
      realm,
      userId: user.id,
      ip: request.ip,
      userAgent: request.headers['user-agent'],
      rememberMe: false,
      settings,
      amr: [],
      impersonator: caller.actor,
      replaces: request.cookies[parts.cookies.session(realm).name],
    })
    await parts.recorder.commit(opened.statements, [
      userEvent(context, 'ADMIN_ACTION', user.id, 'impersonate'),
      userEvent(context, 'IMPERSONATE', user.id),
    ])
    const { name, options } = parts.cookies.session(realm)
    reply.setCookie(name, opened.cookieValue, options).header('cache-control', 'no-store')
    return {
      sameRealm: (await parts.users.find(realm, caller.actor)) !== undefined,
      redirect: `/realms/${realm}/account`,
    }
  },
})
