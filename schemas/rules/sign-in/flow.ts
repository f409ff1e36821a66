/** Flows: every execution runs one thing that exists, no flow runs inside itself, and those that are run prove their users. */

import { authenticatorIds } from '../../drivers/authenticators.ts'
import { circleFrom } from '../../graph/circle.ts'
import { Flow, type FlowDoc } from '../../kinds/sign-in/flow.ts'
import { IdentityProvider } from '../../kinds/sign-in/identity-provider.ts'
import type { FieldError } from '../../problems.ts'
import { type RuleContext, ruleFor } from '../rule.ts'
import { executionSettingErrors } from './execution-settings.ts'
import { bindingErrors, boundFlows, subFlows } from './flow-bindings.ts'

type Execution = FlowDoc['authenticationExecutions'][number]

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
          message: `there is no authenticator "${authenticator}"; \`iamctl explain flow.authenticationExecutions.authenticator\` lists all`,
        },
      ]),
]

/** A change inside another flow is refused here: the other flow stays as it is, and is not checked again. */
const errorsOfBound = (context: RuleContext, alias: string): FieldError[] =>
  boundFlows(context, alias).flatMap(({ alias: bound, place }) => {
    const errors = context.once(`errors of the bound flow ${place} ${bound}`, () =>
      bindingErrors(context, bound, place),
    )
    if (bound === alias) return errors
    return errors.map(({ code, message }) => ({
      field: '/authenticationExecutions',
      code,
      message: `the flow "${bound}", which runs this one, would not work: ${message}`,
    }))
  })

export const flow = ruleFor<FlowDoc>(
  Flow,
  (value, alias, context) => {
    const errors = value.authenticationExecutions.flatMap((execution, i) => {
      const field = `/authenticationExecutions/${i}`
      return [
        ...executionErrors(execution, field),
        // One that was stored before the rule, and stays as it is, does not keep others from being changed.
        ...(context.stays === true ? [] : executionSettingErrors(execution, field)),
      ]
    })
    const inner = (other: string): string[] =>
      subFlows(other === alias ? value : (context.find(Flow.kind, other) as FlowDoc | undefined))
    const circle = circleFrom(
      alias,
      inner,
      context.once('straight flows', () => new Set()),
    )
    if (circle !== null)
      errors.push({
        field: '/authenticationExecutions',
        code: 'cycle',
        message: `the flow would run inside itself: ${circle}`,
      })
    return errors.length > 0 ? errors : errorsOfBound(context, alias)
  },
  [IdentityProvider],
  [Flow],
)
