/**
 * Identity providers that no sign-in reaches: the flow of sign-ins in a browser has no step for them, because it was written
 * before, or without them in mind. Directories need none: the step that takes passwords asks them.
 */

import { directoryProtocols } from '../../drivers/identity-providers.ts'
import { Flow, type FlowDoc } from '../../kinds/sign-in/flow.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '../../kinds/sign-in/identity-provider.ts'
import type { RuleContext } from '../rule.ts'

type Realm = Pick<RuleContext, 'find' | 'all' | 'settings'>

type Execution = FlowDoc['authenticationExecutions'][number]

const step = 'identity-provider'

export interface UnreachedProviders {
  /** `browserFlow` of the realm. */
  readonly flow: string
  /** In the order of the realm. */
  readonly aliases: readonly string[]
}

export const missingStep = `{ authenticator: ${step}, requirement: ALTERNATIVE }`

/** The steps of a flow and of those inside it; undefined where one of them is not known. */
const stepsIn = ({ find }: Realm, outer: string): readonly Execution[] | undefined => {
  const steps: Execution[] = []
  const seen = new Set([outer])
  for (const alias of seen) {
    const flow = find(Flow.kind, alias) as FlowDoc | undefined
    if (!flow) return undefined
    for (const execution of flow.authenticationExecutions) {
      if (execution.requirement === 'DISABLED') continue
      if (execution.flowAlias !== undefined) seen.add(execution.flowAlias)
      steps.push(execution)
    }
  }
  return steps
}

export const unreachedProviders = (realm: Realm): UnreachedProviders | undefined => {
  const flow = realm.settings.browserFlow
  const steps = flow === undefined ? undefined : stepsIn(realm, flow)
  if (flow === undefined || steps === undefined) return undefined
  const own = steps.filter(({ authenticator }) => authenticator === step)
  const isReached = (alias: string): boolean =>
    own.some(({ authenticatorConfig }) => {
      const named = authenticatorConfig?.['provider']
      return named === undefined || named === alias
    })
  const aliases = [...realm.all(IdentityProvider.kind).values()]
    .map((doc) => doc as IdentityProviderDoc)
    .filter((doc) => doc.enabled && !doc.linkOnly && !directoryProtocols.has(doc.protocol))
    .map(({ alias }) => alias)
    .filter((alias) => !isReached(alias))
  return aliases.length > 0 ? { flow, aliases } : undefined
}
