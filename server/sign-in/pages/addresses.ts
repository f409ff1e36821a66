/** The addresses of the pages of a sign-in. */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { withQuery } from '#server/http/query.ts'
import { type Entry, entryOf, forgotEntry, registerEntry, signInEntry } from '../flow/entries.ts'
import type { SignIn } from '../flow/sign-ins.ts'
import { pendingParameter } from './pending.ts'

export const pathOf = (realm: string, page: 'login' | 'logout'): string =>
  `/realms/${realm}/${page}`

const firstPath = (realm: string, handle: string | undefined, { path }: Entry): string => {
  const query =
    handle === undefined ? '' : `?${new URLSearchParams({ [pendingParameter]: handle })}`
  return `/realms/${realm}/${path}${query}`
}

/** The sign-in page for the pending request of the handle. */
export const signInPath = (realm: string, handle: string | undefined): string =>
  firstPath(realm, handle, signInEntry)

/** The registration page for it. */
export const registerPath = (realm: string, handle: string | undefined): string =>
  firstPath(realm, handle, registerEntry)

/** The page for a forgotten password for it; undefined if the realm does not offer that. */
export const resetPath = (
  settings: SettingsDoc,
  realm: string,
  handle: string | undefined,
): string | undefined =>
  forgotEntry.flowOf(settings) === undefined ? undefined : firstPath(realm, handle, forgotEntry)

/** Of what is asked now. */
export const stepPath = ({ realm, handle, state, version }: SignIn): string =>
  version === undefined
    ? firstPath(realm, state.pending, entryOf(state.entry))
    : `${pathOf(realm, 'login')}/${handle}`

/** Where it began: the first page again. */
export const startPath = (signIn: SignIn): string => stepPath({ ...signIn, version: undefined })

/** Only a forgotten password ends without a session. */
export const afterReset = (realm: string, handle: string | undefined): string =>
  withQuery(signInPath(realm, handle), 'notice=password-changed')
