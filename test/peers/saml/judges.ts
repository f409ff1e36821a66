/**
 * What xmllint and xmlsec1 say about messages of SAML: whether the schemas of OASIS and W3C allow them, and whether their
 * signatures hold. Both share no code with ours.
 */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pemOf } from '../../saml/keys.ts'
import { pathOf } from '../../support/processes/programs/programs.ts'

export interface Judges {
  /**
   * Local names of the elements that are signed, outermost first. Throws where the schemas refuse the message, or where a
   * signature holds under none of the certificates, which are base64 of the DER.
   */
  signedIn(xml: string, certificates: readonly string[]): string[]
  /** The assertion inside `saml:EncryptedAssertion`, decrypted with a key in PEM. */
  decrypted(xml: string, privateKey: string): string
  close(): void
}

const saml = 'urn:oasis:names:tc:SAML:2.0'
const w3 = 'http://www.w3.org'

const idAttributes = [
  ...[
    'Response',
    'LogoutRequest',
    'LogoutResponse',
    'ArtifactResolve',
    'ArtifactResponse',
    'AuthnRequest',
  ].map((name) => `${saml}:protocol:${name}`),
  `${saml}:assertion:Assertion`,
  `${saml}:metadata:EntityDescriptor`,
].flatMap((name) => ['--id-attr:ID', name])

/** Where the schemas look for those of W3C: never on the network. */
const writeCatalog = (file: string, folderOfW3: string): void => {
  const entries = {
    [`${w3}/TR/2002/REC-xmldsig-core-20020212/xmldsig-core-schema.xsd`]: 'xmldsig-core-schema.xsd',
    [`${w3}/TR/2002/REC-xmlenc-core-20021210/xenc-schema.xsd`]: 'xenc-schema.xsd',
    [`${w3}/2001/xml.xsd`]: 'xml.xsd',
  }
  const lines = Object.entries(entries).map(([from, name]) => {
    const uri = pathToFileURL(join(folderOfW3, name)).href
    return `<system systemId="${from}" uri="${uri}"/><uri name="${from}" uri="${uri}"/>`
  })
  const namespace = 'urn:oasis:names:tc:entity:xmlns:xml:catalog'
  writeFileSync(file, `<catalog xmlns="${namespace}">${lines.join('')}</catalog>`)
}

/** One schema of all that a message may hold: wildcards are checked strictly. */
const writeSchema = (file: string, folderOfSaml: string, folderOfW3: string): void => {
  const parts: readonly (readonly [string, string, string])[] = [
    [`${saml}:protocol`, folderOfSaml, 'saml-schema-protocol-2.0.xsd'],
    [`${saml}:metadata`, folderOfSaml, 'saml-schema-metadata-2.0.xsd'],
    [
      'urn:oasis:names:tc:SAML:metadata:algsupport',
      folderOfSaml,
      'sstc-saml-metadata-algsupport-v1.0.xsd',
    ],
    [`${w3}/2009/xmlenc11#`, folderOfW3, 'xenc11-schema.xsd'],
  ]
  const imports = parts.map(
    ([namespace, folder, name]) =>
      `<xs:import namespace="${namespace}" schemaLocation="${pathToFileURL(join(folder, name)).href}"/>`,
  )
  writeFileSync(file, `<xs:schema xmlns:xs="${w3}/2001/XMLSchema">${imports.join('')}</xs:schema>`)
}

export const openJudges = (): Judges => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-judges-'))
  const catalog = join(folder, 'catalog.xml')
  const schema = join(folder, 'saml.xsd')
  const folderOfW3 = dirname(pathOf('xml_schemas'))
  writeCatalog(catalog, folderOfW3)
  writeSchema(schema, dirname(pathOf('saml_schemas')), folderOfW3)

  const file = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }

  const run = (program: 'xmlsec1' | 'xmllint', args: readonly string[]): string =>
    execFileSync(pathOf(program), args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { XML_CATALOG_FILES: pathToFileURL(catalog).href },
    })

  const query = (message: string, path: string): string =>
    run('xmllint', ['--nonet', '--xpath', path, message]).trim()

  /** xmlsec1 alone would be content with any signature: the one right inside the element is named. */
  const verifies = (message: string, id: string, certificate: string): boolean => {
    try {
      const signature = `//*[@ID='${id}']/*[local-name()='Signature']`
      run('xmlsec1', [
        '--verify',
        ...idAttributes,
        '--pubkey-cert-pem',
        file('certificate.pem', pemOf('CERTIFICATE', certificate)),
        '--node-xpath',
        signature,
        message,
      ])
      return true
    } catch {
      return false
    }
  }

  return {
    signedIn: (xml, certificates) => {
      const message = file('message.xml', xml)
      run('xmllint', ['--nonet', '--noout', '--schema', schema, message])
      const parents = "//*[local-name()='Signature']/.."
      const count = Number(query(message, `count(${parents})`))
      return Array.from({ length: count }, (_, index) => {
        const parent = `(${parents})[${index + 1}]`
        const id = query(message, `string(${parent}/@ID)`)
        const name = query(message, `local-name(${parent})`)
        if (!certificates.some((one) => verifies(message, id, one)))
          throw new Error(`xmlsec1 refuses the signature of ${name}: ${xml}`)
        return name
      })
    },
    decrypted: (xml, privateKey) => {
      const key = file('key.pem', privateKey)
      const plain = run('xmlsec1', ['--decrypt', '--privkey-pem', key, file('secret.xml', xml)])
      return /<saml:Assertion[ >].*<\/saml:Assertion>/s.exec(plain)?.[0] ?? ''
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}
