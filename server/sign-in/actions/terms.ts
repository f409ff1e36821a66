/** The terms of the realm. When they were accepted is kept as an attribute of the user, as Keycloak does it. */

import type { Attributes } from '#schemas/wire/records.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Users } from '#server/users/users.ts'
import {
  type AnswerContext,
  type Answered,
  type Form,
  type RequiredAction,
  refused,
} from '../flow/step.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { completed, ownEvent } from './completed.ts'

interface Parts {
  readonly pages: SignInPages
  readonly users: Users
  readonly clock: Clock
}

const id = 'TERMS_AND_CONDITIONS'
export const termsAttribute = 'terms_and_conditions'

/** Passes the step with the user's consent; who declines does not go on. */
export const takeTerms = async (
  parts: Parts,
  context: AnswerContext,
  form: Form,
): Promise<Answered> => {
  const { user, pass } = context
  if (!user || form('decision') !== 'accept') return refused('denied', 403)
  const attributes: Attributes = {
    ...(JSON.parse(user.attributes) as Attributes),
    [termsAttribute]: [String(Math.floor(parts.clock.now() / 1000))],
  }
  return pass({
    statements: completed(parts, user, id, { attributes }),
    events: [ownEvent(context, user, 'ACCEPT_TERMS', 'terms')],
  })
}

export const acceptTerms = (parts: Parts): RequiredAction => ({
  id,
  show: async ({ settings }) => ({
    send: (reply, page) =>
      parts.pages.terms(reply, {
        ...page,
        url: settings.termsUrl,
        error: page.refusal && 'denied',
      }),
  }),
  answer: (context, form) => takeTerms(parts, context, form),
})
