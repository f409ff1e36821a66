/** The namespaces that are written, under the prefix each is written with, and the names that are asked for when reading. */

export const namespaces = {
  saml: 'urn:oasis:names:tc:SAML:2.0:assertion',
  samlp: 'urn:oasis:names:tc:SAML:2.0:protocol',
  md: 'urn:oasis:names:tc:SAML:2.0:metadata',
  mdui: 'urn:oasis:names:tc:SAML:metadata:ui',
  alg: 'urn:oasis:names:tc:SAML:metadata:algsupport',
  aslo: 'urn:oasis:names:tc:SAML:2.0:protocol:ext:async-slo',
  ds: 'http://www.w3.org/2000/09/xmldsig#',
  xenc: 'http://www.w3.org/2001/04/xmlenc#',
  xenc11: 'http://www.w3.org/2009/xmlenc11#',
  soap: 'http://schemas.xmlsoap.org/soap/envelope/',
  eidas: 'http://eidas.europa.eu/saml-extensions',
  xsi: 'http://www.w3.org/2001/XMLSchema-instance',
} as const

export type Prefix = keyof typeof namespaces

/** A name with its namespace. */
export interface XmlName {
  readonly namespace: string
  readonly name: string
}

/** The names of the code: a received document has no part in them. */
const known = new Map<string, XmlName>()

/** `xmlName('samlp:AuthnRequest')`: the name under the prefix of the table above. */
export const xmlName = (qualified: `${Prefix}:${string}`): XmlName => {
  const before = known.get(qualified)
  if (before) return before
  const [prefix = '', name = ''] = qualified.split(':')
  const made = Object.freeze({ namespace: namespaces[prefix as Prefix], name })
  known.set(qualified, made)
  return made
}

/** As an error says it. */
export const written = ({ namespace, name }: XmlName): string => `{${namespace}}${name}`
