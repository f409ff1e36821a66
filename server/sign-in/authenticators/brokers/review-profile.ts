/**
 * The profile from an identity provider, for the person to look at and complete. `review`: `missing` asks where the provider
 * gave no address, `always` asks every user, `never` none.
 */

import type { FieldErrorId, FieldErrors } from '#server/http/pages/pages.ts'
import { emailErrors, foldName, isOtherAddress, usernameErrors } from '#server/users/names.ts'
import type { Users } from '#server/users/users.ts'
import { readProfile } from '../../actions/update-profile.ts'
import type { Newcomers } from '../../brokers/accounts/newcomers.ts'
import { chooseUsername } from '../../brokers/accounts/usernames.ts'
import { refused, type Step, type StepContext } from '../../flow/step.ts'
import type { SignInPages } from '../../pages/definitions/index.ts'

const fault = (
  field: string,
  value: string,
  errors: readonly unknown[],
  invalid: FieldErrorId,
  isTaken = false,
): FieldErrors<string> => {
  const id = value === '' ? 'required' : errors.length > 0 ? invalid : isTaken ? 'taken' : undefined
  return id === undefined ? {} : { [field]: [{ id }] }
}

interface Parts {
  readonly pages: SignInPages
  readonly newcomers: Newcomers
  readonly users: Users
}

export const reviewProfile = ({ pages, newcomers, users }: Parts): Step => {
  const isDone = async (context: StepContext): Promise<boolean> => {
    const review = context.execution.config['review'] ?? 'missing'
    if (review === 'never') return true
    if (review === 'always') return false
    return (await newcomers.of(context))?.email !== undefined
  }

  return {
    id: 'broker-review-profile',
    firstLogin: true,
    isDone,
    show: async (context) => {
      const person = await newcomers.of(context)
      const known = person && {
        username: await chooseUsername(users, context.realm, person),
        email: person.email ?? '',
        firstName: person.firstName ?? '',
        lastName: person.lastName ?? '',
      }
      return {
        send: (reply, page) =>
          pages.reviewProfile(reply, {
            ...page,
            provider: person?.provider.name ?? '',
            asksUsername: true,
            values: { ...known, ...page.refusal?.values },
            errors: page.refusal?.errors,
          }),
      }
    },
    answer: async (context, form) => {
      const { realm, state, pass } = context
      if (!state.broker) return refused('expired', 403)
      const values = { username: form('username').trim(), ...readProfile(form) }
      const taken = await users.findByLogin(realm, values.username, { withEmail: true })
      // An account that has the address already is a question of a later step, no refusal of the name.
      const isTaken = taken !== undefined && taken.user.email_key !== foldName(values.email)
      const wrong = {
        ...fault('username', values.username, usernameErrors(values.username), 'invalid', isTaken),
        ...fault('email', values.email, emailErrors(values.email), 'invalid-email'),
        ...(isOtherAddress(values.username, values.email)
          ? { username: [{ id: 'other-address' as const }] }
          : {}),
      }
      if (Object.keys(wrong).length > 0)
        return { kind: 'refused', status: 400, errors: wrong, values }
      return pass({ broker: { ...state.broker, profile: values } })
    },
  }
}
