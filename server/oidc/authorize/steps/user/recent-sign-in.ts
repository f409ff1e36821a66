/** A high-risk scope is confirmed by a user who signed in recently: as if the client had sent `max_age` (OIDC Core §3.1.2.1). */

import { confirmedFor, highRiskScopes } from '#server/tokens/access/high-risk.ts'
import { askedScopes } from '../../asked-scopes.ts'
import type { Step } from '../../authorize-request.ts'

export const recentSignIn: Step = async ({ issuer, client }, read) => {
  const risky = await highRiskScopes(issuer.view, await askedScopes(issuer, client, read))
  return risky.length === 0 ? {} : { maxAge: Math.min(read.maxAge ?? confirmedFor, confirmedFor) }
}
