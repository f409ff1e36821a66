/** Whether a sign-in is strong and recent enough to change credentials (CVE-2025-3910, CVE-2026-3429). */

import { Problem } from '#schemas/problems.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import type { Account } from '#server/oidc/account-caller.ts'
import type { Clock } from '#server/platform/clock.ts'
import { recentInSession, twoFactors } from '#server/sign-in/flow/levels.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Ranks } from '#server/users/permissions.ts'

/**
 * Seconds during which a sign-in is recent by a token: less than in a session, because it is the authentication that a client
 * asked for in order to do this (RFC 9470), and what else holds the token has little time.
 */
const recentByToken = 5 * 60

const isByToken = ({ session }: Account): boolean => session === undefined

const recentSeconds = (account: Account): number =>
  isByToken(account) ? recentByToken : recentInSession

export interface StrengthParts {
  readonly factors: Pick<Factors, 'hasFactor'>
  readonly ranks: Pick<Ranks, 'permissionsOf'>
  readonly clock: Clock
}

export type StrongAccount = Account & { readonly issuer: Issuer }

/** Its members say what to ask the authorization endpoint for (RFC 9470 §3 has the names). */
const stepUp = (detail: string, wanted: Readonly<Record<string, string | number>>): Problem =>
  new Problem('step-up', detail, { extra: { ...wanted } })

const refuseImpersonation = ({ session }: Account): void => {
  if (session?.impersonator)
    throw new Problem(
      'forbidden',
      'an administrator who acts as a user cannot change how that user signs in',
    )
}

/** A client that holds a token of an administrator does not change how the administrator signs in. */
const refuseClientOfAdmin = async (
  { ranks }: StrengthParts,
  { issuer, user }: StrongAccount,
): Promise<void> => {
  const permissions = await ranks.permissionsOf(issuer.view, user.id)
  if (permissions.size > 0)
    throw new Problem(
      'forbidden',
      'you hold admin permissions: no access token changes your credentials or address, or erases you; use the account pages',
    )
}

/** Whether the sign-in is recent enough to exclude another person at an unattended screen. */
export const isRecent = (clock: Clock, account: Account): boolean =>
  account.signedInAt !== undefined &&
  clock.now() - account.signedInAt <= recentSeconds(account) * 1000

const insistOnRecency = ({ clock }: StrengthParts, account: Account): void => {
  if (!isRecent(clock, account))
    throw stepUp('sign in again first: it was too long ago', { max_age: recentSeconds(account) })
}

/**
 * Throws a 403 if a user with a second factor has not used one, and for an impersonated session. A token must also come from
 * a recent sign-in, and its user must not hold admin permissions.
 */
export const insistOnStrength = async (
  parts: StrengthParts,
  account: StrongAccount,
): Promise<void> => {
  refuseImpersonation(account)
  if (isByToken(account)) await refuseClientOfAdmin(parts, account)
  if (account.acr !== twoFactors && (await parts.factors.hasFactor(account.user)))
    throw stepUp(`sign in with your second factor first (acr ${twoFactors})`, {
      acr_values: twoFactors,
      max_age: recentSeconds(account),
    })
  if (isByToken(account)) insistOnRecency(parts, account)
}

/** As `insistOnStrength`, of a sign-in that must be recent in any case. */
export const insistOnRecentStrength = async (
  parts: StrengthParts,
  account: StrongAccount,
): Promise<void> => {
  await insistOnStrength(parts, account)
  insistOnRecency(parts, account)
}
