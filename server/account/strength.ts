/** Whether a sign-in is good enough to change how its user signs in (CVE-2025-3910, CVE-2026-3429). */

import { Problem } from '#schemas/problems.ts'
import type { Factors } from '#server/accounts/factors.ts'
import { twoFactors } from '#server/login/flow/levels.ts'
import type { Account } from '#server/oidc/account-caller.ts'

/** Throws a 403 where a user with a second factor has not used one, and where somebody else acts as the user. */
export const insistOnStrength = async (
  factors: Pick<Factors, 'hasFactor'>,
  { user, acr, session }: Account,
): Promise<void> => {
  if (session?.impersonator)
    throw new Problem('forbidden', 'who acts as a user does not change how that user signs in')
  if (acr !== twoFactors && (await factors.hasFactor(user)))
    throw new Problem('forbidden', `sign in with your second factor first (acr ${twoFactors})`)
}
