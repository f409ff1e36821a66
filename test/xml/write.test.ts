/** What we write is its own exclusive canonical form, and values never become markup. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalize } from '#server/xml/canonicalize.ts'
import {
  element,
  readElement,
  readSigned,
  signElement,
  type Template,
  writeElement,
  xmlName,
} from '#server/xml/index.ts'
import { parse } from '#server/xml/parse.ts'
import { plainTemplates, templates } from './generated.ts'
import { checkedByXmlCrypto } from './judges.ts'
import { sender } from './keys.ts'

const assertionOf = (content: readonly Template[]): Template =>
  element('saml:Assertion', { Version: '2.0', ID: '_1', IssueInstant: '2026-11-17T07:00:00Z' }, [
    element('saml:Issuer', {}, 'https://idp.example'),
    ...content,
  ])

const LIMIT = 10_000_000

describe('a written element', () => {
  it('declares each namespace where it is used first, and sorts attributes', () => {
    const written = writeElement(
      element('samlp:Response', { Version: '2.0', ID: '_1', InResponseTo: undefined }, [
        element('saml:Issuer', {}, 'x'),
        undefined,
        element('saml:Assertion', {}, [element('saml:Issuer', { 'xsi:type': 'y', a: 'z' }, '')]),
      ]),
    )
    expect(written).toBe(
      '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_1" Version="2.0"><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">x</saml:Issuer><saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"><saml:Issuer xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" a="z" xsi:type="y"></saml:Issuer></saml:Assertion></samlp:Response>',
    )
  })

  it('carries any value as a value (GHSA-34r5-q4jw-r36m)', () => {
    const value = '</saml:AttributeValue><saml:Attribute Name="role">]]>&amp;\'"\t\r\n é😀'
    const written = writeElement(element('saml:AttributeValue', { Name: value }, value))
    const read = readElement(written, { root: xmlName('saml:AttributeValue') })
    expect([read.text, read.attributes['Name'], read.children]).toEqual([value, value, []])
  })

  it.each(['\u0000', '\u0008', '\u000b', '\u001f', '\ufffe', '\uffff', '\ud800', '\udc00x'])(
    'is not written with a character that XML cannot carry, and the error names the place',
    (value) => {
      const text = element('saml:NameID', {}, `a${value}`)
      expect(() => writeElement(text)).toThrow(RangeError)
      expect(() => writeElement(text)).toThrow('saml:NameID')
      const attribute = element('saml:NameID', { SPProvidedID: value }, '')
      expect(() => writeElement(attribute)).toThrow('saml:NameID/@SPProvidedID')
    },
  )

  it('is its own exclusive canonical form, by our canonicalization, for generated elements', () => {
    fc.assert(
      fc.property(templates, (template) => {
        const written = writeElement(template)
        expect(canonicalize(parse(written, LIMIT), { limit: LIMIT })).toBe(written)
      }),
    )
  })
})

describe('a signed element', () => {
  const root = xmlName('saml:Assertion')
  const keys = [sender.publicKey]

  it('has its Signature after Issuer, else first (SAML schemas)', async () => {
    const names = ({ content }: Template) =>
      typeof content === 'string' ? [] : content.map(({ name }) => name)
    const assertion = assertionOf([element('saml:Subject')])
    expect(names(await signElement(assertion, sender.signing))).toEqual([
      'saml:Issuer',
      'ds:Signature',
      'saml:Subject',
    ])
    const metadata = element('md:EntityDescriptor', { ID: '_1' }, [element('md:Extensions')])
    expect(names(await signElement(metadata, sender.signing))).toEqual([
      'ds:Signature',
      'md:Extensions',
    ])
  })

  it('needs an ID and children', async () => {
    const refused = [
      element('saml:Assertion', {}, []),
      element('saml:Assertion', { ID: '_1' }, 'x'),
    ]
    for (const template of refused)
      await expect(signElement(template, sender.signing)).rejects.toThrow(TypeError)
  })

  it('verifies for us and for xml-crypto, alone and inside a signed Response, for generated content', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(plainTemplates, { maxLength: 4 }), async (content) => {
        const assertion = await signElement(assertionOf(content), sender.signing)
        const alone = writeElement(assertion)
        expect(readSigned(alone, { root, keys, limit: LIMIT }).key).toBe(sender.publicKey)
        expect(checkedByXmlCrypto(alone, '_1', sender.certificate)).toBe(
          writeElement(assertionOf(content)),
        )

        const response = element('samlp:Response', { ID: '_r' }, [
          element('saml:Issuer', {}, 'https://idp.example'),
          assertion,
        ])
        const both = writeElement(await signElement(response, sender.signing))
        const expected = { root: xmlName('samlp:Response'), keys, limit: LIMIT }
        expect(readSigned(both, expected).element.attributes['ID']).toBe('_r')
        expect(readSigned(both, { ...expected, path: [root] }).element.attributes['ID']).toBe('_1')
        for (const id of ['_r', '_1'])
          expect(checkedByXmlCrypto(both, id, sender.certificate)).toBeDefined()
      }),
      { numRuns: 50 },
    )
  })

  it('is canonical wherever it is put, whether or not its prefixes are declared around it', async () => {
    const signed = await signElement(assertionOf([element('saml:Subject')]), sender.signing)
    for (const around of ['soap:Body', 'saml:Advice', 'ds:Object', 'samlp:Response'] as const) {
      const written = writeElement(element(around, {}, [signed]))
      expect(canonicalize(parse(written, LIMIT), { limit: LIMIT })).toBe(written)
    }
  })

  it('reads the same after it was stored as JSON, as artifacts are', async () => {
    const assertion = await signElement(assertionOf([element('saml:Subject')]), sender.signing)
    const response = element('samlp:Response', { ID: '_r' }, [assertion])
    const signed = await signElement(response, sender.signing)
    const stored: Template = JSON.parse(JSON.stringify(signed))
    expect(writeElement(stored)).toBe(writeElement(signed))
  })
})
