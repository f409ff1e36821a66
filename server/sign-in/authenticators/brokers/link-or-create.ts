/**
 * Makes the account of a person whom an identity provider has named, with the link to it. Where an account has the address
 * without having verified it, a page asks: take that account over, with every way into it removed, or make a new one.
 */

import type { NewAccounts } from '../../brokers/accounts/new-accounts.ts'
import type { Newcomer, Newcomers } from '../../brokers/accounts/newcomers.ts'
import {
  type AnswerContext,
  type Answered,
  refused,
  type Step,
  type StepContext,
} from '../../flow/step.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'

interface Parts {
  readonly pages: SignInPages
  readonly newcomers: Newcomers
  readonly accounts: NewAccounts
}

interface Notes {
  /** The person says that the account is theirs, and will prove it. */
  readonly keeps: true
}

/** Whether the person has chosen to prove an account that has not verified the address, rather than to take it over. */
export const keepsAccount = ({ state }: StepContext): boolean =>
  Object.values(state.notes).some((one) => (one as Partial<Notes> | undefined)?.keeps === true)

export const linkOrCreate = ({ pages, newcomers, accounts }: Parts): Step => {
  /** Of several that are made for a person at the same moment, one is made, and the others are it. */
  const made = async (context: AnswerContext, person: Newcomer): Promise<Answered> => {
    const answered = await accounts.create(context, person)
    if (answered.kind !== 'refused') return answered
    const account = (await newcomers.of(context))?.account
    return account?.kind === 'linked' ? accounts.goOnAs(context, person, account.holder) : answered
  }

  return {
    id: 'broker-link-or-create',
    firstLogin: true,
    identifies: true,
    isVouched: true,
    suits: async (context) => {
      const account = (await newcomers.of(context))?.account
      if (account?.kind === 'none' || account?.kind === 'linked') return true
      return account?.kind === 'claimed' && !keepsAccount(context)
    },
    isAutomatic: async (context) => {
      const kind = (await newcomers.of(context))?.account.kind
      return kind === 'none' || kind === 'linked'
    },
    show: async (context) => {
      const person = await newcomers.of(context)
      return {
        send: (reply, page) =>
          pages.newAccount(reply, {
            ...page,
            provider: person?.provider.name ?? '',
            email: person?.email,
            isClaimed: person?.account.kind === 'claimed',
            yields: person?.account.kind === 'claimed' && person.account.yields,
            error: page.refusal && 'unavailable',
          }),
      }
    },
    answer: async (context, form) => {
      const person = await newcomers.of(context)
      if (!person) return refused('expired', 403)
      const { account } = person
      if (account.kind === 'linked') return accounts.goOnAs(context, person, account.holder)
      if (account.kind === 'none') return made(context, person)
      if (account.kind !== 'claimed') return refused('unavailable', 403)
      switch (form('decision')) {
        case 'keep':
          return context.again({ keeps: true } satisfies Notes)
        case 'new':
          return made(context, person)
        case 'take-over':
          return account.yields
            ? accounts.takeOver(context, person, account.holder)
            : refused('unavailable', 403)
        default:
          return refused('unavailable')
      }
    },
  }
}
