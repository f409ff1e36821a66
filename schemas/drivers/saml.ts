/** Names of SAML 2.0 that documents, rules and the identity provider share. */

/** Short names of NameID formats and their URNs (SAML Core §8.3). */
export const nameIdFormats = {
  persistent: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  transient: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
  email: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  unspecified: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
} as const

export type NameIdFormat = keyof typeof nameIdFormats

/** What a request asks for that wants the NameID encrypted, of whatever format (SAML Core §3.4.1.1). */
export const encryptedNameId = 'urn:oasis:names:tc:SAML:2.0:nameid-format:encrypted'

/** As SAML Core §3.4.1.1 spells the URN of §8.3.1: service providers send both. */
const otherUnspecified = 'urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified'

/** Whether a format leaves the choice to the identity provider (SAML Core §3.4.1.1). */
export const isUnspecified = (urn: string | undefined): boolean =>
  urn === undefined || urn === nameIdFormats.unspecified || urn === otherUnspecified

/** The short name of a format that is given as either; undefined for one that is not offered. */
export const nameIdFormatOf = (name: string): NameIdFormat | undefined =>
  name === otherUnspecified
    ? 'unspecified'
    : (Object.keys(nameIdFormats) as NameIdFormat[]).find(
        (short) => short === name || nameIdFormats[short] === name,
      )

const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings'

/** How a response travels to an assertion consumer service (SAML Bindings §3.5, §3.6). */
export const acsBindings = {
  'HTTP-POST': `${bindings}:HTTP-POST`,
  'HTTP-Artifact': `${bindings}:HTTP-Artifact`,
} as const

export type AcsBinding = keyof typeof acsBindings

/** How logout messages travel in the browser (SAML Profiles §4.4.3). */
export const sloBindings = ['HTTP-Redirect', 'HTTP-POST'] as const

export const bindingUrns = {
  ...acsBindings,
  'HTTP-Redirect': `${bindings}:HTTP-Redirect`,
  SOAP: `${bindings}:SOAP`,
} as const

/** Algorithms of signatures on requests (RFC 6931); SHA-1 is refused. */
export const requestSignatureAlgorithms = [
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha384',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384',
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512',
] as const

/** CBC is for service providers that know nothing else: it does not protect what it hides (CVE-2011-1096). */
export const encryptionAlgorithms = ['aes256-gcm', 'aes128-gcm', 'aes256-cbc'] as const

/** RSA-OAEP with SHA-256, or with SHA-1 and MGF1 as service providers of before 2013 know it. RSA 1.5 is not offered. */
export const keyTransportAlgorithms = ['rsa-oaep-sha256', 'rsa-oaep-mgf1p'] as const

/** Attribute name formats (SAML Core §8.2) by the names that Keycloak gives them. */
export const attributeNameFormats = {
  Basic: 'urn:oasis:names:tc:SAML:2.0:attrname-format:basic',
  'URI Reference': 'urn:oasis:names:tc:SAML:2.0:attrname-format:uri',
  Unspecified: 'urn:oasis:names:tc:SAML:2.0:attrname-format:unspecified',
} as const

const described = ['friendly.name', 'attribute.nameformat']

interface MapperSettings {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

/** Attribute mappers, by Keycloak's ids, and the settings that each takes. `server/saml/assertion` has the code. */
export const samlMappers = {
  'saml-user-attribute-mapper': {
    required: ['attribute.name', 'user.attribute'],
    optional: described,
  },
  'saml-user-property-mapper': {
    required: ['attribute.name', 'user.attribute'],
    optional: described,
  },
  'saml-hardcode-attribute-mapper': {
    required: ['attribute.name', 'attribute.value'],
    optional: described,
  },
  'saml-role-list-mapper': {
    required: ['attribute.name'],
    optional: [...described, 'single'],
  },
  'saml-group-membership-mapper': {
    required: ['attribute.name'],
    optional: [...described, 'single', 'full.path'],
  },
} as const satisfies Record<string, MapperSettings>

export type SamlMapperId = keyof typeof samlMappers

export const samlMapperIds = Object.keys(samlMappers) as [SamlMapperId, ...SamlMapperId[]]

/** The values of settings that have few. */
export const samlMapperChoices: Readonly<Record<string, readonly string[]>> = {
  'attribute.nameformat': Object.keys(attributeNameFormats),
  single: ['true', 'false'],
  'full.path': ['true', 'false'],
}
