/** Flows: every execution runs one thing, and no flow runs inside itself. */

import { authenticatorIds } from '#schemas/drivers/authenticators.ts'
import type { FlowDoc } from '#schemas/kinds/flow.ts'
import type { FieldError } from '#schemas/problems.ts'
import type { Behaviour } from '../behaviour.ts'
import { type Draft, type Drafts, draftValue } from '../drafts.ts'

const executionsOf = (draft: Draft): FlowDoc['authenticationExecutions'] =>
  draftValue<FlowDoc>(draft).authenticationExecutions

const subFlows = (draft: Draft): string[] =>
  executionsOf(draft).flatMap(({ flowAlias }) => (flowAlias === undefined ? [] : [flowAlias]))

const runsInside = (drafts: Drafts, start: Draft): boolean => {
  const queue = subFlows(start)
  const seen = new Set<string>()
  for (let alias = queue.pop(); alias !== undefined; alias = queue.pop()) {
    if (alias === start.key) return true
    const next = seen.has(alias) ? undefined : drafts.find(start.kind.kind, alias)
    seen.add(alias)
    if (next) queue.push(...subFlows(next))
  }
  return false
}

const unknownAuthenticators = (draft: Draft): FieldError[] =>
  executionsOf(draft).flatMap(({ authenticator }, i) =>
    authenticator === undefined || authenticatorIds.has(authenticator)
      ? []
      : [
          {
            field: `/authenticationExecutions/${i}/authenticator`,
            code: 'unknown-authenticator',
            message: `there is no authenticator "${authenticator}"; see /authenticators`,
          },
        ],
  )

export const flow: Behaviour = {
  check: (draft, drafts) => {
    const errors: FieldError[] = executionsOf(draft).flatMap((execution, i) =>
      (execution.authenticator === undefined) === (execution.flowAlias === undefined)
        ? [
            {
              field: `/authenticationExecutions/${i}`,
              code: 'exclusive',
              message: 'needs an authenticator or a flowAlias, and not both',
            },
          ]
        : [],
    )
    errors.push(...unknownAuthenticators(draft))
    if (runsInside(drafts, draft))
      errors.push({
        field: '/authenticationExecutions',
        code: 'cycle',
        message: 'the flow would run inside itself',
      })
    return errors
  },

  present: async (documents) => documents.map(({ origin }) => ({ builtIn: origin === 'built-in' })),
}
