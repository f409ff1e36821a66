/** A connection that is asked nothing more after a time: a slow directory must not keep those of other realms waiting. */

import type { Clock } from '#server/platform/clock.ts'
import type { Connection } from '../connection/connection.ts'
import { SyncRefused } from './errors.ts'

export const withDeadline = (connection: Connection, clock: Clock, ms: number): Connection => {
  const end = clock.now() + ms
  const check = (): void => {
    if (clock.now() > end)
      throw new SyncRefused(
        'directory',
        `the directory was not read within ${Math.round(ms / 60_000)} minutes: run the sync by hand, which has no limit, or narrow userSearchBase and userSearchFilter`,
      )
  }
  return {
    get isOpen() {
      return connection.isOpen
    },
    url: connection.url,
    tls: connection.tls,
    bind: (name, password) => connection.bind(name, password),
    search: async (asked) => {
      check()
      return connection.search(asked)
    },
    pages: async function* (asked, pageSize, read) {
      for await (const page of connection.pages(asked, pageSize, read)) {
        check()
        yield page
      }
    },
    close: () => connection.close(),
  }
}
