/**
 * Sign-ins in progress, in the database: they survive a restart and go on at any node. The handle travels through the
 * browser, its digest is stored, and the pre-login cookie ties it to the browser that it began in.
 */

import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { SignInState } from './state.ts'

export const signInLifetimeMs = 30 * 60_000

/** Fails when the sign-in went on, or ended, in another tab at the same moment. */
export const signInGuard = 'sign-in'

/** Nothing is stored of one that has only been begun. */
export interface SignIn {
  readonly realm: string
  readonly state: SignInState
  readonly stored?: { readonly handle: string; readonly version: number } | undefined
}

export interface SignIns {
  /** Nothing unless it is of this browser and alive. */
  find(realm: string, handle: string, browser: string): Promise<SignIn | undefined>
  /** Stores what it has become. */
  save(
    signIn: SignIn,
    state: SignInState,
    browser: string,
  ): { readonly saved: SignIn & Required<Pick<SignIn, 'stored'>>; readonly statements: Statement[] }
  end(signIn: SignIn): Statement[]
  forgetStatements(): Statement[]
}

const made = /^[A-Za-z0-9_-]{43}$/

export const createSignIns = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): SignIns => ({
  async find(realm, handle, browser) {
    if (!made.test(handle)) return undefined
    const row = await db
      .selectFrom('sign_ins')
      .selectAll()
      .where('id', '=', sha256(handle))
      .where('realm', '=', realm)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    if (!row || !constantTimeEqual(row.browser, sha256(browser))) return undefined
    return { realm, state: JSON.parse(row.state), stored: { handle, version: row.version } }
  },

  save({ realm, stored }, state, browser) {
    const user_id = state.userId ?? null
    const json = JSON.stringify(state)
    if (!stored) {
      const handle = randomToken()
      const now = clock.now()
      const row = {
        id: sha256(handle),
        realm,
        browser: sha256(browser),
        user_id,
        state: json,
        version: 1,
        created_at: now,
        expires_at: now + signInLifetimeMs,
      }
      const saved = { realm, state, stored: { handle, version: 1 } }
      return { saved, statements: insertRows(db, 'sign_ins', [row]) }
    }
    const version = stored.version + 1
    const update = db
      .updateTable('sign_ins')
      .set({ state: json, user_id, version })
      .where('id', '=', sha256(stored.handle))
      .where('version', '=', stored.version)
    const saved = { realm, state, stored: { handle: stored.handle, version } }
    return { saved, statements: [guarded(update, signInGuard)] }
  },

  end: ({ stored }) =>
    stored
      ? [
          guarded(
            db
              .deleteFrom('sign_ins')
              .where('id', '=', sha256(stored.handle))
              .where('version', '=', stored.version),
            signInGuard,
          ),
        ]
      : [],

  forgetStatements: () => [
    statement(db.deleteFrom('sign_ins').where('expires_at', '<=', clock.now())),
  ],
})
