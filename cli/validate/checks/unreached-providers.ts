/** Identity providers that users cannot choose at a sign-in: one finding, at the first of them. */

import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { missingStep, unreachedProviders } from '#schemas/rules/sign-in/unreached-providers.ts'
import type { Finding } from '../finding.ts'
import type { Model } from '../model.ts'

export const checkUnreachedProviders = (model: Model): Finding[] => {
  const found = unreachedProviders(model)
  const first = model.declared.find(
    ({ kind, key }) => kind === IdentityProvider && found?.aliases.includes(key),
  )
  if (!found || !first) return []
  const { flow, aliases } = found
  const more = aliases.length - 1
  const others =
    more === 0
      ? ''
      : `; ${more} more ${more === 1 ? 'provider is' : 'providers are'} not reached either`
  return [
    {
      severity: 'warning',
      code: 'unreached-provider',
      pointer: first.pointer,
      message: `users cannot sign in through it: the flow "${flow}" (browserFlow) has no step identity-provider${others}`,
      hint: `add ${missingStep} to authenticationExecutions of the flow "${flow}"`,
    },
  ]
}
