/** The page of the sessions of the user. */

import type { ListedSession, OwnSessions } from '../sessions.ts'
import { browserName } from './browser-name.ts'
import type { SelfServicePages } from './definitions.ts'
import { type Frame, goTo, selfOf } from './frame.ts'
import type { AccountPage } from './page.ts'

export interface SessionsPageParts {
  readonly pages: SelfServicePages
  readonly frame: Frame
  readonly own: OwnSessions
}

const path = '/sessions'

const shown = ({
  id,
  userAgent,
  ipAddress,
  start,
  lastAccess,
  clients,
  current,
  impersonator,
}: ListedSession) => ({
  id,
  browser: browserName(userAgent),
  ipAddress,
  startedAt: start,
  lastUsedAt: lastAccess,
  applications: clients,
  current,
  impersonator: impersonator ?? undefined,
})

export const sessionsPage = (parts: SessionsPageParts): AccountPage => {
  const { pages, frame, own } = parts
  return {
    path,
    section: 'sessions',
    name: 'sessions-page',
    summary: 'Where the user is signed in',
    show: async (visit) =>
      pages.accountSessions(visit.reply, {
        ...(await frame(visit, path)),
        list: (await own.list(selfOf(visit))).map(shown),
      }),
    fields: ['end', 'others'],
    events: ['LOGOUT'],
    submit: async (visit, form) => {
      const self = selfOf(visit)
      if (form.get('others') === 'true') await own.endOthers(self)
      else await own.end(self, form.get('end') ?? '')
      return goTo(visit, path, 'ended')
    },
  }
}
