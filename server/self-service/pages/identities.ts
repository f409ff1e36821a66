/** The page of accounts at identity providers: to link and unlink them. */

import { Problem } from '#schemas/problems.ts'
import type { UserVisit } from '#server/oidc/signed-in-pages.ts'
import type { Linking } from '#server/sign-in/brokers/linking.ts'
import type { OwnIdentities } from '../identities.ts'
import type { AccountIdentitiesPage, SelfServicePages } from './definitions.ts'
import { type Frame, goTo, selfOf } from './frame.ts'
import type { AccountPage } from './page.ts'

export interface IdentitiesPageParts {
  readonly pages: SelfServicePages
  readonly frame: Frame
  readonly identities: OwnIdentities
  readonly linking: Pick<Linking, 'begin'>
}

const path = '/identities'

export const identitiesPage = (parts: IdentitiesPageParts): AccountPage => {
  const { pages, frame, identities, linking } = parts

  const show = async (
    visit: UserVisit,
    told: Pick<Partial<AccountIdentitiesPage>, 'error' | 'status'> = {},
  ) =>
    pages.accountIdentities(visit.reply, {
      ...(await frame(visit, path)),
      identities: await identities.list(selfOf(visit)),
      ...told,
    })

  return {
    path,
    section: 'identities',
    name: 'identities-page',
    summary: 'Accounts elsewhere that the user signs in with',
    show: (visit) => show(visit),
    fields: ['link', 'unlink'],
    events: ['IDENTITY_PROVIDER_LINK', 'IDENTITY_PROVIDER_UNLINK'],
    submit: async (visit, form) => {
      const self = selfOf(visit)
      const alias = form.get('link')
      if (alias !== undefined) {
        const provider = await identities.linkable(self, alias)
        return linking.begin(visit.request, visit.reply, visit.issuer, provider, visit)
      }
      try {
        await identities.unlink(self, form.get('unlink') ?? '')
      } catch (error) {
        if (!(error instanceof Problem) || error.code !== 'in-use') throw error
        return show(visit, { error: 'last-way-in', status: error.status })
      }
      return goTo(visit, path, 'removed')
    },
  }
}
