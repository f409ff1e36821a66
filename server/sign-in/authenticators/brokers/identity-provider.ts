/**
 * A sign-in at an identity provider. Beside a page with a name it is a button for each; as a page of its own it also asks for
 * the address of people whose organization has a provider. `provider` in its configuration sends browsers there at once.
 */

import { printable } from '#server/users/names.ts'
import { departurePath } from '../../brokers/addresses.ts'
import type { SignInProvider, SignInProviders } from '../../brokers/providers.ts'
import { federated } from '../../flow/levels.ts'
import type { PinnedExecution } from '../../flow/pinned-flow.ts'
import type { Asked } from '../../flow/questions.ts'
import { refused, type Step, type StepContext, stepError } from '../../flow/step.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'
import type { ProviderLink } from '../../pages/definitions/login.ts'

export const providerStepId = 'identity-provider'

/** Whether a step of a flow is for this provider: one that names a provider is for no other. */
export const isStepOf =
  (alias: string) =>
  ({ authenticator, config }: PinnedExecution): boolean =>
    authenticator === providerStepId && (config['provider'] ?? alias) === alias

interface Notes {
  /** The address of a person whose organization has a provider. */
  readonly address: string
}

/** The address that the person has given, for the provider to fill in. */
export const addressIn = ({ signIn: { state }, execution }: Pick<Asked, 'signIn' | 'execution'>) =>
  (state.notes[execution.path] as Notes | undefined)?.address ?? state.name

export const linksTo = (
  context: Pick<StepContext, 'realm' | 'state' | 'handle' | 'stored'>,
  providers: readonly SignInProvider[],
): ProviderLink[] =>
  providers.map(({ alias, name, protocol }) => ({
    name,
    icon: protocol,
    url: departurePath(context, alias),
  }))

interface Parts {
  readonly pages: SignInPages
  readonly providers: SignInProviders
}

export const identityProvider = ({ pages, providers }: Parts): Step => {
  const addressOf = ({ notes, state }: StepContext): string | undefined =>
    (notes as Notes | undefined)?.address ?? state.name

  const shownTo = async (context: StepContext): Promise<readonly SignInProvider[]> => {
    const { view, state, execution } = context
    const { provider } = execution.config
    if (provider !== undefined) {
      const found = await providers.find(view, provider)
      return found && providers.isUsable(found, state) ? [found] : []
    }
    const name = addressOf(context)
    return providers.shown(view, { ...state, ...(name === undefined ? {} : { name }) })
  }

  return {
    id: providerStepId,
    amr: federated,
    identifies: true,
    isVouched: true,
    isOffered: async (context) => {
      const { view, state, execution } = context
      if ((await shownTo(context)).length > 0) return true
      if (execution.config['provider'] !== undefined || state.name !== undefined) return false
      return providers.hasOrganizations(view)
    },
    // A flow that has proved something goes on with it; a session that is strengthened may be by its provider.
    suits: async ({ user, state }) =>
      user === undefined || state.amr.length === 0 || state.strengthens !== undefined,
    show: async (context) => {
      const { view, notes, state } = context
      const shown = await shownTo(context)
      const isFound = notes !== undefined || state.name !== undefined
      const asksAddress = !isFound && (await providers.hasOrganizations(view))
      return {
        send: (reply, page) =>
          pages.providers(reply, {
            ...page,
            providers: linksTo(context, shown),
            asksAddress,
            isOrganization: isFound,
            error: stepError(page.refusal) && 'no-organization',
          }),
      }
    },
    answer: async (context, form) => {
      const address = printable(form('username').trim(), 320)
      const found = await providers.ofAddress(context.view, address)
      const isFound = found.some((one) => providers.isUsable(one, context.state))
      return isFound
        ? context.again({ address } satisfies Notes)
        : { ...refused('not-recognised'), values: { username: address } }
    },
  }
}
