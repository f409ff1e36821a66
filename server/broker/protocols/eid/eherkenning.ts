/**
 * eHerkenning (Afsprakenstelsel Elektronische Toegangsdiensten): a company or an organization is the subject, a person acts for
 * it. Identifiers are encrypted NameIDs inside attribute values, qualified by their kind (KvK number, RSIN, pseudonym).
 */

import type { Provider, UpstreamIdentity } from '../../protocol.ts'
import { personOf } from '../saml/identity.ts'
import { notAllowed } from '../saml/refuse.ts'
import type { Answer } from '../saml/response/read-response.ts'
import type { Scheme } from '../saml/scheme.ts'
import { checkLevel, eherkenningLevels } from './levels.ts'
import { eidSettings, minimumLoaOf, tlsClientOf } from './scheme.ts'

const core = 'urn:etoegang:core'
const legalSubject = `${core}:LegalSubjectID`
const representation = `${core}:Representation`

/** The identifier with its kind: the same number may be a KvK number and something else. */
const subjectOf = ({ nameIds, attributes }: Answer, name: string): string => {
  const ids = nameIds.get(name) ?? []
  const values = (attributes.get(name) ?? []).filter((value) => value !== '')
  if (ids.length > 0 && ids.length !== values.length)
    notAllowed(`the answer has ${name} with a kind and without`)
  const subjects = new Set(
    ids.length > 0
      ? ids.map(({ nameQualifier, value }) =>
          nameQualifier === undefined ? value : `${nameQualifier}:${value}`,
        )
      : values,
  )
  const [subject, ...others] = subjects
  if (subject === undefined) return notAllowed(`the answer has no ${name}`)
  return others.length > 0 ? notAllowed(`the answer has more than one ${name}`) : subject
}

/** A person who acts under a mandate is accepted only where the operator wants that. */
const checkMandate = ({ config }: Provider, { attributes }: Answer): void => {
  const name = config.representationAttribute ?? representation
  const states = attributes.get(name) ?? []
  const isMandate = states.some((value) => value !== '' && value !== 'false' && value !== '0')
  if (isMandate && config.representationEnabled !== true)
    notAllowed('the person acts under a mandate; set representationEnabled to accept mandates')
}

const identityOf = (answer: Answer, provider: Provider, issuer: string): UpstreamIdentity => {
  checkLevel(eherkenningLevels, minimumLoaOf(provider), answer.authentication.contextClass)
  checkMandate(provider, answer)
  const name = provider.config.subjectAttribute ?? legalSubject
  return { ...personOf(answer, provider.config), issuer, subject: subjectOf(answer, name) }
}

export const eherkenning: Scheme = {
  names: ['eherkenning'],
  settings: eidSettings(false),
  extras: (provider) => ({
    contextClasses: [minimumLoaOf(provider)],
    contextComparison: 'minimum',
    attributeConsumingServiceIndex: provider.config.attributeConsumingServiceIndex,
    // Interface specification DV-HM: requests must not have one.
    withoutNameIdPolicy: true,
  }),
  identity: identityOf,
  isNameIdSubject: () => false,
  client: tlsClientOf,
}
