/** Shared by the pages that ask for a name; if the flow accepts passkeys, they are offered beside it. */

import type { Passkeys } from '#server/credentials/factors/passkeys.ts'
import type { SignInProviders } from '../../brokers/providers.ts'
import { isSubFlow, type PinnedExecution, type PinnedNode } from '../../flow/pinned-flow.ts'
import { type AskedPage, loginError, type StepContext } from '../../flow/step.ts'
import { registerPath } from '../../pages/addresses.ts'
import type { FirstPage } from '../../pages/definitions/login.ts'
import { linksTo, providerStepId } from '../brokers/identity-provider.ts'
import { passkeyAudience, passwordlessId } from '../devices/webauthn-passwordless.ts'

const notices = ['signed-out', 'password-changed', 'registered'] as const

const noticeOf = ({ query }: StepContext['request']): FirstPage['notice'] => {
  const { notice } = (query ?? {}) as { readonly notice?: unknown }
  return notices.find((one) => one === notice)
}

const executionIn = (
  nodes: readonly PinnedNode[],
  authenticator: string,
): PinnedExecution | undefined => {
  for (const node of nodes) {
    const found = isSubFlow(node)
      ? executionIn(node.nodes, authenticator)
      : node.authenticator === authenticator && node.requirement !== 'DISABLED'
        ? node
        : undefined
    if (found) return found
  }
  return undefined
}

/** Offered on the page itself, not on the one with other ways. */
const ownOffers: readonly string[] = [passwordlessId, providerStepId]

/** Made before the page is sent: whether the passkey is open then, only the page knows. */
export const createFirstPage =
  ({ passkeys, providers }: { readonly passkeys: Passkeys; readonly providers: SignInProviders }) =>
  async (context: StepContext) => {
    const { settings, realm, state, request, view } = context
    const { nodes } = state.flow
    const options =
      executionIn(nodes, passwordlessId) && passkeys.arePossible(settings)
        ? await passkeys.requestOptions(settings, undefined, passkeyAudience(realm))
        : undefined
    const only = executionIn(nodes, providerStepId)?.config['provider']
    const shown = (await providers.shown(view, state)).filter(
      ({ alias }) => only === undefined || alias === only,
    )
    const hasOrganizations = only === undefined && (await providers.hasOrganizations(view))
    const offersProviders = ({ offers }: AskedPage): boolean => offers.includes(providerStepId)
    return (page: AskedPage): FirstPage => ({
      ...page,
      emailAllowed: settings.loginWithEmailAllowed,
      rememberMe: settings.rememberMe ? page.refusal?.values?.['rememberMe'] === 'true' : undefined,
      registerUrl:
        settings.registrationAllowed || state.invitation !== undefined
          ? registerPath(realm, state.pending)
          : undefined,
      passkey: page.offers.includes(passwordlessId) ? options : undefined,
      providers: offersProviders(page) ? linksTo(context, shown) : undefined,
      hasOrganizations: offersProviders(page) && hasOrganizations,
      hasOthers: page.offers.some((id) => !ownOffers.includes(id)),
      error: loginError(page.refusal),
      notice: noticeOf(request),
    })
  }
