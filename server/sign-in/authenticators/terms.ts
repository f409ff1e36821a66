/** The terms as a step of the flow: asked of users who have not accepted them since `since` (seconds), or ever. */

import type { Attributes } from '#schemas/wire/records.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Users } from '#server/users/users.ts'
import { takeTerms, termsAttribute } from '../actions/terms.ts'
import type { Step, StepContext } from '../flow/step.ts'
import type { SignInPages } from '../pages/definitions/index.ts'

interface Parts {
  readonly pages: SignInPages
  readonly users: Users
  readonly clock: Clock
}

const isAccepted = ({ user, execution }: StepContext): boolean => {
  const { [termsAttribute]: accepted } = JSON.parse(user?.attributes ?? '{}') as Attributes
  return Number(accepted?.[0] ?? -1) >= Number(execution.config['since'] ?? 0)
}

export const terms = (parts: Parts): Step => ({
  id: 'terms',
  afterProof: true,
  isDone: isAccepted,
  show: async ({ settings, execution }) => ({
    send: (reply, page) =>
      parts.pages.terms(reply, {
        ...page,
        url: execution.config['url'] ?? settings.termsUrl,
        text: execution.config['text'],
        error: page.refusal && 'denied',
      }),
  }),
  answer: (context, form) => takeTerms(parts, context, form),
})
