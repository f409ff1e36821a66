/** Flows: every execution runs one thing that exists, no flow runs inside itself, and that of sign-ins by itself. */

import { authenticatorIds } from '../drivers/authenticators.ts'
import type { Doc } from '../json-schema.ts'
import { Flow, type FlowDoc } from '../kinds/flow.ts'
import type { FieldError } from '../problems.ts'
import { passageErrors } from './flow-passage.ts'
import { circleFrom, ruleFor } from './rule.ts'

type Execution = FlowDoc['authenticationExecutions'][number]

const subFlows = (doc: Doc | undefined): string[] =>
  ((doc as FlowDoc | undefined)?.authenticationExecutions ?? []).flatMap(
    ({ flowAlias }) => flowAlias ?? [],
  )

const executionErrors = ({ authenticator, flowAlias }: Execution, field: string): FieldError[] => [
  ...((authenticator === undefined) === (flowAlias === undefined)
    ? [
        {
          field,
          code: 'exclusive',
          message: 'needs an authenticator or a flowAlias, and not both',
        },
      ]
    : []),
  ...(authenticator === undefined || authenticatorIds.has(authenticator)
    ? []
    : [
        {
          field: `${field}/authenticator`,
          code: 'unknown-authenticator',
          message: `there is no authenticator "${authenticator}"; see /authenticators`,
        },
      ]),
]

export const flow = ruleFor<FlowDoc>(Flow, (value, alias, { find, settings }) => {
  const errors = value.authenticationExecutions.flatMap((execution, i) =>
    executionErrors(execution, `/authenticationExecutions/${i}`),
  )
  const inner = (other: string): string[] => subFlows(find(Flow.kind, other))
  const circle = circleFrom(alias, subFlows(value), inner)
  if (circle !== null)
    errors.push({
      field: '/authenticationExecutions',
      code: 'cycle',
      message: `the flow would run inside itself: ${circle}`,
    })
  if (errors.length === 0 && settings.browserFlow === alias)
    errors.push(
      ...passageErrors(value, { find: (other) => find(Flow.kind, other) as FlowDoc | undefined }),
    )
  if (!value.topLevel && settings.browserFlow === alias)
    errors.push({
      field: '/topLevel',
      code: 'sub-flow',
      message: 'must be true: users of the realm sign in by this flow',
    })
  return errors
})
