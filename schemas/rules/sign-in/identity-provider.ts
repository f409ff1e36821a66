/** Identity providers: the config that the protocol needs and takes. */

import {
  eidProtocols,
  type ProviderProtocol,
  providerProtocols,
  samlNeedsMetadataOr,
} from '../../drivers/identity-providers.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '../../kinds/sign-in/identity-provider.ts'
import type { FieldError } from '../../problems.ts'
import { ruleFor } from '../rule.ts'

const missing = (key: string, protocol: string): FieldError => ({
  field: `/config/${key}`,
  code: 'required',
  message: `is required for ${protocol}`,
})

/** eIDAS has three levels; eHerkenning names its own by URI (Afsprakenstelsel, urn:etoegang:core:assurance-class:…). */
const loaFault = (protocol: string, level: string | undefined): FieldError[] => {
  if (level === undefined || !eidProtocols.has(protocol)) return []
  const isLevel =
    protocol === 'eidas'
      ? /^(?:http:\/\/eidas\.europa\.eu\/LoA\/)?(?:low|substantial|high)$/.test(level)
      : /^(?:urn:|https?:\/\/)[!-~]+$/.test(level)
  const wanted =
    protocol === 'eidas'
      ? 'low, substantial or high'
      : 'the URI of an assurance level, such as urn:etoegang:core:assurance-class:loa3'
  return isLevel
    ? []
    : [{ field: '/config/minimumLoa', code: 'enum', message: `must be ${wanted}` }]
}

export const identityProvider = ruleFor<IdentityProviderDoc>(
  IdentityProvider,
  ({ protocol, config }, _key, { secrets }) => {
    const { required, optional }: ProviderProtocol = providerProtocols[protocol]
    // Secret ones have a value too, although it is not in the document.
    const given = new Set([
      ...Object.keys(config),
      ...[...secrets].map((pointer) => pointer.replace('/config/', '')),
    ])
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
    errors.push(...loaFault(protocol, config.minimumLoa))
    return errors
  },
)
