/** Sessions that are alive, one a line. */

import type { SessionRecord } from '#schemas/wire/records.ts'
import { note } from '../elements/note.ts'
import { printTable } from '../elements/table.ts'
import { ago, moment } from '../elements/values.ts'

export const showSessions = (
  { realm, sessions }: { readonly realm: string; readonly sessions: readonly SessionRecord[] },
  call: { readonly quiet: boolean },
): void => {
  const now = Date.now()
  if (sessions.length === 0) note(call, `realm ${realm} has no sessions`)
  else
    printTable(
      ['session', 'user', 'address', 'since', 'last used', 'applications'],
      sessions.map(({ id, username, ipAddress, start, lastAccess, clients }) => [
        id,
        username,
        ipAddress,
        moment(start),
        ago(lastAccess, now),
        Object.values(clients).join(', '),
      ]),
    )
}
