/**
 * The organization for which a member of several signs in; `optional` lets the user choose none. Members of one organization
 * are not asked, nor is a request that names one.
 */

import { refused, type Step, type StepContext, stepError } from '../flow/step.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import type { SignInOrganizations } from '../sign-in-organizations.ts'

interface Parts {
  readonly pages: SignInPages
  readonly organizations: SignInOrganizations
}

export const organization = ({ pages, organizations }: Parts): Step => {
  const choices = async ({ view, user }: StepContext) =>
    user ? organizations.choices(view, user) : []
  const isOptional = ({ execution }: StepContext): boolean =>
    execution.config['optional'] === 'true'

  return {
    id: 'organization',
    afterProof: true,
    isDone: async (context) => {
      const open = await choices(context)
      const { organizationHint } = context.state
      return open.length < 2 || open.some(({ alias }) => alias === organizationHint)
    },
    show: async (context) => {
      const open = await choices(context)
      return {
        send: (reply, page) =>
          pages.chooseOrganization(reply, {
            ...page,
            organizations: open,
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
