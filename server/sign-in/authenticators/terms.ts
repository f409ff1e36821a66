/** The terms as a step of the flow: asked of users who have not accepted them since `since` (seconds), or ever. */

import type { Attributes } from '#server/users/user-record.ts'
import { takeTerms, termsAttribute } from '../actions/terms.ts'
import type { FactorParts } from '../flow/factor-parts.ts'
import type { Step, StepContext } from '../flow/step.ts'

type Parts = Pick<FactorParts, 'pages' | 'users' | 'clock'>

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
