/**
 * eIDAS (SAML Message Format and Attribute Profile, version 1.2): a node of a member state says who signed in abroad. The unique
 * identifier is `XX/YY/…`: XX is the country of the identity, YY the country that it was made for.
 */

import { error } from '#schemas/wire/findings.ts'
import { element, type Template } from '#server/xml/index.ts'
import type { Provider, UpstreamIdentity } from '../../protocol.ts'
import { oneOf, personOf } from '../saml/identity.ts'
import { notAllowed } from '../saml/refuse.ts'
import type { Answer } from '../saml/response/read-response.ts'
import type { Scheme } from '../saml/scheme.ts'
import { checkLevel, eidasLevels } from './levels.ts'
import { eidSettings, minimumLoaOf, tlsClientOf } from './scheme.ts'

const attributes = 'http://eidas.europa.eu/attributes/'
const natural = `${attributes}naturalperson/`
const legal = `${attributes}legalperson/`
const personIdentifier = `${natural}PersonIdentifier`
const legalIdentifier = `${legal}LegalPersonIdentifier`

/** Of persons and of those who represent them. */
const identifiers =
  /^http:\/\/eidas\.europa\.eu\/attributes\/(?:natural|legal)person\/(?:representative\/)?(?:Legal)?PersonIdentifier$/

/** The minimum data set of a natural person (Implementing Regulation (EU) 2015/1501, annex). */
const minimumDataSet = [
  'PersonIdentifier',
  'CurrentFamilyName',
  'CurrentGivenName',
  'DateOfBirth',
].map((name) => `${natural}${name}`)

const requested = (name: string): Template =>
  element('eidas:RequestedAttribute', {
    Name: name,
    NameFormat: 'urn:oasis:names:tc:SAML:2.0:attrname-format:uri',
    isRequired: 'true',
  })

const extensionsOf = ({ config }: Provider): Template[] => [
  element('eidas:SPType', {}, config.spType ?? 'public'),
  element(
    'eidas:RequestedAttributes',
    {},
    (config.requestedAttributes ?? minimumDataSet).map(requested),
  ),
]

interface Identifier {
  readonly value: string
  /** ISO 3166-1 alpha-2. */
  readonly identityCountry: string
  readonly receivingCountry: string
}

const identifierIn = (value: string): Identifier => {
  const [, identityCountry, receivingCountry] =
    /^([A-Z]{2})\/([A-Z]{2})\/[!-~]+$/.exec(value) ??
    notAllowed('the identifier is not of the form XX/YY/… with two country codes')
  return { value, identityCountry: identityCountry ?? '', receivingCountry: receivingCountry ?? '' }
}

/** Of a natural person; of a legal person where there is none. */
const subjectNameOf = ({ config }: Provider, answer: Answer): string =>
  config.subjectAttribute ??
  (answer.attributes.has(personIdentifier) ? personIdentifier : legalIdentifier)

/**
 * Every identifier of an answer must name `receivingCountry`: an identifier is unique for its receiving country alone, and
 * another person may have the same one elsewhere. Without `receivingCountry` every answer is refused.
 */
const checkCountry = (
  { config }: Provider,
  { attributes: given }: Answer,
  subjectName: string,
): void => {
  const ours =
    config.receivingCountry ??
    notAllowed('the provider has no receivingCountry; set it to the country of the service')
  const names = [...given.keys()].filter((name) => name === subjectName || identifiers.test(name))
  for (const value of names.flatMap((name) => given.get(name) ?? [])) {
    const { receivingCountry } = identifierIn(value)
    if (receivingCountry !== ours)
      notAllowed(`the identifier was made for ${receivingCountry}; receivingCountry is ${ours}`)
  }
}

const checkMandate = ({ config }: Provider, answer: Answer): void => {
  const isMandate = [...answer.attributes.keys()].some((name) =>
    /^http:\/\/eidas\.europa\.eu\/attributes\/(?:natural|legal)person\/representative\//.test(name),
  )
  if (isMandate && config.representationEnabled !== true)
    notAllowed('the person acts under a mandate; set representationEnabled to accept mandates')
}

const identityOf = (answer: Answer, provider: Provider, issuer: string): UpstreamIdentity => {
  checkLevel(eidasLevels, minimumLoaOf(provider), answer.authentication.contextClass)
  checkMandate(provider, answer)
  const name = subjectNameOf(provider, answer)
  checkCountry(provider, answer, name)
  const { value, identityCountry, receivingCountry } = identifierIn(
    oneOf(answer.attributes, name) ?? notAllowed(`the answer has no ${name}`),
  )
  const person = personOf(answer, {
    firstNameAttribute: `${natural}CurrentGivenName`,
    lastNameAttribute: `${natural}CurrentFamilyName`,
    ...provider.config,
  })
  return {
    ...person,
    issuer,
    subject: value,
    attributes: {
      ...person.attributes,
      identityCountry: [identityCountry],
      receivingCountry: [receivingCountry],
    },
  }
}

export const eidas: Scheme = {
  names: ['eidas'],
  settings: eidSettings(true),
  extras: (provider) => ({
    contextClasses: [eidasLevels.uriOf(minimumLoaOf(provider))],
    contextComparison: 'minimum',
    extensions: extensionsOf(provider),
    isForced: true,
  }),
  identity: identityOf,
  isNameIdSubject: () => false,
  client: tlsClientOf,
  findings: ({ config }) =>
    config.receivingCountry === undefined
      ? [
          error(
            'provider-config',
            'every sign-in is refused: the country of the realm is not known',
            'set receivingCountry',
          ),
        ]
      : [],
}
