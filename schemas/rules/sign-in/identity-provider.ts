/** Identity providers: the config that the protocol needs and takes. */

import {
  browserOnlyFields,
  directoryProtocols,
  eidProtocols,
  type ProviderProtocol,
  providerProtocols,
  samlNeedsMetadataOr,
} from '../../drivers/identity-providers.ts'
import { Flow } from '../../kinds/sign-in/flow.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '../../kinds/sign-in/identity-provider.ts'
import type { FieldError } from '../../problems.ts'
import { ruleFor } from '../rule.ts'
import { crossApplicationFaults } from './cross-application.ts'
import { namedFlowErrors, providerFlows } from './flow-bindings.ts'
import { oidcFaults } from './oidc-config.ts'
import { samlFaults } from './saml-provider.ts'

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

/** Fields with another value than their default that nothing would read. */
const directoryFaults = (doc: IdentityProviderDoc): FieldError[] =>
  directoryProtocols.has(doc.protocol)
    ? browserOnlyFields
        .filter((field) => doc[field] !== IdentityProvider.spec.properties?.[field]?.default)
        .map((field) => ({
          field: `/${field}`,
          code: 'unknown-field',
          message: `is not for ${doc.protocol}: users of a directory sign in with a password on our page`,
        }))
    : []

/** Whether every parenthesis of a filter (RFC 4515 §3) is closed, and nothing stands behind the last. */
const isBalanced = (filter: string): boolean => {
  let depth = 0
  for (const [i, character] of [...filter].entries()) {
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0 || (depth === 0 && i < filter.length - 1)) return false
  }
  return depth === 0
}

const filterFault = (key: string, filter: string | undefined, needsName: boolean): FieldError[] => {
  if (filter === undefined) return []
  const field = `/config/${key}`
  if (!filter.startsWith('(') || !isBalanced(filter))
    return [{ field, code: 'format', message: 'must be one LDAP filter in parentheses (RFC 4515)' }]
  // A name in another place, such as (uid={0}*), or in another comparison, such as (uid>={0}), would find other users than
  // the one who signs in.
  if (needsName && !/^[^{]*(?:[^<>~:]=\{0\}\)[^{]*)+$/.test(filter))
    return [
      {
        field,
        code: 'format',
        message: 'must compare {0}, the username, for equality, as in (uid={0})',
      },
    ]
  return []
}

export const identityProvider = ruleFor<IdentityProviderDoc>(
  IdentityProvider,
  (doc, key, context) => {
    const { protocol, config } = doc
    const { secrets } = context
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
    errors.push(...directoryFaults(doc))
    errors.push(...loaFault(protocol, config.minimumLoa))
    if (protocol === 'saml' || eidProtocols.has(protocol))
      errors.push(...samlFaults(protocol, config, given))
    if (required.includes('clientId')) errors.push(...oidcFaults(protocol, config, given))
    if (doc.crossApplicationAccess) errors.push(...crossApplicationFaults(doc, key, context))
    errors.push(...filterFault('userSearchFilter', config.userSearchFilter, true))
    errors.push(...filterFault('groupFilter', config.groupFilter, false))
    errors.push(
      ...providerFlows.flatMap(([field, place]) =>
        namedFlowErrors(context, field, doc[field], place),
      ),
    )
    return errors
  },
  [IdentityProvider],
  [Flow],
)
