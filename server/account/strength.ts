/** Whether a sign-in is good enough to change how its user signs in (CVE-2025-3910, CVE-2026-3429). */

import { Problem } from '#schemas/problems.ts'
import type { Factors } from '#server/accounts/factors.ts'
import { twoFactors } from '#server/login/flow/levels.ts'
import type { Account } from '#server/oidc/account-caller.ts'
import type { Clock } from '#server/platform/clock.ts'

/** Seconds after a sign-in during which it is recent. */
export const recentSeconds = 15 * 60

/** Its members say what to ask the authorization endpoint for (RFC 9470 §3 has the names). */
const stepUp = (detail: string, wanted: Readonly<Record<string, string | number>>): Problem =>
  new Problem('step-up', detail, { extra: { ...wanted } })

export const refuseImpersonation = ({ session }: Account): void => {
  if (session?.impersonator)
    throw new Problem('forbidden', 'who acts as a user does not change how that user signs in')
}

/** Throws a 403 where a user with a second factor has not used one, and where somebody else acts as the user. */
export const insistOnStrength = async (
  factors: Pick<Factors, 'hasFactor'>,
  account: Account,
): Promise<void> => {
  refuseImpersonation(account)
  if (account.acr !== twoFactors && (await factors.hasFactor(account.user)))
    throw stepUp(`sign in with your second factor first (acr ${twoFactors})`, {
      acr_values: twoFactors,
      max_age: recentSeconds,
    })
}

/** Whether the sign-in is so young that nobody else sits at the user's screen by now. */
export const isRecent = (clock: Clock, { signedInAt }: Account): boolean =>
  signedInAt !== undefined && clock.now() - signedInAt <= recentSeconds * 1000

/** As `insistOnStrength`, of a sign-in that must be recent too. */
export const insistOnRecentStrength = async (
  { factors, clock }: { readonly factors: Pick<Factors, 'hasFactor'>; readonly clock: Clock },
  account: Account,
): Promise<void> => {
  await insistOnStrength(factors, account)
  if (!isRecent(clock, account))
    throw stepUp('sign in again first: it was too long ago', { max_age: recentSeconds })
}
