/**
 * High-risk scopes: a user confirms each use on a page, after a recent sign-in. No earlier consent covers them, and a token
 * with one of them is short-lived and not refreshed.
 */

import { ClientScope, type ClientScopeDoc } from '#schemas/kinds/clients/client-scope.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { perView } from '#server/storage/documents/kept.ts'
import type { SessionRow } from '#server/storage/tables/tables.ts'

/** Seconds: how old the sign-in of a user who confirms may be, and how long a confirmation and its tokens last. */
export const confirmedFor = 5 * 60

/** Kept, since each token asks. */
const marked = perView(async (view): Promise<ReadonlySet<string>> => {
  const scopes = (await view.list(ClientScope.kind)).map(contentOf<ClientScopeDoc>)
  return new Set(scopes.flatMap(({ name, highRisk }) => (highRisk ? name : [])))
})

/** Those of the list that are high-risk. */
export const highRiskScopes = async (
  view: RealmView,
  scopes: readonly string[],
): Promise<readonly string[]> => {
  const risky = await marked(view)
  return scopes.filter((one) => risky.has(one))
}

/** What an earlier decision of the user still covers. */
export const rememberedScopes = async (
  view: RealmView,
  scopes: readonly string[],
): Promise<string[]> => {
  const risky = await highRiskScopes(view, scopes)
  return scopes.filter((one) => !risky.includes(one))
}

/** Whether the user of the session signed in recently enough to confirm. */
export const isFresh = ({ created_at }: SessionRow, now: number): boolean =>
  now - created_at <= confirmedFor * 1000
