/** A new password for somebody who has shown to be the user by other means. */

import { signOutBox, takeNewPassword } from '../actions/update-password.ts'
import type { FactorParts } from '../flow/factor-parts.ts'
import type { Step } from '../flow/step.ts'

type Parts = Pick<
  FactorParts,
  'pages' | 'storage' | 'passwords' | 'sessions' | 'users' | 'clock' | 'administrators'
>

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
