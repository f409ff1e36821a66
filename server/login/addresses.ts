/** Where the pages of a sign-in are. */

import { type Entry, entryOf, signInEntry } from './entries.ts'
import type { SignIn } from './flow/sign-ins.ts'
import { pendingParameter } from './pending.ts'

export const pathOf = (realm: string, page: 'login' | 'logout'): string =>
  `/realms/${realm}/${page}`

const firstPath = (realm: string, handle: string | undefined, { path }: Entry): string => {
  const query =
    handle === undefined ? '' : `?${new URLSearchParams({ [pendingParameter]: handle })}`
  return `/realms/${realm}/${path}${query}`
}

/** Of what is asked now. */
export const stepPath = ({ realm, handle, state, version }: SignIn): string =>
  version === undefined
    ? firstPath(realm, state.pending, entryOf(state.entry))
    : `${pathOf(realm, 'login')}/${handle}`

/** Only a forgotten password ends without a session. */
export const afterReset = (realm: string, handle: string | undefined): string => {
  const path = firstPath(realm, handle, signInEntry)
  return `${path}${path.includes('?') ? '&' : '?'}notice=password-changed`
}
