/**
 * Tells the person that an account has the address, and names it: nothing is linked yet. What follows in the flow proves that
 * account, as in any sign-in; the link is made in the commit that ends the sign-in.
 */

import type { Newcomer, Newcomers } from '../../brokers/accounts/newcomers.ts'
import { refused, type Step, type StepContext, stepError } from '../../flow/step.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'
import { keepsAccount } from './link-or-create.ts'

interface Parts {
  readonly pages: SignInPages
  readonly newcomers: Newcomers
}

export const confirmLink = ({ pages, newcomers }: Parts): Step => {
  const holderOf = (context: StepContext, person: Newcomer | undefined) => {
    if (person?.account.kind === 'found') return person.account.holder
    return person?.account.kind === 'claimed' && keepsAccount(context)
      ? person.account.holder
      : undefined
  }

  return {
    id: 'broker-confirm-link',
    firstLogin: true,
    identifies: true,
    suits: async (context) => holderOf(context, await newcomers.of(context)) !== undefined,
    show: async (context) => {
      const person = await newcomers.of(context)
      return {
        send: (reply, page) =>
          pages.accountFound(reply, {
            ...page,
            provider: person?.provider.name ?? '',
            email: person?.email ?? '',
            error: stepError(page.refusal),
          }),
      }
    },
    answer: async (context) => {
      const { settings, pass } = context
      const person = await newcomers.of(context)
      const holder = holderOf(context, person)
      if (!person || !holder) return refused('expired', 403)
      return pass({
        user: holder,
        // The address is what the person knows of the account; its username is shown after the proof.
        name: settings.loginWithEmailAllowed ? (person.email ?? holder.username) : holder.username,
        broker: { ...person.broker, linksTo: holder.id },
      })
    },
  }
}
