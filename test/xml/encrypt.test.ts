/** Encrypted elements, opened by xml-encryption; xmlsec1 opens them in test/peers/. */
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { decrypt } from 'xml-encryption'
import {
  type ContentAlgorithm,
  childOf,
  element,
  encryptElement,
  type KeyTransport,
  readElement,
  writeElement,
  type XmlElement,
  xmlName,
} from '#server/xml/index.ts'
import { sender, stranger } from './keys.ts'

const contents: readonly ContentAlgorithm[] = ['aes256-gcm', 'aes128-gcm', 'aes256-cbc']
const transports: readonly KeyTransport[] = ['rsa-oaep-sha256', 'rsa-oaep-mgf1p']
const all = contents.flatMap((content) => transports.map((transport) => ({ content, transport })))

const secret = element('saml:Assertion', { ID: '_1' }, [element('saml:Issuer', {}, 'alice é😀')])
const certificate = sender.x509

const opened = (xml: string, key = sender.privateKey) =>
  promisify<string, Parameters<typeof decrypt>[1], string | undefined>(decrypt)(xml, {
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    warnInsecureAlgorithm: false,
    disallowDecryptionWithInsecureAlgorithm: false,
  })

const valueIn = (encrypted: XmlElement): Buffer =>
  Buffer.from(
    childOf(childOf(encrypted, 'xenc:CipherData') ?? encrypted, 'xenc:CipherValue')?.text ?? '',
    'base64',
  )

describe('an encrypted element', () => {
  it.each(all)('$content under $transport: its receiver reads it, nobody else', async (how) => {
    const xml = writeElement(encryptElement(secret, { ...how, certificate }))
    expect(xml).not.toContain('alice')
    expect(await opened(xml)).toBe(writeElement(secret))
    await expect(opened(xml, stranger.privateKey)).rejects.toThrow()
  })

  it('is never encrypted twice alike: key and nonce are fresh', () => {
    const made = Array.from({ length: 20 }, () => {
      const template = encryptElement(secret, {
        content: 'aes256-gcm',
        transport: 'rsa-oaep-sha256',
        certificate,
      })
      return valueIn(readElement(writeElement(template), { root: xmlName('xenc:EncryptedData') }))
    })
    expect(new Set(made.map((bytes) => bytes.toString('hex', 0, 12))).size).toBe(20)
    expect(new Set(made.map((bytes) => bytes.toString('hex', 12, 40))).size).toBe(20)
  })

  it('under GCM is refused when a bit was changed', async () => {
    const template = encryptElement(secret, {
      content: 'aes256-gcm',
      transport: 'rsa-oaep-sha256',
      certificate,
    })
    const xml = writeElement(template)
    const value = valueIn(readElement(xml, { root: xmlName('xenc:EncryptedData') }))
    const changed = Buffer.from(value)
    changed[20] = (changed[20] ?? 0) ^ 1
    const forged = xml.replace(value.toString('base64'), changed.toString('base64'))
    expect(forged).not.toBe(xml)
    await expect(opened(forged)).rejects.toThrow()
  })

  it('names its algorithms as XML Encryption 1.1 does', () => {
    const xml = writeElement(
      encryptElement(secret, { content: 'aes256-gcm', transport: 'rsa-oaep-sha256', certificate }),
    )
    const algorithms = [...xml.matchAll(/Algorithm="([^"]*)"/g)].map(([, uri]) => uri)
    expect(algorithms).toEqual([
      'http://www.w3.org/2009/xmlenc11#aes256-gcm',
      'http://www.w3.org/2009/xmlenc11#rsa-oaep',
      'http://www.w3.org/2001/04/xmlenc#sha256',
      'http://www.w3.org/2009/xmlenc11#mgf1sha256',
    ])
  })
})
