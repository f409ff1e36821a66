/** Whose keys a command is about: those of a realm, or of a client that has its own. */

import type { KeyOwner } from '../../client/live.ts'
import { text } from '../../invocation/flags.ts'
import { realmFlags } from '../../invocation/shared-flags.ts'

export const keyFlags = {
  client: text('<id>', 'keys of this client instead of the realm'),
  ...realmFlags,
}

/** As questions name it. */
export const ownerName = ({ realm, client }: KeyOwner): string =>
  client === undefined ? `realm ${realm}` : `client ${client} of realm ${realm}`
