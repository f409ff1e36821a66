/**
 * The password grant (RFC 6749 §4.3), for legacy clients that list it. It uses the same password verification and counters as
 * the sign-in page, and follows the flow of the realm (`directGrantFlow`, else `browserFlow`): if that needs more than a
 * password, the grant is refused. The client does not learn the reason of a failure, which would help guessing.
 */

import type { AuditEvent } from '#server/audit/event.ts'
import type { Authenticator } from '#server/credentials/authenticator.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { DirectLack } from '#server/sign-in/flow/direct-grant.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { highRiskScopes } from '#server/tokens/access/high-risk.ts'
import type { GrantData, GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { invalidGrant, invalidScope, oauthError, unauthorizedClient } from '../../errors.ts'
import { passwordAcr, passwordAmr } from '../codes.ts'
import { grantAuthentication } from './authentication.ts'
import type { Grant, GrantContext, Issuance } from './grant.ts'
import type { Prolong } from './prolong.ts'

export interface PasswordParts {
  readonly authenticator: Authenticator
  readonly directLack: DirectLack
  readonly grantsStore: GrantsStore
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'login'>
  readonly prolong: Prolong
}

const retryAfter = 5

const refused = (detail: string) =>
  invalidGrant(
    'the username or the password is wrong, or the realm asks this user for more than a password; use the authorization code grant',
    { detail },
  )

const busy = oauthError('temporarily_unavailable', 503)

const loginEvent = (
  { issuer, sourceIp }: GrantContext,
  { id }: UserRow,
  fault: string | undefined,
): AuditEvent => ({
  type: fault === undefined ? 'LOGIN_SUCCESS' : 'LOGIN_FAILURE',
  realm: issuer.name,
  actor: id,
  sourceIp,
  outcome: fault === undefined ? 'SUCCESS' : 'FAILURE',
  detail: fault ?? 'password grant',
})

export const passwordGrant = (parts: PasswordParts): Grant => {
  const { authenticator, directLack, grantsStore, clock, metrics, prolong } = parts

  const open = (context: GrantContext, user: UserRow) => {
    const { issuer, client, scope, resources, jkt } = context
    const data: GrantData = {
      authTime: clock.now(),
      acr: passwordAcr,
      amr: passwordAmr,
      resources,
      ...(jkt !== undefined && client.doc.publicClient ? { jkt } : {}),
    }
    const opening = { realm: issuer.name, clientId: client.id, userId: user.id, scope, data }
    const { grant: draft } = grantsStore.create({ ...opening, expiresAt: clock.now() })
    const { offline, expiresAt, refresh } = prolong(context, draft, scope, data)
    const { grant, statements } = grantsStore.create({ ...opening, offline, expiresAt }, draft.id)
    return { grant, data, refresh, statements: [...statements, ...(refresh?.statements ?? [])] }
  }

  const faultOf = (
    { issuer, client, request }: GrantContext,
    user: UserRow,
    isVouched: boolean,
  ) => {
    const { name: realm, settings, view } = issuer
    const asked = { request, realm, settings, view, clientId: client.clientId }
    return directLack(asked, user, isVouched)
  }

  const handle = async (context: GrantContext): Promise<Issuance> => {
    const { issuer, client, form, scope, resources, sourceIp } = context
    if (client.doc.consentRequired)
      throw unauthorizedClient('the client needs the consent of its users, who are not asked here')
    const [risky] = await highRiskScopes(issuer.view, scope)
    if (risky !== undefined)
      throw invalidScope(
        `the scope ${risky} is high-risk: users confirm it, who are not asked here`,
      )
    const name = form.require('username')
    const password = form.require('password')
    const result = await authenticator.attempt(
      { realm: issuer.name, settings: issuer.settings, name, password, address: sourceIp },
      async (user, isVouched) => {
        const fault = await faultOf(context, user, isVouched)
        const opened = fault === undefined ? open(context, user) : undefined
        return {
          statements: opened?.statements ?? [],
          events: [loginEvent(context, user, fault)],
          value: opened,
          partial: !opened,
        }
      },
    )
    if (result.outcome === 'busy') throw busy('too many sign in at this moment', { retryAfter })
    if (result.outcome === 'away')
      throw busy(`the directory "${result.directory}" cannot be asked at this moment`, {
        retryAfter,
      })
    const opened = result.outcome === 'success' ? result.value : undefined
    await metrics.login(issuer.name, opened ? 'success' : 'failure')
    if (result.outcome !== 'success' || !opened)
      throw refused('see the event of the failed sign-in')
    const { grant, data, refresh } = opened
    return {
      user: result.user,
      scope,
      resources,
      authentication: grantAuthentication(grant, data),
      ...(refresh ? { refresh } : {}),
      idToken: {},
    }
  }

  return {
    name: 'password',
    event: 'CLIENT_LOGIN',
    parameters: { username: 'The name.', password: 'The password.' },
    handle,
  }
}
