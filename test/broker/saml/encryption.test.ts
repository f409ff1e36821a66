/** Encrypted assertions, names and attributes of answers. */
import { describe, expect, it } from 'vitest'
import { readResponse } from '#server/broker/protocols/saml/response/read-response.ts'
import { receiver, sender, stranger } from '../../xml/keys.ts'
import {
  answer,
  assertion,
  attribute,
  cbc,
  encrypted,
  nameId,
  refusal,
  response,
  rules,
  signedAssertion,
  signedResponse,
} from './answers.ts'

describe('encryption', () => {
  it('opens an assertion that is signed inside', async () => {
    const xml = response(await encrypted(signedAssertion()))
    expect(readResponse(xml, rules()).nameId?.value).toBe('alice-1')
    expect(refusal(answer(), { wantAssertionsEncrypted: true })).toMatch(/not encrypted/)
    expect(refusal(xml, { wantAssertionsEncrypted: true })).toBe(undefined)
  })

  it('tries all of our keys, and says so where there is none', async () => {
    const xml = response(await encrypted(signedAssertion()))
    expect(refusal(xml, { decryption: { keys: [sender.privateKey, receiver.privateKey] } })).toBe(
      undefined,
    )
    expect(refusal(xml, { decryption: { keys: [sender.privateKey] } })).toMatch(
      /cannot be decrypted/,
    )
    expect(refusal(xml, { decryption: { keys: [] } })).toMatch(/spDecryptionPrivateKey/)
  })

  it('refuses an unsigned assertion inside, also beside a signed one (CVE-2026-2092)', async () => {
    const forged = await encrypted(assertion({ id: '_b', nameId: nameId('admin') }))
    expect(refusal(response(forged))).toMatch(/Assertion is not signed/)
    expect(refusal(response(forged), { wantAssertionsSigned: false })).toMatch(/neither/)
    for (const inside of [
      signedAssertion() + forged,
      forged + signedAssertion(),
      forged + (await encrypted(signedAssertion())),
    ])
      for (const wantAssertionsSigned of [true, false])
        expect(refusal(response(inside), { wantAssertionsSigned })).toMatch(/2 assertions/)
    expect(
      refusal(response(await encrypted(signedAssertion({}, { key: stranger.privateKey })))),
    ).toMatch(/signature/)
  })

  it('takes an unsigned assertion inside a signed Response only where that is allowed', async () => {
    const xml = signedResponse(await encrypted(assertion()))
    expect(refusal(xml)).toMatch(/Assertion is not signed/)
    expect(refusal(xml, { wantAssertionsSigned: false })).toBe(undefined)
  })

  it('reads what its sender wrote in the namespaces around it', async () => {
    const bare = assertion()
      .replace(/ xmlns:saml="[^"]*"/, '')
      .replace(/ xmlns:samlp="[^"]*"/, '')
    const xml = signedResponse(await encrypted(bare))
    expect(refusal(xml, { wantAssertionsSigned: false })).toBe(undefined)
  })

  it.each([
    ['AES-CBC', { content: cbc }, /aes256-cbc is not accepted/],
    [
      '3DES',
      { content: 'http://www.w3.org/2001/04/xmlenc#tripledes-cbc' },
      /tripledes-cbc is not accepted/,
    ],
    [
      'RSA 1.5',
      { transport: 'http://www.w3.org/2001/04/xmlenc#rsa-1_5' },
      /rsa-1_5 is not accepted/,
    ],
  ])('refuses %s', async (_name, how, reason) => {
    expect(
      refusal(response(await encrypted(signedAssertion(), 'EncryptedAssertion', how))),
    ).toMatch(reason)
  })

  it('takes AES-CBC where it is allowed', async () => {
    const xml = response(await encrypted(signedAssertion(), 'EncryptedAssertion', { content: cbc }))
    expect(refusal(xml, { decryption: { keys: [receiver.privateKey], allowCbc: true } })).toBe(
      undefined,
    )
  })

  it('takes OAEP with SHA-256 for the label and SHA-1 for the mask', async () => {
    const how = { digest: 'sha256' }
    const xml = response(await encrypted(signedAssertion(), 'EncryptedAssertion', how))
    expect(xml).toContain('xmlenc#sha256')
    expect(refusal(xml)).toBe(undefined)
  })

  it('refuses what was changed on the way', async () => {
    const xml = response(await encrypted(signedAssertion()))
    const values = [...xml.matchAll(/CipherValue>\s*([A-Za-z0-9+/=]{40,})/g)].map(
      ([, value]) => value ?? '',
    )
    expect(values).toHaveLength(2)
    for (const value of values) {
      const bytes = Buffer.from(value, 'base64')
      bytes[40] = (bytes[40] ?? 0) ^ 1
      expect(refusal(xml.replace(value, bytes.toString('base64')))).toMatch(/cannot be decrypted/)
    }
  })

  it('opens an encrypted NameID and encrypted attributes', async () => {
    const spaced = (text: string) =>
      text.replace(/^<saml:(\w+)/, '<saml:$1 xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"')
    const id = await encrypted(spaced(nameId('secret-1')), 'EncryptedID')
    const one = await encrypted(spaced(attribute('pseudonym', 'p-1')), 'EncryptedAttribute')
    const inside = `<saml:Attribute Name="id"><saml:AttributeValue>${id}</saml:AttributeValue></saml:Attribute>`
    const xml = answer({
      nameId: id,
      attributes: `<saml:AttributeStatement>${one}${inside}</saml:AttributeStatement>`,
    })
    const both = answer({ nameId: id + nameId('other-1') })
    expect(refusal(both)).toMatch(/NameID and an EncryptedID/)
    const alone = answer({
      attributes: `<saml:AttributeStatement>${one}</saml:AttributeStatement>`,
    })
    expect(refusal(alone, { decryption: { keys: [] } })).toMatch(
      /attribute is encrypted; set spDecryptionPrivateKey/,
    )
    const read = readResponse(xml, rules())
    expect(read.nameId?.value).toBe('secret-1')
    expect(Object.fromEntries(read.attributes)).toEqual({ pseudonym: ['p-1'], id: ['secret-1'] })
    expect(refusal(xml, { decryption: { keys: [] } })).toMatch(/spDecryptionPrivateKey/)
  })
})
