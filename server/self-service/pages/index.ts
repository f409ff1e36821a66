/**
 * The account pages for a signed-in user. A request without a session, or with a sign-in that is too weak for the form, is
 * redirected to the sign-in and back.
 */

import type { FastifyInstance } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import type { RealmRoute } from '#server/oidc/issuer.ts'
import { type AccountPath, accountHandle } from '#server/oidc/page-handles.ts'
import { formOf, takeForms } from '#server/oidc/parameters.ts'
import type { UserPages, UserVisit } from '#server/oidc/signed-in-pages.ts'
import type { Linking } from '#server/sign-in/brokers/linking.ts'
import type { Browser } from '#server/sign-in/pages/browser.ts'
import { pendingParameter } from '#server/sign-in/pages/pending.ts'
import type { Storage } from '#server/storage/contract.ts'
import { accountUrl, type Handler } from '../operation.ts'
import type { OwnAccount } from '../own-account.ts'
import { additionPages } from './additions.ts'
import { agentsPage } from './agents.ts'
import { applicationsPages } from './applications.ts'
import { dataPages } from './data.ts'
import type { SelfServicePages } from './definitions.ts'
import { factorsPage } from './factors.ts'
import { createFrame, goTo } from './frame.ts'
import { identitiesPage } from './identities.ts'
import { type AccountPage, describeEntry, describeShow, describeSubmit } from './page.ts'
import { passwordPage } from './password.ts'
import { profilePage } from './profile.ts'
import { sessionsPage } from './sessions.ts'
import { sharingPage } from './sharing.ts'

const firstSection = 'profile'

export interface AccountPageParts {
  readonly storage: Storage
  readonly pages: SelfServicePages
  readonly userPages: UserPages
  readonly browser: Browser
  readonly factors: Pick<Factors, 'has'>
  readonly own: OwnAccount
  readonly linking: Pick<Linking, 'begin'>
}

export const createAccountPages = (parts: AccountPageParts) => {
  const { storage, pages, userPages, browser, factors, own, linking } = parts
  const frame = createFrame({ storage, userPages })

  /** THE list of pages. */
  const list: readonly AccountPage[] = [
    profilePage({ pages, frame, change: own.changeProfile }),
    passwordPage({ pages, frame, factors, change: own.changePassword }),
    factorsPage({ pages, frame, credentials: own.credentials }),
    ...additionPages({ pages, frame, enrolments: own.enrolments }),
    sessionsPage({ pages, frame, own: own.sessions }),
    identitiesPage({ pages, frame, identities: own.identities, linking }),
    ...applicationsPages({ pages, frame, consents: own.consents, revoke: own.revokeConsent }),
    sharingPage({ pages, frame, sharing: own.sharing }),
    agentsPage({ pages, frame, agents: own.agents }),
    ...dataPages({ pages, frame, browser, factors, data: own.data }),
  ]

  /** Signs in again, with the second factor if that is missing. */
  const signInAgain = ({ reply, issuer }: UserVisit, section: AccountPath, { extra }: Problem) => {
    const handle = accountHandle(section, extra['acr_values'] !== undefined)
    const query = new URLSearchParams({ [pendingParameter]: handle })
    return reply.redirect(`/realms/${issuer.name}/login?${query}`, 303)
  }

  const handler = (section: AccountPath, handle: AccountPage['show']) =>
    userPages.forUser(
      () => accountHandle(section),
      async (visit) => {
        try {
          return await handle(visit)
        } catch (error) {
          if (!(error instanceof Problem) || error.code !== 'step-up') throw error
          return signInAgain(visit, section, error)
        }
      },
    )

  const shower = ({ section, show }: AccountPage) => handler(section, show)

  const submitter = ({ section }: AccountPage, submit: NonNullable<AccountPage['submit']>) =>
    handler(section, async (visit) => {
      const form = formOf(visit.request)
      userPages.checkForm(visit, form.get('_csrf'))
      return submit(visit, form)
    })

  return {
    onError: userPages.onError,

    /** What a browser gets where JSON has the same address. */
    at: (path: string): Handler | undefined => {
      const page = list.find((one) => one.path === path)
      return page && shower(page)
    },

    /** The routes of all pages but those whose address `isShared` with JSON. */
    routes:
      (isShared: (path: string) => boolean) =>
      async (app: FastifyInstance): Promise<void> => {
        takeForms(app)
        userPages.installErrors(app)
        const toFirst = userPages.forUser(
          () => accountHandle(firstSection),
          async (visit) => goTo(visit, `/${firstSection}`),
        )
        app.get<RealmRoute>(accountUrl(''), describeEntry, toFirst)
        for (const page of list) {
          const url = accountUrl(page.path)
          if (!isShared(page.path)) app.get<RealmRoute>(url, describeShow(page), shower(page))
          if (page.submit)
            app.post<RealmRoute>(url, describeSubmit(page), submitter(page, page.submit))
        }
      },
  }
}
