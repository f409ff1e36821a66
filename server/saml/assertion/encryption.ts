/** What is encrypted to a service provider (SAML Core §6.1), by the algorithms that its document names. */

import { element, encryptElement, type Template } from '#server/xml/index.ts'
import { SamlStatusError } from '../errors.ts'
import type { SamlOptions, ServiceProvider } from '../service-provider.ts'

/** The encrypted form of an element. */
export const encryptedTo = (
  { encryptionCertificate: certificate }: ServiceProvider,
  { encryptionAlgorithm, keyTransportAlgorithm }: SamlOptions,
  name: 'saml:EncryptedAssertion' | 'saml:EncryptedID',
  plain: Template,
): Template => {
  if (!certificate)
    throw new SamlStatusError(
      'RequestDenied',
      'the answer is to be encrypted, and the service provider has no encryption certificate',
    )
  const content = encryptionAlgorithm ?? 'aes256-gcm'
  const transport = keyTransportAlgorithm ?? 'rsa-oaep-sha256'
  return element(name, {}, [encryptElement(plain, { content, transport, certificate })])
}
