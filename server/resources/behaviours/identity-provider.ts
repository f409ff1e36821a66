/** Identity providers: the config that the protocol takes, and what an eID scheme's create response leaves out. */

import {
  eidProtocols,
  type ProtocolName,
  type ProviderProtocol,
  providerProtocols,
  samlNeedsMetadataOr,
} from '#schemas/drivers/identity-providers.ts'
import type { IdentityProviderDoc } from '#schemas/kinds/identity-provider.ts'
import type { FieldError } from '#schemas/problems.ts'
import type { Behaviour } from '../behaviour.ts'
import { type Draft, draftValue } from '../drafts.ts'

/** Members that the create response of an eID scheme echoes (spec part 2). */
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

/** Keys that have a value, secret ones included, whose values are not in the document. */
const keysOf = (draft: Draft): Set<string> => {
  const secrets = [...Object.keys(draft.before?.secrets ?? {}), ...Object.keys(draft.secrets)]
  return new Set([
    ...Object.keys(draftValue<IdentityProviderDoc>(draft).config),
    ...secrets.map((pointer) => pointer.replace('/config/', '')),
  ])
}

const missing = (key: string, protocol: string): FieldError => ({
  field: `/config/${key}`,
  code: 'required',
  message: `is required for ${protocol}`,
})

export const identityProvider: Behaviour = {
  check: (draft) => {
    const protocol: ProtocolName = draftValue<IdentityProviderDoc>(draft).protocol
    const { required, optional }: ProviderProtocol = providerProtocols[protocol]
    const given = keysOf(draft)
    const errors = [...given]
      .filter((key) => !required.includes(key) && !optional.includes(key))
      .map((key) => ({
        field: `/config/${key}`,
        code: 'unknown-field',
        message: `is not for ${protocol}`,
      }))
    errors.push(...required.filter((key) => !given.has(key)).map((key) => missing(key, protocol)))
    const { metadata, explicit } = samlNeedsMetadataOr
    if (protocol === 'saml' && !metadata.some((key) => given.has(key)))
      errors.push(...explicit.filter((key) => !given.has(key)).map((key) => missing(key, protocol)))
    return errors
  },

  prepare: async (draft) => {
    if (draft.before || draft.body === null) return {}
    const { protocol, config } = draftValue<IdentityProviderDoc>(draft)
    if (!eidProtocols.has(protocol)) return {}
    const shown = Object.entries(config).filter(([key]) => echoed.includes(key))
    return { answer: { config: Object.fromEntries(shown) } }
  },
}
