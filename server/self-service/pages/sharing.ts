/** The page of shared resources: requests to answer, shares and policies to end, and a form to share. */

import { Problem } from '#schemas/problems.ts'
import type { Parameters } from '#server/oidc/parameters.ts'
import type { UserVisit } from '#server/oidc/signed-in-pages.ts'
import type { NewShare, OwnSharing } from '../sharing.ts'
import type { AccountSharingPage, SelfServicePages } from './definitions.ts'
import { type Frame, goTo, selfOf } from './frame.ts'
import type { AccountPage } from './page.ts'

export interface SharingPageParts {
  readonly pages: SelfServicePages
  readonly frame: Frame
  readonly sharing: OwnSharing
}

const path = '/sharing'
/** In front of the name of a scope, of the boxes that are ticked. */
const scopeField = 'scope.'

const shareIn = (form: Parameters, resourceId: string): NewShare => {
  const scopes = [...form.names()]
    .filter((name) => name.startsWith(scopeField))
    .map((name) => name.slice(scopeField.length))
  return { resourceId, username: form.get('username') ?? '', scopes }
}

export const sharingPage = ({ pages, frame, sharing }: SharingPageParts): AccountPage => {
  const show = async (
    visit: UserVisit,
    told: Pick<Partial<AccountSharingPage>, 'status' | 'tried'> = {},
  ) =>
    pages.accountSharing(visit.reply, {
      ...(await frame(visit, path)),
      ...(await sharing.list(selfOf(visit))),
      ...told,
    })

  const share = async (visit: UserVisit, wanted: NewShare) => {
    try {
      await sharing.share(selfOf(visit), wanted)
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'not-found') throw error
      const tried = { resourceId: wanted.resourceId, username: wanted.username }
      return show(visit, { tried, status: 400 })
    }
    return goTo(visit, path, 'saved')
  }

  return {
    path,
    section: 'sharing',
    name: 'sharing-page',
    summary: 'Resources that the user shares',
    show: (visit) => show(visit),
    fields: ['approve', 'remove', 'policy', 'resource', 'username'],
    events: ['PERMISSION_DECISION'],
    submit: async (visit, form) => {
      const self = selfOf(visit)
      const [approve, resource] = [form.get('approve'), form.get('resource')]
      if (resource !== undefined) return share(visit, shareIn(form, resource))
      if (approve !== undefined) {
        await sharing.approve(self, approve)
        return goTo(visit, path, 'saved')
      }
      const policy = form.get('policy')
      if (policy === undefined) await sharing.remove(self, form.get('remove') ?? '')
      else await sharing.removePolicy(self, policy)
      return goTo(visit, path, 'removed')
    },
  }
}
