/** Name and address of the user, to be looked at and completed. A new address must be verified again. */

import { Problem } from '#schemas/problems.ts'
import type { FieldErrors } from '#server/http/pages/pages.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { AddressNotice } from '#server/users/messages/address-notice.ts'
import { profileChange } from '#server/users/profile.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import { type Form, type Refusal, type RequiredAction, refused } from '../flow/step.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { completed, ownEvent } from './completed.ts'

interface Parts {
  readonly pages: SignInPages
  readonly users: Users
  readonly clock: Clock
  readonly addressNotice: AddressNotice
}

const fields = ['email', 'firstName', 'lastName'] as const

export const readProfile = (form: Form) =>
  Object.fromEntries(fields.map((field) => [field, form(field).trim()])) as Record<
    (typeof fields)[number],
    string
  >

/** What a refused change of a user tells about the fields of a form; throws what is about something else. */
export const profileErrors = (error: unknown): FieldErrors<string> => {
  if (!(error instanceof Problem) || error.errors.length === 0) throw error
  return Object.fromEntries(
    error.errors.map(({ field, code }) => {
      const name = field.replace(/^\//, '')
      const taken = error.code === 'conflict' ? 'taken' : undefined
      const wrong = name === 'email' ? 'invalid-email' : 'invalid'
      return [name, [{ id: taken ?? (code === 'required' ? 'required' : wrong) }]]
    }),
  )
}

const action =
  (id: string) =>
  (parts: Parts): RequiredAction => ({
    id,
    // What a file says of a user is changed in the file.
    isDone: ({ user }) => user?.managed === 1,
    show: async ({ user }) => ({
      send: (reply, page) =>
        parts.pages.updateProfile(reply, {
          ...page,
          values: {
            email: user?.email ?? '',
            firstName: user?.first_name ?? '',
            lastName: user?.last_name ?? '',
            ...page.refusal?.values,
          },
          errors: page.refusal?.errors,
        }),
    }),
    answer: async (context, form) => {
      const { user } = context
      if (!user) return refused('unavailable', 403)
      const values = readProfile(form)
      const change = profileChange(user, values)
      const refusedFor = (error: unknown): Refusal => ({
        kind: 'refused',
        status: 400,
        errors: profileErrors(error),
        values,
      })
      let after: UserRow
      try {
        after = changedUserRow(user, change, parts.clock.now())
      } catch (error) {
        return refusedFor(error)
      }
      try {
        const answered = await context.pass({
          statements: [
            ...completed(parts, user, id, change),
            ...(await parts.addressNotice.statements(context.view, [{ before: user, after }])),
          ],
          events: [ownEvent(context, user, 'UPDATE_PROFILE', 'profile')],
        })
        parts.addressNotice.wake()
        return answered
      } catch (error) {
        return refusedFor(await parts.users.explain(error, after))
      }
    },
  })

export const updateProfile = action('UPDATE_PROFILE')
export const verifyProfile = action('VERIFY_PROFILE')
export const updateEmail = action('UPDATE_EMAIL')
