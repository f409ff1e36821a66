/** High-risk scopes are confirmed by the user in person, after a recent sign-in. */

import { Problem } from '#schemas/problems.ts'
import { highRiskScopes, isFresh } from '#server/tokens/access/high-risk.ts'
import type { UserVisit } from '../signed-in-pages.ts'

/** Whether the user must sign in again before allowing these. Throws for an administrator who acts as the user. */
export const mustSignInAgain = async (
  { issuer, session }: Pick<UserVisit, 'issuer' | 'session'>,
  scopes: readonly string[],
  now: number,
): Promise<boolean> => {
  if ((await highRiskScopes(issuer.view, scopes)).length === 0) return false
  if (session.impersonator !== null)
    throw new Problem(
      'forbidden',
      'an administrator who acts as a user cannot confirm high-risk scopes',
    )
  return !isFresh(session, now)
}
