/**
 * Single logouts that the browser takes part in, from the end of the session until every application has been told. The handle
 * travels through the browser, its digest is stored; it ends nothing and is no sign-in.
 */

import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { AfterLogout } from '#server/sessions/front-channel.ts'
import type { SamlSessionKey } from '#server/sessions/saml-sessions.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'

const lifetimeMs = 10 * 60_000
const made = /^[A-Za-z0-9_-]{43}$/

/** Fails when the service providers are being told already. */
const begunGuard = 'saml-logout-begun'

/** A LogoutRequest that is still to be answered. */
export interface Asking {
  readonly entityId: string
  readonly id: string
  readonly relayState?: string | undefined
}

/** Plain JSON. */
export interface Logout extends AfterLogout {
  readonly participants: readonly SamlSessionKey[]
  /** The service provider that wants to hear how it went. */
  readonly by?: Asking | undefined
}

export interface StoredLogout extends Logout {
  readonly handle: string
  readonly begunAt: number | null
}

export const createLogouts = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}) => ({
  create: (realm: string, logout: Logout): { handle: string; statements: Statement[] } => {
    const handle = randomToken()
    const row = {
      id: sha256(handle),
      realm,
      data: JSON.stringify(logout),
      begun_at: null,
      expires_at: clock.now() + lifetimeMs,
    }
    return { handle, statements: insertRows(db, 'saml_logouts', [row]) }
  },

  find: async (realm: string, handle: string): Promise<StoredLogout | undefined> => {
    if (!made.test(handle)) return undefined
    const row = await db
      .selectFrom('saml_logouts')
      .selectAll()
      .where('id', '=', sha256(handle))
      .where('realm', '=', realm)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    return row && { ...(JSON.parse(row.data) as Logout), handle, begunAt: row.begun_at }
  },

  /** Once. */
  begin: (handle: string): Statement =>
    guarded(
      db
        .updateTable('saml_logouts')
        .set({ begun_at: clock.now() })
        .where('id', '=', sha256(handle))
        .where('begun_at', 'is', null),
      begunGuard,
    ),

  /** Removes what has expired, of all realms. */
  forgetStatements: (): Statement[] => [
    statement(db.deleteFrom('saml_logouts').where('expires_at', '<=', clock.now())),
  ],
})

export type Logouts = ReturnType<typeof createLogouts>
