/** Metadata of a service provider, in the shapes that real ones publish. */

const spaces = [
  'xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"',
  'xmlns:ds="http://www.w3.org/2000/09/xmldsig#"',
  'xmlns:mdui="urn:oasis:names:tc:SAML:metadata:ui"',
].join(' ')

export const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings'
export const protocol = 'urn:oasis:names:tc:SAML:2.0:protocol'

/** As programs write it: without the lines of PEM, folded. */
const folded = (certificate: string): string =>
  certificate.replaceAll(/-----[A-Z ]+-----|\s+/g, '').replaceAll(/(.{64})/g, '\n          $1')

export const keyDescriptor = (certificate: string, use?: string): string =>
  `<md:KeyDescriptor${use === undefined ? '' : ` use="${use}"`}><ds:KeyInfo><ds:KeyName>sp</ds:KeyName><ds:X509Data>
    <ds:X509Certificate>${folded(certificate)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`

export const acs = (
  url: string,
  index: number | string,
  { binding = 'HTTP-POST', more = '' }: { binding?: string; more?: string } = {},
): string =>
  `<md:AssertionConsumerService Binding="${bindings}:${binding}" Location="${url}" index="${index}"${more}/>`

export interface DescribedProvider {
  readonly entityId: string
  /** Attributes of the EntityDescriptor. */
  readonly more?: string
  /** Attributes of the SPSSODescriptor. */
  readonly role?: string
  readonly protocol?: string
  readonly inside: string
}

export const entity = (described: DescribedProvider): string =>
  `<md:EntityDescriptor ${spaces} entityID="${described.entityId}"${described.more ?? ''}>
  <md:SPSSODescriptor protocolSupportEnumeration="${described.protocol ?? protocol}"${described.role ?? ''}>${described.inside}</md:SPSSODescriptor>
</md:EntityDescriptor>`

export const aggregate = (entities: readonly string[], more = ''): string =>
  `<?xml version="1.0" encoding="UTF-8"?><!-- a federation -->
<md:EntitiesDescriptor ${spaces}${more}>${entities.join('\n')}</md:EntitiesDescriptor>`
