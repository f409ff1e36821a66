/** A new password for a user who was authenticated by other means. */

import type { Passwords } from '#server/credentials/passwords/passwords.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Links } from '#server/users/links/links.ts'
import type { Users } from '#server/users/users.ts'
import { signOutBox, takeNewPassword } from '../../actions/update-password.ts'
import type { Step } from '../../flow/step.ts'
import type { Administrators } from '../../messages/administrators.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'

interface Parts {
  readonly pages: SignInPages
  readonly storage: Pick<Storage, 'db'>
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly links: Pick<Links, 'unlinkSince'>
  readonly users: Users
  readonly clock: Clock
  readonly administrators: Administrators
}

export const resetPassword = (parts: Parts): Step => ({
  id: 'reset-password',
  afterProof: true,
  suits: async (context) => !(await parts.administrators.needsMore(context)),
  show: async ({ user, settings }) => ({
    send: (reply, page) =>
      parts.pages.resetPassword(reply, {
        ...page,
        username: user?.username ?? '',
        minLength: settings.passwordPolicy.length,
        errors: page.refusal?.errors,
        signOutOthers: signOutBox(page),
      }),
  }),
  answer: (context, form) => takeNewPassword(parts, context, form, 'RESET_PASSWORD'),
})
