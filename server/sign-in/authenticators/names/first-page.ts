/** Shared by the pages that ask for a name; if the flow accepts passkeys, they are offered beside it. */

import type { Passkeys } from '#server/credentials/factors/passkeys.ts'
import { isSubFlow, type PinnedNode } from '../../flow/pinned-flow.ts'
import { type AskedPage, loginError, type StepContext } from '../../flow/step.ts'
import { registerPath } from '../../pages/addresses.ts'
import type { FirstPage } from '../../pages/definitions/login.ts'
import { passkeyAudience, passwordlessId } from '../devices/webauthn-passwordless.ts'

const notices = ['signed-out', 'password-changed', 'registered'] as const

const noticeOf = ({ query }: StepContext['request']): FirstPage['notice'] => {
  const { notice } = (query ?? {}) as { readonly notice?: unknown }
  return notices.find((one) => one === notice)
}

const hasPasskeys = (nodes: readonly PinnedNode[]): boolean =>
  nodes.some((node) =>
    isSubFlow(node) ? hasPasskeys(node.nodes) : node.authenticator === passwordlessId,
  )

/** Made before the page is sent: whether the passkey is open then, only the page knows. */
export const createFirstPage =
  ({ passkeys }: { readonly passkeys: Passkeys }) =>
  async ({ settings, realm, state, request }: StepContext) => {
    const options =
      hasPasskeys(state.flow.nodes) && passkeys.arePossible(settings)
        ? await passkeys.requestOptions(settings, undefined, passkeyAudience(realm))
        : undefined
    return (page: AskedPage): FirstPage => ({
      ...page,
      emailAllowed: settings.loginWithEmailAllowed,
      rememberMe: settings.rememberMe ? page.refusal?.values?.['rememberMe'] === 'true' : undefined,
      registerUrl:
        settings.registrationAllowed || state.invitation !== undefined
          ? registerPath(realm, state.pending)
          : undefined,
      passkey: page.offers.includes(passwordlessId) ? options : undefined,
      hasOthers: page.offers.some((id) => id !== passwordlessId),
      error: loginError(page.refusal),
      notice: noticeOf(request),
    })
  }
