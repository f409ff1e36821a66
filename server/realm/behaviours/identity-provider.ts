/** Identity providers: what the create response of an eID scheme leaves out. */

import { eidProtocols } from '#schemas/drivers/identity-providers.ts'
import type { IdentityProviderDoc } from '#schemas/kinds/sign-in/identity-provider.ts'
import { type Draft, draftValue } from '../write/drafts.ts'
import type { Behaviour, Prepared } from './behaviour.ts'

/** Members that the create response of an eID scheme echoes. */
const echoed = [
  'ssoUrl',
  'idpEntityId',
  'spEntityId',
  'assertionConsumerServiceUrl',
  'singleLogoutServiceUrl',
  'artifactResolutionServiceUrl',
  'minimumLoa',
  'subjectAttribute',
]

const prepared = (draft: Draft): Prepared => {
  if (draft.before || draft.body === null) return {}
  const { protocol, config } = draftValue<IdentityProviderDoc>(draft)
  if (!eidProtocols.has(protocol)) return {}
  const shown = Object.entries(config).filter(([key]) => echoed.includes(key))
  return { answer: { config: Object.fromEntries(shown) } }
}

export const identityProvider: Behaviour = {
  prepare: async (drafts) => ({ prepared: drafts.map(prepared) }),
}
