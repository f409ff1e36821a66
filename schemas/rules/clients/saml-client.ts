/** SAML service providers: certificates that can be trusted, indexes that stand once, and options that can be kept. */

import type { X509Certificate } from 'node:crypto'
import { SamlClient, type SamlClientDoc } from '../../kinds/clients/saml-client.ts'
import type { FieldError } from '../../problems.ts'
import { certificateFault, readCertificate } from '../../public-keys/certificates.ts'
import { ruleFor } from '../rule.ts'

/** Their form was checked by the schema. */
const certificatesOf = ({
  signingCertificate,
  certificates,
  encryptionCertificate,
  metadataCertificate,
}: SamlClientDoc): [field: string, certificate: X509Certificate][] =>
  [
    ['/signingCertificate', signingCertificate] as const,
    ...certificates.map((value, i) => [`/certificates/${i}`, value] as const),
    ['/encryptionCertificate', encryptionCertificate] as const,
    ['/metadataCertificate', metadataCertificate] as const,
  ].flatMap(([field, value]) => {
    const certificate = value === undefined ? undefined : readCertificate(value)
    return certificate ? [[field, certificate]] : []
  })

const keyErrors = (doc: SamlClientDoc): FieldError[] =>
  certificatesOf(doc).flatMap(([field, certificate]) => {
    const fault = certificateFault(certificate)
    // Sets are kept in an order of their own: the fingerprint tells which one is meant.
    const which = `(SHA-256 ${certificate.fingerprint256})`
    if (fault) return [{ field, code: fault.code, message: `${fault.message} ${which}` }]
    return field === '/encryptionCertificate' && certificate.publicKey.asymmetricKeyType !== 'rsa'
      ? [
          {
            field,
            code: 'unusable-key',
            message: 'must have an RSA key: keys are sent by RSA-OAEP',
          },
        ]
      : []
  })

const indexErrors = ({ acs }: SamlClientDoc): FieldError[] => {
  const taken = new Set<number>()
  return acs.flatMap(({ index }, i) => {
    if (taken.has(index))
      return [{ field: `/acs/${i}/index`, code: 'duplicate', message: 'is given more than once' }]
    taken.add(index)
    return []
  })
}

const lacks = (field: string, what: string): FieldError => ({
  field,
  code: 'required',
  message: `needs ${what}`,
})

export const samlClient = ruleFor<SamlClientDoc>(SamlClient, (doc) => {
  const { options, signingCertificate, certificates, encryptionCertificate } = doc
  const errors = [...keyErrors(doc), ...indexErrors(doc)]
  if (options.encryptAssertion && encryptionCertificate === undefined)
    errors.push(lacks('/options/encryptAssertion', 'an encryptionCertificate to encrypt to'))
  if (
    options.wantAuthnRequestsSigned &&
    signingCertificate === undefined &&
    certificates.length === 0
  )
    errors.push(
      lacks('/options/wantAuthnRequestsSigned', 'a signingCertificate to verify requests with'),
    )
  if (options.signAssertion === false && options.signResponse === false)
    errors.push({
      field: '/options/signAssertion',
      code: 'unsigned',
      message: 'must be true if signResponse is false: an unsigned response could be forged',
    })
  if (doc.metadataRefresh !== undefined && doc.metadataUrl === undefined)
    errors.push(lacks('/metadataRefresh', 'a metadataUrl to read'))
  return errors
})
