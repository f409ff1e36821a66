/** What is encrypted to us: what we encrypt ourselves, and what xml-encryption does in every pairing of hashes. */
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { encrypt } from 'xml-encryption'
import {
  type ContentAlgorithm,
  decryptElement,
  element,
  encryptElement,
  type KeyTransport,
  readElement,
  writeElement,
  type XmlElement,
  xmlName,
} from '#server/xml/index.ts'
import { receiver, sender } from './keys.ts'
import { refusalOf } from './messages.ts'

const saml = 'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'
const secret = element('saml:NameID', {}, 'alice é😀')
const own = { keys: [receiver.privateKey] }

const wrapped = (inside: string): XmlElement =>
  readElement(`<saml:EncryptedID ${saml}>${inside}</saml:EncryptedID>`, {
    root: xmlName('saml:EncryptedID'),
  })

const opened = (wrapper: XmlElement, how = {}): string =>
  readElement(decryptElement(wrapper, { ...own, ...how }), { root: xmlName('saml:NameID') }).text

const byOurs = (content: ContentAlgorithm, transport: KeyTransport): XmlElement =>
  wrapped(writeElement(encryptElement(secret, { content, transport, certificate: receiver.x509 })))

const encryptText = promisify<string, Parameters<typeof encrypt>[1], string | undefined>(encrypt)

const byOthers = async (
  changes: Partial<Parameters<typeof encrypt>[1]> & { readonly keyEncryptionMgf?: string },
  text = writeElement(secret),
) =>
  (await encryptText(text, {
    rsa_pub: receiver.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    pem: receiver.x509.toString(),
    encryptionAlgorithm: 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
    keyEncryptionAlgorithm: 'http://www.w3.org/2009/xmlenc11#rsa-oaep',
    keyEncryptionDigest: 'sha256',
    ...changes,
  })) ?? ''

describe('an encrypted element', () => {
  it.each([
    ['aes256-gcm', 'rsa-oaep-sha256'],
    ['aes128-gcm', 'rsa-oaep-mgf1p'],
  ] as const)('%s under %s opens with our key alone', (content, transport) => {
    const wrapper = byOurs(content, transport)
    expect(opened(wrapper)).toBe('alice é😀')
    expect(opened(wrapper, { keys: [sender.privateKey, receiver.privateKey] })).toBe('alice é😀')
    expect(refusalOf(() => opened(wrapper, { keys: [sender.privateKey] }))).toBe('encryption')
  })

  it('under CBC opens only where that is allowed', () => {
    const wrapper = byOurs('aes256-cbc', 'rsa-oaep-sha256')
    expect(refusalOf(() => opened(wrapper))).toBe('algorithm')
    expect(opened(wrapper, { allowCbc: true })).toBe('alice é😀')
  })

  it.each(
    ['sha1', 'sha256', 'sha512'].flatMap((digest) =>
      ['sha1', 'sha256', 'sha512'].map((mask) => ({ digest, mask })),
    ),
  )('under OAEP with $digest and the mask $mask opens', async ({ digest, mask }) => {
    const xml = await byOthers({ keyEncryptionDigest: digest, keyEncryptionMgf: mask })
    expect(opened(wrapped(xml))).toBe('alice é😀')
    expect(refusalOf(() => opened(wrapped(xml), { keys: [sender.privateKey] }))).toBe('encryption')
  })

  it('is refused without its parts, with a label, with other algorithms and with too many keys', async () => {
    const xml = await byOthers({})
    const key = /<e:EncryptedKey.*<\/e:EncryptedKey>/s.exec(xml)?.[0] ?? expect.unreachable()
    for (const [changed, refusal] of [
      [xml.replace(key, ''), 'encryption'],
      [xml.replace(/<xenc:EncryptionMethod Algorithm="[^"]*aes256-gcm"\s*\/>/, ''), 'encryption'],
      [xml.replace(key, key.repeat(17)), 'encryption'],
      [xml.replace('xmlenc11#aes256-gcm', 'xmlenc11#aes512-gcm'), 'algorithm'],
      [xml.replace('xmlenc11#rsa-oaep', 'xmlenc#rsa-1_5'), 'algorithm'],
      [xml.replace(/(xmlenc11#rsa-oaep">)/, '$1<e:OAEPparams>AAAA</e:OAEPparams>'), 'algorithm'],
      [xml.replaceAll(/<e:CipherValue>.*?<\/e:CipherValue>/gs, ''), 'encryption'],
      ['', 'encryption'],
    ] as const)
      expect([refusal, refusalOf(() => opened(wrapped(changed)))]).toEqual([refusal, refusal])
  })

  it('opens with one of four keys: one for us among many is named by its Recipient (XML Encryption 1.1 §3.5.1)', async () => {
    const xml = await byOthers({})
    const key = /<e:EncryptedKey.*<\/e:EncryptedKey>/s.exec(xml)?.[0] ?? expect.unreachable()
    const theirs = key.replace(
      /<e:CipherValue>[^<]*/,
      `<e:CipherValue>${Buffer.alloc(256, 1).toString('base64')}`,
    )
    const to = (name: string, one: string) =>
      one.replace('<e:EncryptedKey', `$& Recipient="${name}"`)
    const keys = (...all: readonly string[]) => wrapped(xml.replace(key, all.join('')))
    const how = { recipient: 'https://sp.example' }
    const other = to('https://other.example', theirs)
    const others = (count: number, one: string) => Array.from({ length: count }, () => one)
    expect(opened(keys(...others(3, theirs), key), how)).toBe('alice é😀')
    expect(opened(keys(...others(15, theirs), to(how.recipient, key)), how)).toBe('alice é😀')
    expect(opened(keys(...others(15, other), key), how)).toBe('alice é😀')
    // A Recipient is a hint, which some senders get wrong.
    expect(opened(keys(to('https://sp.example/acs', key)), how)).toBe('alice é😀')
    const last = keys(...others(4, theirs), key)
    expect(refusalOf(() => opened(last, how))).toBe('encryption')
  })

  it('goes through the gate: what is inside is as suspect as what is outside', async () => {
    for (const [text, refusal] of [
      ['<!DOCTYPE x><saml:NameID/>', 'doctype'],
      [`<saml:NameID ${saml}>a<!-- -->b</saml:NameID>`, 'mixed-value'],
      [`<saml:Issuer ${saml}>a</saml:Issuer>`, 'unexpected-root'],
      [`<saml:NameID ${saml}/><saml:NameID ${saml}/>`, 'malformed'],
      ['<other:NameID/>', 'malformed'],
    ] as const) {
      const inside = wrapped(await byOthers({}, text))
      expect([refusal, refusalOf(() => opened(inside))]).toEqual([refusal, refusal])
    }
    expect(opened(wrapped(await byOthers({}, '<saml:NameID>bob</saml:NameID>')))).toBe('bob')
  })
})
