/** What a scheme on top of SAML adds, and SAML without one. */

import type { ProtocolName } from '#schemas/drivers/identity-providers.ts'
import type { Finding } from '#schemas/wire/findings.ts'
import type { ClientIdentity } from '#server/platform/outgoing/client.ts'
import type { Provider, Trip, UpstreamIdentity } from '../../protocol.ts'
import { identityOf } from './identity.ts'
import type { RequestExtras } from './request.ts'
import type { Answer } from './response/read-response.ts'
import { type SamlSettings, settingsOf } from './settings.ts'

/** What a scheme makes of SAML. */
export interface Scheme {
  readonly names: readonly ProtocolName[]
  /** What its rules demand whatever the document says. */
  readonly settings: (provider: Provider) => SamlSettings
  readonly extras: (provider: Provider, trip: Trip) => RequestExtras
  readonly identity: (answer: Answer, provider: Provider, issuer: string) => UpstreamIdentity
  /** Whether the NameID is the subject of links. */
  readonly isNameIdSubject: (provider: Provider) => boolean
  /** For mutual TLS at the artifact resolution service. */
  readonly client: (provider: Provider) => ClientIdentity | undefined
  /** What `doctor` says beside the rest. */
  readonly findings?: (provider: Provider) => readonly Finding[]
}

/** Levels of ours that are classes of SAML too: URIs. */
const classesOf = (acr: Trip['acr']): readonly string[] | undefined => {
  const classes = (acr ?? []).filter((one) => one.includes(':'))
  return classes.length > 0 ? classes : undefined
}

/** SAML without a scheme on top. */
export const plainSaml: Scheme = {
  names: ['saml'],
  settings: settingsOf,
  extras: ({ config }, { acr }) => ({
    contextClasses: classesOf(acr) ?? config.authnContextClassRefs ?? [],
    contextComparison: config.authnContextComparison ?? 'exact',
    attributeConsumingServiceIndex: config.attributeConsumingServiceIndex,
  }),
  identity: (answer, provider, issuer) =>
    identityOf(answer, {
      config: provider.config,
      issuer,
      nameIdFormat: settingsOf(provider).nameIdFormat,
    }),
  isNameIdSubject: ({ config }) => config.subjectAttribute === undefined,
  client: () => undefined,
}
