/**
 * Generators for kinds whose fields must agree with each other, which independent values rarely do. Other refused values
 * are removed afterwards (mended.ts), so a new kind needs a line here only if most of its documents are refused.
 */

import { authenticatorIds, firstLoginOnly } from '#schemas/drivers/authenticators.ts'
import {
  claimMappers,
  type MapperSettings,
  userProperties,
} from '#schemas/drivers/claim-mappers.ts'
import {
  type ProviderProtocol,
  providerProtocols,
  samlNeedsMetadataOr,
} from '#schemas/drivers/identity-providers.ts'
import { driverConfig, messagingDrivers } from '#schemas/drivers/messaging.ts'
import { samlMappers } from '#schemas/drivers/saml.ts'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { sampleNumbered } from '../support/samples.ts'

interface Tuned {
  readonly doc: Doc
  readonly secrets: Readonly<Record<string, string>>
}

type Tune = (item: Tuned, kind: Kind) => Tuned

/** Only what is allowed, and all that is needed. */
const configFor = (
  kind: Kind,
  given: unknown,
  needed: readonly string[],
  allowed: (name: string) => boolean,
): Doc => {
  const { properties = {} } = kind.spec.properties?.['config'] ?? {}
  return {
    ...Object.fromEntries(needed.map((name) => [name, sampleNumbered(properties[name] ?? {}, 1)])),
    ...Object.fromEntries(
      Object.entries(isObject(given) ? given : {}).filter(([name]) => allowed(name)),
    ),
  }
}

const keys: readonly Doc[] = [
  {
    kty: 'EC',
    crv: 'P-256',
    x: 'zJp85ieCoUP_iiEj7busD-9Pnod_cDWQ0rXvnqs-L-c',
    y: 'Cx0TR44dvDFquKEYW7SZ-Ee5vxWuloxnIPN9EXCZpVo',
  },
  { kty: 'OKP', crv: 'Ed25519', x: 'FxKcS72oI9IZHz34sot6VVs7xTL_0fDbE43X-PzOu2c', kid: 'two' },
]

/** What a setting means depends on the mapper: each has what it needs, and a prefix that changes. */
const mapperOf =
  (mappers: Readonly<Record<string, Pick<MapperSettings, 'required'>>>): Tune =>
  ({ doc, secrets }) => {
    const { required = [] } = mappers[String(doc['protocolMapper'])] ?? {}
    const value = Object.keys(isObject(doc['config']) ? doc['config'] : {}).length % 2
    const needed = required.map((setting) => [
      setting,
      setting === 'user.attribute' ? (userProperties[value] ?? 'id') : `claim-${value}`,
    ])
    return { doc: { ...doc, config: Object.fromEntries(needed) }, secrets }
  }

const tunes: Readonly<Record<string, Tune>> = {
  /** The owner is a user who is there, by id; test/agents has owners by name. */
  agent: ({ doc: { owner: _, ...doc }, secrets }) => ({ doc, secrets }),
  /** Generated members have no key. */
  client: ({ doc, secrets }) => {
    const { jwks, ...rest } = doc
    const thrown = (jwks as { readonly keys: readonly unknown[] } | undefined)?.keys
    const given = thrown && { jwks: { keys: keys.slice(0, 1 + (thrown.length % 2)) } }
    return { doc: { ...rest, ...given }, secrets }
  },

  claim: mapperOf(claimMappers),
  'client-mapper': mapperOf(claimMappers),
  /**
   * Fields that follow the metadata belong to the server, also if files set them
   * (test/cli/plans/followed-fields-are-left-alone).
   */
  'saml-client': ({ doc: { metadataRefresh: _, ...doc }, secrets }) => ({ doc, secrets }),

  'saml-client-mapper': mapperOf(samlMappers),

  /** The clients would have to have service accounts, also those that the files do not declare. */
  provisioning: ({ doc: { scimClients: _, ...doc }, secrets }) => ({ doc, secrets }),

  /** The scopes would have to be those of the client that it names. */
  'workload-identity': ({ doc: { scopes: _, ...doc }, secrets }) => ({ doc, secrets }),

  'identity-provider': ({ doc, secrets }, kind) => {
    const protocol = doc['protocol'] as keyof typeof providerProtocols
    const { required, optional }: ProviderProtocol = providerProtocols[protocol]
    const known = new Set([...required, ...optional])
    const explicit = protocol === 'saml' ? samlNeedsMetadataOr.explicit : []
    const config = configFor(kind, doc['config'], [...required, ...explicit], (name) =>
      known.has(name),
    )
    const levels: Doc = { eidas: 'high', eherkenning: 'urn:etoegang:core:assurance-class:loa3' }
    const level = levels[protocol] === undefined ? {} : { minimumLoa: levels[protocol] }
    const kept = Object.entries(secrets).filter(([pointer]) =>
      known.has(pointer.replace('/config/', '')),
    )
    return { doc: { ...doc, config: { ...config, ...level } }, secrets: Object.fromEntries(kept) }
  },

  'messaging-provider': ({ doc, secrets }, kind) => {
    const drivers: readonly string[] =
      messagingDrivers[doc['channel'] as keyof typeof messagingDrivers]
    const given = String(doc['driver'])
    const driver = drivers.includes(given) ? given : (drivers[given.length % 2] ?? '')
    const { required = [], optional = [] } = driverConfig[driver] ?? {}
    const known = new Set([...required, ...optional])
    const config = configFor(kind, doc['config'], required, (name) => known.has(name))
    return { doc: { ...doc, driver, config }, secrets }
  },

  flow: ({ doc, secrets }) => {
    const ids = [...authenticatorIds].filter((id) => !firstLoginOnly.has(id))
    const executions = (doc['authenticationExecutions'] ?? []) as readonly Doc[]
    // Every path must prove the user: a realm may bind any flow to its sign-ins.
    const first = { authenticator: 'username-password', requirement: 'REQUIRED' }
    const others = executions.map((execution, i) => {
      const { flowAlias, authenticator: text, ...rest } = execution
      return flowAlias === undefined
        ? { ...rest, authenticator: ids[(String(text).length + i) % ids.length] }
        : { ...rest, flowAlias }
    })
    const authenticationExecutions = [first, ...others]
    const { topLevel, ...rest } = doc
    // All sign-ins use it, unless the realm binds another flow.
    const level = topLevel === undefined || doc['alias'] === 'browser' ? {} : { topLevel }
    return { doc: { ...rest, ...level, authenticationExecutions }, secrets }
  },

  'subject-claim': ({ doc, secrets }) => ({
    doc: doc['strategy'] === 'attribute' ? { attribute: 'department', ...doc } : doc,
    secrets,
  }),

  /** Passwords that are given here stay possible. */
  settings: ({ doc, secrets }) => {
    const { maxLength: _, ...policy } = (doc['passwordPolicy'] ?? {}) as Doc
    const pattern = 'regexPattern' in policy ? { regexPattern: '.+' } : {}
    return { doc: { ...doc, passwordPolicy: { ...policy, ...pattern } }, secrets }
  },
}

export const tuned = (kind: Kind, doc: Doc, secrets: Tuned['secrets']): Tuned =>
  tunes[kind.kind]?.({ doc, secrets }, kind) ?? { doc, secrets }
