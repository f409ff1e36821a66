/** The password for the name that was given before, whether or not the name exists. */

import { loginError, refused, type Step } from '../../flow/step.ts'
import { resetPath } from '../../pages/addresses.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'

export const password = ({ pages }: { readonly pages: SignInPages }): Step => ({
  id: 'password',
  amr: 'pwd',
  blind: true,
  show: async ({ realm, settings, state, user }) => ({
    send: (reply, page) =>
      pages.password(reply, {
        ...page,
        username: state.name ?? user?.username ?? '',
        error: loginError(page.refusal),
        resetUrl: resetPath(settings, realm, state.pending),
      }),
  }),
  answer: async ({ state, user, attempt }, form) => {
    const given = form('password')
    return given === ''
      ? refused('credentials')
      : attempt(state.name ?? user?.username ?? '', given)
  },
})
