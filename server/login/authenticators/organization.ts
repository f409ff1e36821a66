/**
 * The organization for which a user of several signs in; `optional` lets the user choose none. Asked of nobody else: with
 * one organization there is nothing to choose.
 */

import { organizationsOf } from '#server/tokens/organizations.ts'
import type { FactorParts } from '../factor-parts.ts'
import { refused, type Step, type StepContext, stepError } from '../step.ts'

type Parts = Pick<FactorParts, 'pages' | 'storage'>

export const organization = ({ pages, storage }: Parts): Step => {
  const choices = ({ view, user }: StepContext) =>
    user ? organizationsOf(storage, view, user.id) : Promise.resolve([])
  const isOptional = ({ execution }: StepContext): boolean =>
    execution.config['optional'] === 'true'

  return {
    id: 'organization',
    isDone: async (context) => (await choices(context)).length < 2,
    show: async (context) => {
      const organizations = await choices(context)
      return {
        send: (reply, page) =>
          pages.chooseOrganization(reply, {
            ...page,
            organizations,
            optional: isOptional(context),
            error: stepError(page.refusal),
          }),
      }
    },
    answer: async (context, form) => {
      const chosen = form('organization')
      if (chosen === '' && isOptional(context)) return context.pass({})
      const isOpen = (await choices(context)).some(({ id }) => id === chosen)
      return isOpen ? context.pass({ organization: chosen }) : refused('not-recognised')
    },
  }
}
