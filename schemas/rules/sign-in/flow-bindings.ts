/** THE list of what runs a flow. A flow that is on it, and every flow inside such a one, must prove its users. */

import type { SettingsDoc } from '../../kinds/settings.ts'
import { Flow, type FlowDoc } from '../../kinds/sign-in/flow.ts'
import type { FieldError } from '../../problems.ts'
import type { RuleContext } from '../rule.ts'
import { passageErrors } from './flow-passage.ts'

/** The settings that name a flow to run. */
export const flowSettings = [
  'browserFlow',
  'directGrantFlow',
] as const satisfies readonly (keyof SettingsDoc)[]

/** Flows with a fixed purpose: registration and reset of a forgotten password (server/sign-in/flow/entries.ts). */
const byName = ['registration', 'reset-credentials']

type Find = Pick<RuleContext, 'find'>

const flowOf = ({ find }: Find, alias: string): FlowDoc | undefined =>
  find(Flow.kind, alias) as FlowDoc | undefined

export const subFlows = (doc: FlowDoc | undefined): string[] =>
  (doc?.authenticationExecutions ?? []).flatMap(({ flowAlias }) => flowAlias ?? [])

/** A flow and all that run inside it. */
const within = (context: Find, outer: string): ReadonlySet<string> => {
  const seen = new Set([outer])
  for (const alias of seen) for (const sub of subFlows(flowOf(context, alias))) seen.add(sub)
  return seen
}

/** The flows that run a flow when a user signs in, registers or has forgotten the password; itself, where it is one. */
export const boundFlows = (
  context: Pick<RuleContext, 'find' | 'once' | 'settings'>,
  alias: string,
): string[] => {
  const named = flowSettings.flatMap((field) => context.settings[field] ?? [])
  return [...new Set([...named, ...byName])].filter((bound) =>
    context.once(`flows within ${bound}`, () => within(context, bound)).has(alias),
  )
}

/** Why a sign-in cannot run the flow. A missing flow is reported elsewhere. */
export const bindingErrors = (context: Find, alias: string): FieldError[] => {
  const flow = flowOf(context, alias)
  if (!flow) return []
  if (!flow.topLevel)
    return [
      {
        field: '/topLevel',
        code: 'sub-flow',
        message: 'must be true: users of the realm sign in by this flow',
      },
    ]
  return passageErrors(flow, { find: (other) => flowOf(context, other) })
}
