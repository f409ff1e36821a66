/** The name and address of the user, as the user sees and changes them. */

import { Problem } from '#schemas/problems.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { type Profile, profileChange } from '#server/users/profile.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import { insistOnRecentStrength } from '../credentials/strength.ts'
import { objectOf } from '../description.ts'
import { type Operation, withBody } from '../operation.ts'
import type { AccountParts } from '../parts.ts'
import { type Self, selfEvent } from '../self.ts'

const text = (maxLength: number) => ({ type: ['string', 'null'], maxLength })

const profileFields = {
  email: text(255),
  firstName: text(255),
  lastName: text(255),
}
const profileBody = objectOf(profileFields)
const profileReply = objectOf({
  userId: { type: 'string', format: 'uuid' },
  username: { type: 'string' },
  ...profileFields,
  emailVerified: { type: 'boolean' },
  managed: { type: 'boolean', description: 'Whether a file declares the user: read-only here.' },
  createdAt: { type: 'integer', description: 'Milliseconds since 1970.' },
})

export type ProfileParts = Pick<
  AccountParts,
  'users' | 'recorder' | 'clock' | 'factors' | 'ranks' | 'addressNotice'
>

const shown = (user: UserRow) => ({
  userId: user.id,
  username: user.username,
  email: user.email,
  firstName: user.first_name,
  lastName: user.last_name,
  emailVerified: user.email_verified === 1,
  managed: user.managed === 1,
  createdAt: user.created_at,
})

/**
 * Whoever has the address can reset the password: it changes only from a sign-in that could change that too. Throws a
 * problem that names the field.
 */
export const createChangeProfile =
  (parts: ProfileParts) =>
  async (self: Self, values: Profile): Promise<UserRow> => {
    const { users, recorder, clock, addressNotice } = parts
    const { user, issuer } = self
    if (user.managed === 1)
      throw new Problem(
        'owned',
        'email, firstName, lastName: a file declares them; change it there',
      )
    const after = changedUserRow(user, profileChange(user, values), clock.now())
    const isMoved = after.email !== user.email
    if (isMoved) await insistOnRecentStrength(parts, self)
    const events = [
      selfEvent(self, 'UPDATE_PROFILE', 'profile'),
      ...(isMoved ? [selfEvent(self, 'UPDATE_EMAIL')] : []),
    ]
    const statements = [
      ...users.updateStatements(user, after),
      ...(await addressNotice.statements(issuer.view, [{ before: user, after }])),
    ]
    try {
      await recorder.commit(statements, events)
      addressNotice.wake()
    } catch (error) {
      throw await users.explain(error, after)
    }
    return after
  }

export const profileOperations = (parts: ProfileParts): Operation[] => {
  const change = createChangeProfile(parts)
  return [
    {
      method: 'GET',
      path: '/profile',
      operationId: 'read-own-profile',
      summary: 'What the user is known by',
      replies: { 200: profileReply },
      refusals: [401, 403, 404],
      handle: async ({ user }) => shown(user),
    },
    withBody<Profile>(profileBody, {
      method: 'PUT',
      path: '/profile',
      operationId: 'replace-own-profile',
      summary: 'Changes name and address; a new address takes a recent sign-in, and is unverified',
      replies: { 200: profileReply },
      refusals: [400, 401, 403, 404, 409],
      events: ['UPDATE_PROFILE', 'UPDATE_EMAIL'],
      handle: async (self, values) => shown(await change(self, values)),
    }),
  ]
}
