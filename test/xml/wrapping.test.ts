/**
 * Signature wrapping: a captured message with a good signature is moved to where a verifier finds it and a reader does not.
 */
import { describe, expect, it } from 'vitest'
import { readElement, readSigned, xmlName } from '#server/xml/index.ts'
import { sender } from './keys.ts'
import {
  assertion,
  authnRequest,
  logoutRequest,
  messages,
  refusalOf,
  response,
  signed,
} from './messages.ts'
import { afterIssuer, atEnd, type Captured, capture, inSignature, variants } from './wraps.ts'

const keys = [sender.publicKey]

const table = Object.keys(messages).flatMap((name) =>
  Object.keys(variants).flatMap((variant) => [
    { name, variant, id: 'another ID', forgedId: '_evil' },
    { name, variant, id: 'the same ID', forgedId: '_1' },
  ]),
)

describe('a message that is signed as a whole', () => {
  it.each(table)('$name, $variant, under $id: refused', ({ name, variant, forgedId }) => {
    const message = messages[name] ?? expect.unreachable()
    const wrap = variants[variant] ?? expect.unreachable()
    const original = signed(message.honest('_1'), '_1')
    const xml = wrap(capture(original), message.forged(forgedId))
    const expected = { root: message.root, keys }
    expect(refusalOf(() => readSigned(original, expected))).toBe(undefined)
    expect(refusalOf(() => readSigned(xml, expected))).toMatch(
      /^(unsigned|signature-shape|reference|duplicate-id|digest)$/,
    )
    // Not for a flaw in its making: as a document it is well-formed.
    const asDocument = refusalOf(() => readElement(xml, { root: message.root }))
    expect([undefined, 'duplicate-id']).toContain(asDocument)
  })
})

/** The classic variants on a Response whose Assertion is signed. */
const inResponse: Readonly<Record<string, (captured: Captured, forged: string) => string>> = {
  'XSW3: forged assertion before the original': ({ original }, forged) => forged + original,
  'XSW4: forged assertion around the original': ({ original }, forged) => atEnd(forged, original),
  'XSW5: signature in the forgery, original after it': ({ signature, bare }, forged) =>
    afterIssuer(forged, signature) + bare,
  'XSW6: forgery holds the signature that holds the original': ({ signature, bare }, forged) =>
    afterIssuer(forged, inSignature(signature, 'KeyInfo', bare)),
  'XSW7: forgery in Extensions before the original': ({ original }, forged) =>
    `<samlp:Extensions>${forged}</samlp:Extensions>${original}`,
  'XSW8: original in an Object of the signature in the forgery': ({ signature, bare }, forged) =>
    afterIssuer(forged, inSignature(signature, 'Object', bare)),
  'forged assertion after the original': ({ original }, forged) => original + forged,
  'original in Advice of the forgery': ({ original }, forged) =>
    atEnd(forged, `<saml:Advice>${original}</saml:Advice>`),
}

describe('a Response with a signed Assertion', () => {
  const expected = { root: xmlName('samlp:Response'), path: [xmlName('saml:Assertion')], keys }
  const captured = capture(signed(assertion('_1'), '_1'))

  it.each(
    Object.keys(inResponse).flatMap((variant) =>
      ['_evil', '_1'].map((forgedId) => ({ variant, forgedId })),
    ),
  )(
    '$variant, under the ID $forgedId: the forged user never comes out',
    ({ variant, forgedId }) => {
      const wrap = inResponse[variant] ?? expect.unreachable()
      const xml = response('_r', wrap(captured, assertion(forgedId, 'admin')))
      const read = () => JSON.stringify(readSigned(xml, expected).element)
      // A forgery in Extensions is not what is read: the assertion of the sender is, alone.
      const isHarmless = variant.startsWith('XSW7') && forgedId === '_evil'
      if (isHarmless) expect(read()).not.toContain('admin')
      else expect(refusalOf(read)).toBeDefined()
    },
  )

  it('is no signed Response, nor the other way round (CVE-2024-8698)', () => {
    const ofAssertion = response('_r', captured.original)
    const ofResponse = signed(response('_r', assertion('_1')), '_r')
    const { root } = expected
    expect(refusalOf(() => readSigned(ofAssertion, { root, keys }))).toBe('unsigned')
    expect(refusalOf(() => readSigned(ofResponse, expected))).toBe('unsigned')
    expect(refusalOf(() => readSigned(ofAssertion, expected))).toBe(undefined)
    expect(refusalOf(() => readSigned(ofResponse, { root, keys }))).toBe(undefined)
  })

  it('loses its signature when it is changed outside or inside (CVE-2025-54419)', () => {
    const xml = response('_r', captured.original)
    const outside = xml.replace('https://idp.example', 'https://evil.example')
    expect(JSON.stringify(readSigned(outside, expected).element)).not.toContain('evil')
    const inside = xml.replace('<saml:NameID>alice', '<saml:NameID>admin')
    expect(refusalOf(() => readSigned(inside, expected))).toBe('digest')
  })
})

describe('a captured message', () => {
  const logout = { root: xmlName('samlp:LogoutRequest'), keys }

  it('is no message of another kind: an AuthnRequest is no LogoutRequest', () => {
    const captured = capture(signed(authnRequest('_1'), '_1'))
    expect(refusalOf(() => readSigned(captured.original, logout))).toBe('unexpected-root')
    const renamed = captured.original.replaceAll('samlp:AuthnRequest', 'samlp:LogoutRequest')
    expect(refusalOf(() => readSigned(renamed, logout))).toBe('digest')
    const moved = afterIssuer(logoutRequest('_1', 'victim'), captured.signature)
    expect(refusalOf(() => readSigned(moved, logout))).toBe('digest')
  })

  it('signs no forged LogoutRequest around it (GHSA-63ch-w8pw-4mf2)', () => {
    const captured = signed(assertion('_1', 'victim'), '_1')
    const forged = logoutRequest('_evil', 'victim')
    for (const xml of [
      afterIssuer(forged, captured),
      atEnd(forged, captured),
      afterIssuer(forged, `<samlp:Extensions>${captured}</samlp:Extensions>`),
      atEnd(forged, captured.replace('_1', '_evil')),
    ])
      expect(refusalOf(() => readSigned(xml, logout))).toMatch(/^(unsigned|duplicate-id)$/)
  })

  it('reads the same to every parser: what one repairs is refused (CVE-2025-25291, CVE-2025-25292)', () => {
    const { original } = capture(signed(authnRequest('_1'), '_1'))
    const forged = authnRequest('_evil', 'https://evil.example/acs')
    const root = xmlName('samlp:AuthnRequest')
    for (const [xml, refusal] of [
      [`<!DOCTYPE x [<!ENTITY a '"><!--'>]>${original}`, 'doctype'],
      [`<!DOCTYPE x SYSTEM 'a"><!--' >${forged}<!--->-->${original}`, 'doctype'],
      [`${forged}${original}`, 'malformed'],
      [`${original}${forged}`, 'malformed'],
      [`<?xml version="1.0"?><?x ?>${original}`, 'processing-instruction'],
      [`${original.slice(0, -1)} xmlns="">`, 'malformed'],
      [original.replace('ID="_1"', 'ID="_evil" ID="_1"'), 'malformed'],
      [original.replace('ID="_1"', 'ID="_evil" samlp:ID="_1"'), 'reference'],
      [original.replace('ID="_1"', 'ID="_1" xml:id="_1"'), 'duplicate-id'],
    ] as const)
      expect(refusalOf(() => readSigned(xml, { root, keys }))).toBe(refusal)
  })
})
