/**
 * Requests to sign out that came by POST from another site: stored, because the cookies of this one do not travel with
 * them, and because an id token in an address would stay in logs and histories. The handle may be used again on reload: it
 * gives no more than the id token.
 */

import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { insertRows } from '#server/storage/statements.ts'
import { type Parameters, parseParameters } from '../parameters.ts'

/** The browser comes back at once; the user may take a while to answer, and reload the question. */
const lifetimeMs = 10 * 60_000

const names = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales']

/** More languages than anybody reads. All other values are checked, and none of them is longer than a state or an id token. */
const longestLocales = 500

/** What a sign-out reads, and nothing else: a form of another site may hold anything, secrets too. */
export const logoutFields = (parameters: Parameters): Readonly<Record<string, string>> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = parameters.get(name)
      if (value === undefined) return []
      return [[name, name === 'ui_locales' ? value.slice(0, longestLocales) : value]]
    }),
  )

export interface LogoutRequests {
  create(realm: string, parameters: Parameters): { handle: string; statements: Statement[] }
  find(realm: string, handle: string): Promise<Parameters | undefined>
}

export const createLogoutRequests = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): LogoutRequests => ({
  create: (realm, parameters) => {
    const handle = randomToken()
    const row = {
      id: sha256(handle),
      realm,
      data: JSON.stringify(new URLSearchParams(logoutFields(parameters)).toString()),
      expires_at: clock.now() + lifetimeMs,
    }
    return { handle, statements: insertRows(db, 'logout_requests', [row]) }
  },

  find: async (realm, handle) => {
    const row = await db
      .selectFrom('logout_requests')
      .select('data')
      .where('id', '=', sha256(handle))
      .where('realm', '=', realm)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    return row && parseParameters(JSON.parse(row.data) as string)
  },
})
