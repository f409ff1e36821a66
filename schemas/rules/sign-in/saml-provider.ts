/** SAML providers and the schemes on top of SAML: keys that belong together, bindings that can be served, names that last. */

import { bindingUrns, nameIdFormatOf } from '../../drivers/saml.ts'
import type { IdentityProviderDoc } from '../../kinds/sign-in/identity-provider.ts'
import type { FieldError } from '../../problems.ts'
import { certificateFault, readCertificate } from '../../public-keys/certificates.ts'

type Config = IdentityProviderDoc['config']

const fault = (key: string, code: string, message: string): FieldError => ({
  field: `/config/${key}`,
  code,
  message,
})

/** A key needs its certificate, which the other side checks it by. A plan without secrets has the certificate alone. */
const pairs = [
  ['spSigningPrivateKey', 'spSigningCertificate'],
  ['tlsClientPrivateKey', 'tlsClientCertificate'],
] as const

const pairFaults = (given: ReadonlySet<string>): FieldError[] =>
  pairs.flatMap(([key, certificate]) =>
    given.has(key) && !given.has(certificate)
      ? [fault(certificate, 'required', `is required with ${key}`)]
      : [],
  )

const bindingFaults = (config: Config, hasArtifact: boolean): FieldError[] => {
  const isOneOf = (given: string | undefined, ...names: (keyof typeof bindingUrns)[]): boolean =>
    given === undefined || names.some((name) => given === name || given === bindingUrns[name])
  const { authnRequestBinding, responseBinding } = config
  return [
    ...(isOneOf(authnRequestBinding, 'HTTP-Redirect', 'HTTP-POST')
      ? []
      : [fault('authnRequestBinding', 'enum', 'must be HTTP-Redirect or HTTP-POST')]),
    ...(isOneOf(responseBinding, 'HTTP-POST', 'HTTP-Artifact')
      ? []
      : [fault('responseBinding', 'enum', 'must be HTTP-POST or HTTP-Artifact')]),
    ...(responseBinding !== undefined && isOneOf(responseBinding, 'HTTP-Artifact') && !hasArtifact
      ? [fault('artifactResolutionServiceUrl', 'required', 'is required for HTTP-Artifact')]
      : []),
  ]
}

const certificateFaults = (config: Config): FieldError[] => {
  const { idpSigningCertificate, idpSigningCertificates = [] } = config
  return [
    ['idpSigningCertificate', idpSigningCertificate] as const,
    ...idpSigningCertificates.map((text, i) => [`idpSigningCertificates/${i}`, text] as const),
  ].flatMap(([key, text]) => {
    const certificate = text === undefined ? undefined : readCertificate(text)
    const found = certificate && certificateFault(certificate)
    return found ? [fault(key, found.code, found.message)] : []
  })
}

export const samlFaults = (
  protocol: IdentityProviderDoc['protocol'],
  config: Config,
  given: ReadonlySet<string>,
): FieldError[] => {
  const hasMetadata = given.has('metadataUrl') || given.has('metadataXml')
  const errors = [
    ...pairFaults(given),
    ...bindingFaults(config, hasMetadata || given.has('artifactResolutionServiceUrl')),
    ...certificateFaults(config),
  ]
  if (given.has('metadataUrl') && given.has('metadataXml'))
    errors.push(fault('metadataXml', 'exclusive', 'and metadataUrl exclude each other; keep one'))
  if (config.nameIdFormat !== undefined && nameIdFormatOf(config.nameIdFormat) === 'transient')
    if (config.subjectAttribute === undefined)
      errors.push(
        fault(
          'subjectAttribute',
          'required',
          'is required: a transient NameID is new at every sign-in',
        ),
      )
  if (protocol === 'eherkenning' && config.representationEnabled && !config.representationAttribute)
    errors.push(
      fault(
        'representationAttribute',
        'required',
        'is required with representationEnabled: it names the mandate',
      ),
    )
  return errors
}
