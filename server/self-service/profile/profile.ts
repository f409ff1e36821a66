/** The name and address of the user, as the user sees and changes them. */

import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { AddressNotice } from '#server/users/messages/address-notice.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { type Profile, profileChange } from '#server/users/profile.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import { insistOnRecentStrength } from '../credentials/strength.ts'
import { objectOf } from '../description.ts'
import { type Operation, withBody } from '../operation.ts'
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

export interface ProfileParts {
  readonly users: Users
  readonly recorder: Recorder
  readonly clock: Clock
  readonly factors: Factors
  readonly ranks: Pick<Ranks, 'permissionsOf'>
  readonly addressNotice: AddressNotice
}

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
 * The mailbox of the address can reset the password: a change of the address needs the same sign-in as a change of the
 * password. Throws a problem that names the field.
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

export const profileOperations = (change: ChangeProfile): Operation[] => {
  return [
    {
      method: 'GET',
      path: '/profile',
      operationId: 'read-own-profile',
      summary: 'The profile of the user',
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

export type ChangeProfile = ReturnType<typeof createChangeProfile>
