/** The page of the user's name and address. */

import type { UserVisit } from '#server/oidc/signed-in-pages.ts'
import { profileErrors } from '#server/sign-in/actions/update-profile.ts'
import type { ChangeProfile } from '../profile/profile.ts'
import type { AccountProfilePage, SelfServicePages } from './definitions.ts'
import { type Frame, goTo, selfOf } from './frame.ts'
import type { AccountPage } from './page.ts'

export interface ProfilePageParts {
  readonly pages: SelfServicePages
  readonly frame: Frame
  readonly change: ChangeProfile
}

const path = '/profile'
const fields = ['email', 'firstName', 'lastName'] as const

export const profilePage = (parts: ProfilePageParts): AccountPage => {
  const { pages, frame, change } = parts

  const show = async (
    visit: UserVisit,
    told: Pick<Partial<AccountProfilePage>, 'values' | 'errors' | 'error' | 'status'> = {},
  ) => {
    const { user, reply } = visit
    return pages.accountProfile(reply, {
      ...(await frame(visit, path)),
      values: {
        email: user.email ?? '',
        firstName: user.first_name ?? '',
        lastName: user.last_name ?? '',
      },
      emailVerified: user.email === null ? undefined : user.email_verified === 1,
      ...told,
    })
  }

  return {
    path,
    section: 'profile',
    name: 'profile-page',
    summary: 'Name and address of the user',
    show: (visit) => show(visit),
    fields,
    events: ['UPDATE_PROFILE', 'UPDATE_EMAIL'],
    submit: async (visit, form) => {
      const typed = (field: string): string => form.get(field)?.trim() ?? ''
      const values = {
        email: typed('email'),
        firstName: typed('firstName'),
        lastName: typed('lastName'),
      }
      // What a file says of a user is changed in the file.
      if (visit.user.managed === 1) return show(visit, { error: 'unavailable', status: 409 })
      try {
        await change(selfOf(visit), values)
      } catch (error) {
        return show(visit, { values, errors: profileErrors(error), status: 400 })
      }
      return goTo(visit, path, 'saved')
    },
  }
}
