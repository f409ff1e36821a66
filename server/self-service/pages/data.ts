/** The page of the user's data: export, and erasure by the user or by an administrator. */

import { Problem } from '#schemas/problems.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import type { UserVisit } from '#server/oidc/signed-in-pages.ts'
import type { Browser } from '#server/sign-in/pages/browser.ts'
import { pageContext } from '#server/sign-in/pages/visit.ts'
import { passwordType } from '../credentials/password.ts'
import type { OwnData } from '../data.ts'
import type { AccountDeletePage, SelfServicePages } from './definitions.ts'
import { type Frame, goTo, pathIn, selfOf } from './frame.ts'
import type { AccountPage } from './page.ts'

export interface DataPageParts {
  readonly pages: SelfServicePages
  readonly frame: Frame
  readonly browser: Browser
  readonly factors: Pick<Factors, 'has'>
  readonly data: OwnData
}

const path = '/data'
const deletePath = '/data/delete'

const mayErase = ({ session }: UserVisit): boolean => session.impersonator === null

export const dataPages = (parts: DataPageParts): AccountPage[] => {
  const { pages, frame, browser, factors, data } = parts

  const showDelete = async (
    visit: UserVisit,
    told: Pick<Partial<AccountDeletePage>, 'errors' | 'error' | 'status'> = {},
  ) =>
    pages.accountDelete(visit.reply, {
      ...(await frame(visit, deletePath)),
      hasPassword: await factors.has(visit.user.id, [passwordType]),
      cancelUrl: pathIn(visit.issuer.name, path),
      ...told,
    })

  return [
    {
      path,
      section: 'data',
      name: 'data-page',
      summary: 'The data of the user',
      show: async (visit) =>
        pages.accountData(visit.reply, {
          ...(await frame(visit, path)),
          exportUrl: pathIn(visit.issuer.name, '/gdpr/export'),
          deletionRequestedAt: await data.requestedAt(visit),
          deleteUrl: mayErase(visit) ? pathIn(visit.issuer.name, deletePath) : undefined,
        }),
    },
    {
      path: deletePath,
      section: 'data',
      name: 'delete-page',
      summary: 'Erases the user, for good',
      show: (visit) => showDelete(visit),
      fields: ['username', 'password'],
      events: ['USER_ERASED', 'ERASURE_REQUESTED', 'LOGIN_FAILURE', 'USER_LOCKED'],
      submit: async (visit, form) => {
        const { user, issuer, request, reply } = visit
        if (form.get('username')?.trim() !== user.username)
          return showDelete(visit, { errors: { username: [{ id: 'mismatch' }] }, status: 400 })
        const hasPassword = await factors.has(user.id, [passwordType])
        const password = hasPassword ? (form.get('password') ?? '') : undefined
        try {
          const { status } = await data.requestErasure(selfOf(visit), password)
          if (status === 'REQUESTED') return goTo(visit, path)
        } catch (error) {
          if (!(error instanceof Problem)) throw error
          const { code, status } = error
          if (code === 'unavailable' || code === 'conflict')
            return showDelete(visit, { error: 'unavailable', status })
          if (code !== 'validation') throw error
          return showDelete(visit, { errors: { password: [{ id: 'wrong-password' }] }, status })
        }
        browser.signOut(reply, issuer.name)
        return pages.done(reply, {
          ...pageContext(pages, request, issuer.name, issuer.settings),
          what: 'account-deleted',
        })
      },
    },
  ]
}
