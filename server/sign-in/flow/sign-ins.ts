/**
 * Sign-ins in progress, in the database: they survive a restart and go on at any node. The handle travels through the
 * browser, its digest is stored, and the pre-login cookie ties it to the browser that it began in.
 */

import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'
import {
  aliveSignIn,
  aliveSignInOf,
  beginSignIn,
  endSignIn,
  forgetSignIns,
  moveSignIn,
  signInId,
  updateSignIn,
} from '#server/sessions/begun-sign-ins.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { SignInRow } from '#server/storage/tables/sign-in-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { SignInState } from './state.ts'

const signInLifetimeMs = 30 * 60_000

export interface SignIn {
  readonly realm: string
  readonly handle: string
  readonly state: SignInState
  /** None while nothing is stored: it has only been begun. */
  readonly version?: number | undefined
}

export const newSignIn = (realm: string, state: SignInState): SignIn => ({
  realm,
  handle: randomToken(),
  state,
})

export interface SignIns {
  /** Undefined unless it is of this browser and alive. */
  find(realm: string, handle: string, browser: string): Promise<SignIn | undefined>
  /** In any browser: for callers that prove otherwise that the sign-in is theirs. */
  findOfAny(realm: string, handle: string): Promise<SignIn | undefined>
  /** The last one of the user in this browser, where it began at this entry, under a new handle. */
  moveOf(
    user: Pick<UserRow, 'id' | 'realm'>,
    entry: string,
    browser: string,
  ): Promise<{ readonly signIn: SignIn; readonly statement: Statement } | undefined>
  /** Stores what it has become; from then on it is of this browser. */
  save(
    signIn: SignIn,
    state: SignInState,
    browser: string,
  ): { readonly saved: SignIn; readonly statements: Statement[] }
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
}): SignIns => {
  const rowOf = async (realm: string, handle: string): Promise<SignInRow | undefined> => {
    if (!made.test(handle)) return undefined
    const [row] = await aliveSignIn(db, { id: signInId(handle), realm, now: clock.now() })
    return row
  }

  const signInOf = ({ realm, state, version }: SignInRow, handle: string): SignIn => ({
    realm,
    handle,
    state: JSON.parse(state),
    version,
  })

  const begin = ({ realm, handle }: SignIn, state: SignInState, browser: string): Statement[] => {
    const now = clock.now()
    const row = {
      id: signInId(handle),
      realm,
      browser: sha256(browser),
      user_id: state.userId ?? null,
      state: JSON.stringify(state),
      version: 1,
      created_at: now,
      expires_at: now + signInLifetimeMs,
    }
    return beginSignIn(db, row)
  }

  return {
    async find(realm, handle, browser) {
      const row = await rowOf(realm, handle)
      return row && constantTimeEqual(row.browser, sha256(browser))
        ? signInOf(row, handle)
        : undefined
    },

    async findOfAny(realm, handle) {
      const row = await rowOf(realm, handle)
      return row && signInOf(row, handle)
    },

    async moveOf({ id: user, realm }, entry, browser) {
      const now = clock.now()
      const [row] = await aliveSignInOf(db, { user, browser: sha256(browser), now })
      const handle = randomToken()
      const signIn = row && signInOf(row, handle)
      if (!signIn || signIn.realm !== realm || signIn.state.entry !== entry) return undefined
      const { id, version } = row
      return { signIn, statement: moveSignIn(db, { id, version, to: signInId(handle) }) }
    },

    save(signIn, state, browser) {
      const { handle, version } = signIn
      const saved = { ...signIn, state, version: (version ?? 0) + 1 }
      if (version === undefined) return { saved, statements: begin(signIn, state, browser) }
      const update = updateSignIn(db, {
        id: signInId(handle),
        before: version,
        state: JSON.stringify(state),
        user_id: state.userId ?? null,
        browser: sha256(browser),
        version: saved.version,
      })
      return { saved, statements: [update] }
    },

    end: ({ handle, version }) =>
      version === undefined ? [] : [endSignIn(db, { id: signInId(handle), version })],

    forgetStatements: () => [forgetSignIns(db, clock.now())],
  }
}
