/** THE list of what runs a flow. A flow that is on it, and every flow inside such a one, must prove its users. */

import type { SettingsDoc } from '../../kinds/settings.ts'
import { deepestFlows, Flow, type FlowDoc, mostExecutions } from '../../kinds/sign-in/flow.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '../../kinds/sign-in/identity-provider.ts'
import type { FieldError } from '../../problems.ts'
import type { RuleContext } from '../rule.ts'
import { type FlowPlace, passageErrors } from './flow-passage.ts'

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

export interface BoundFlow {
  readonly alias: string
  readonly place: FlowPlace
}

/** The fields of an identity provider that name a flow. */
export const providerFlows = [
  ['firstLoginFlow', 'first-login'],
  ['postLoginFlow', 'post-login'],
] as const satisfies readonly (readonly [keyof IdentityProviderDoc, FlowPlace])[]

const ofProviders = ({ all }: Pick<RuleContext, 'all'>): BoundFlow[] =>
  [...all(IdentityProvider.kind).values()].flatMap((doc) =>
    providerFlows.flatMap(([field, place]) => {
      const alias = (doc as IdentityProviderDoc)[field]
      return alias === undefined ? [] : [{ alias, place }]
    }),
  )

/** All flows that are run, each once for each place. */
const allBound = (context: Pick<RuleContext, 'all' | 'settings'>): BoundFlow[] => {
  const named = flowSettings.flatMap((field) => context.settings[field] ?? [])
  const ofSignIn = [...named, ...byName].map((alias) => ({ alias, place: 'sign-in' }) as const)
  const known = [...ofSignIn, ...ofProviders(context)]
  return [...new Map(known.map((one) => [`${one.place} ${one.alias}`, one])).values()]
}

/**
 * The flows that run a flow when a user signs in, registers, has forgotten the password or comes from an identity provider;
 * itself, where it is one.
 */
export const boundFlows = (
  context: Pick<RuleContext, 'find' | 'all' | 'once' | 'settings'>,
  alias: string,
): BoundFlow[] =>
  context
    .once('bound flows', () => allBound(context))
    .filter((bound) =>
      context.once(`flows within ${bound.alias}`, () => within(context, bound.alias)).has(alias),
    )

/**
 * Sub-flows count each time that they are named, so that few flows can hold millions of executions. A sign-in keeps all of
 * them, and walks through them at each step: without a bound, one realm could stop the server of all realms.
 */
const sizeErrors = (context: Find, outer: string): FieldError[] => {
  const field = '/authenticationExecutions'
  const errors: FieldError[] = []
  let count = 0
  const walk = (alias: string, depth: number): void => {
    if (depth > deepestFlows)
      errors.push({
        field,
        code: 'depth',
        message: `flows run inside each other more than ${deepestFlows} deep`,
      })
    for (const { flowAlias } of flowOf(context, alias)?.authenticationExecutions ?? []) {
      if (errors.length > 0) return
      count += 1
      if (count > mostExecutions)
        errors.push({
          field,
          code: 'too-many',
          message: `the flow and those that run inside it have more than ${mostExecutions} executions`,
        })
      else if (flowAlias !== undefined) walk(flowAlias, depth + 1)
    }
  }
  walk(outer, 0)
  return errors
}

/** Why a sign-in cannot run the flow. A missing flow is reported elsewhere. */
export const bindingErrors = (
  context: Find,
  alias: string,
  place: FlowPlace = 'sign-in',
): FieldError[] => {
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
  const tooLarge = sizeErrors(context, alias)
  if (tooLarge.length > 0) return tooLarge
  return passageErrors(flow, { find: (other) => flowOf(context, other), place })
}

/** As the document tells it that names the flow in `field`. */
export const namedFlowErrors = (
  context: Find,
  field: string,
  alias: string | undefined,
  place?: FlowPlace,
): FieldError[] =>
  (alias === undefined ? [] : bindingErrors(context, alias, place)).map(({ code, message }) => ({
    field: `/${field}`,
    code,
    message:
      code === 'sub-flow'
        ? 'names a flow that only runs inside others'
        : `the flow "${alias}" cannot be run: ${message}`,
  }))
