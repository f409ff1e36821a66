/** THE list of places where a flow begins. Each is a page below the realm; what follows it is the same for all. */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { PendingSignIn } from '../pages/pending.ts'

export interface Entry {
  readonly name: 'login' | 'register' | 'forgot'
  readonly path: string
  /** The flow that runs; undefined where the realm does not offer it. */
  readonly flowOf: (
    settings: SettingsDoc,
    pending?: Pick<PendingSignIn, 'invitation'>,
  ) => string | undefined
  /** Ends at the sign-in page, not with a session. */
  readonly withoutSession?: boolean
}

export const signInEntry: Entry = {
  name: 'login',
  path: 'login',
  flowOf: ({ browserFlow }) => browserFlow,
}

export const registerEntry: Entry = {
  name: 'register',
  path: 'login/register',
  // An invited person may register with the invited address where registration is off.
  flowOf: ({ registrationAllowed }, pending) =>
    registrationAllowed || pending?.invitation ? 'registration' : undefined,
}

export const forgotEntry: Entry = {
  name: 'forgot',
  path: 'login/forgot',
  flowOf: ({ resetPasswordAllowed }) => (resetPasswordAllowed ? 'reset-credentials' : undefined),
  // Access to the mailbox must not bypass the second factor.
  withoutSession: true,
}

export const entries: readonly Entry[] = [signInEntry, registerEntry, forgotEntry]

export const entryOf = (name: string | undefined): Entry =>
  entries.find((entry) => entry.name === name) ?? signInEntry
