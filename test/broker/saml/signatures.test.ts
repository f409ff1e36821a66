/** Signatures of answers: which must be there, whose they must be, and that no wrapping brings a forged person in. */
import { describe, expect, it } from 'vitest'
import { readResponse } from '#server/broker/protocols/saml/response/read-response.ts'
import { curved, stranger } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { capture, variants } from '../../xml/wraps.ts'
import {
  answer,
  assertion,
  nameId,
  refusal,
  response,
  rules,
  signedAssertion,
  signedResponse,
} from './answers.ts'

describe('a signature', () => {
  it.each([
    ['no signature at all', () => response(assertion()), {}, /Assertion is not signed/],
    [
      'no signature, where the Assertion need not be signed',
      () => response(assertion()),
      { wantAssertionsSigned: false },
      /neither/,
    ],
    [
      'a signed Response alone, where the Assertion must be signed',
      () => signedResponse(assertion()),
      {},
      /Assertion is not signed/,
    ],
    [
      'a signed Assertion alone, where the Response must be signed',
      () => answer(),
      { wantResponseSigned: true },
      /Response is not signed/,
    ],
    [
      'the signature of a stranger',
      () => answer({}, {}, { key: stranger.privateKey }),
      {},
      /^invalid-answer: signature/,
    ],
    [
      'a Response signed by a stranger around a good Assertion',
      () => signedResponse(signedAssertion(), {}, { key: stranger.privateKey }),
      {},
      /signature/,
    ],
    [
      'a good Response around an Assertion of a stranger',
      () => signedResponse(signedAssertion({}, { key: stranger.privateKey })),
      { wantAssertionsSigned: false },
      /signature/,
    ],
    [
      'SHA-1',
      () => answer({}, {}, { signatureAlgorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' }),
      {},
      /algorithm/,
    ],
    ['a key of another type', () => answer(), { keys: [curved.publicKey] }, /algorithm/],
    ['no known key', () => answer(), { keys: [] }, /algorithm/],
    [
      'a comment in the NameID (CVE-2017-11428)',
      () => answer({}).replace('alice-1', 'alice<!-- -->-1'),
      {},
      /mixed-value/,
    ],
    [
      'a comment in the NameID, signed so',
      () => answer({ nameId: nameId('admin<!---->istrator') }),
      {},
      /mixed-value/,
    ],
    ['a changed NameID', () => answer().replace('alice-1', 'admin-1'), {}, /digest/],
    [
      'two assertions',
      () => response(signedAssertion() + signedAssertion({ id: '_b' })),
      {},
      /2 assertions/,
    ],
    [
      'a forged assertion before the signed one',
      () => response(assertion({ id: '_b', nameId: nameId('admin') }) + signedAssertion()),
      {},
      /2 assertions/,
    ],
    ['no assertion', () => signedResponse(''), {}, /0 assertions/],
    [
      'another message',
      () => answer().replaceAll('samlp:Response', 'samlp:LogoutResponse'),
      {},
      /unexpected-root/,
    ],
  ] as const)('%s is refused', (_what, make, changes, reason) => {
    expect(refusal(make(), changes)).toMatch(reason)
  })

  it.each(
    Object.keys(variants).flatMap((variant) => ['_evil', '_r'].map((id) => ({ variant, id }))),
  )('$variant, under $id: the forged Response is refused', ({ variant, id }) => {
    const wrap = variants[variant] ?? expect.unreachable()
    const original = signedResponse(signedAssertion())
    const forged = response(assertion({ id: '_b', nameId: nameId('admin') }), { id })
    const xml = wrap(capture(original), forged)
    for (const changes of [
      {},
      { wantAssertionsSigned: false },
      { wantResponseSigned: true, wantAssertionsSigned: false },
    ])
      expect(refusal(xml, changes)).toMatch(/^invalid-answer/)
  })

  it('of an Assertion may cover a prefix that the Response alone declares (InclusiveNamespaces)', () => {
    const declared = response(assertion()).replace('ID="_r"', '$& xmlns:xs="urn:example:types"')
    const inside = signed(declared, '_a', { prefixes: ['xs'] })
    const both = signed(inside, '_r')
    for (const xml of [inside, both]) {
      expect(refusal(xml)).toBe(undefined)
      expect(refusal(xml.replace('urn:example:types', 'urn:example:other'))).toMatch(
        /digest|signature/,
      )
    }
  })

  const around = (captured: ReturnType<typeof capture>, forged: string) => ({
    XSW3: forged + captured.original,
    XSW4: forged.replace('</saml:Assertion>', `${captured.original}</saml:Assertion>`),
    XSW5: forged.replace('</saml:Issuer>', `</saml:Issuer>${captured.signature}`) + captured.bare,
    XSW6: forged.replace(
      '</saml:Issuer>',
      `</saml:Issuer>${captured.signature.replace('</ds:Signature>', `<ds:KeyInfo>${captured.bare}</ds:KeyInfo></ds:Signature>`)}`,
    ),
    XSW7: `<samlp:Extensions>${forged}</samlp:Extensions>${captured.original}`,
    XSW8: forged.replace(
      '</saml:Issuer>',
      `</saml:Issuer>${captured.signature.replace('</ds:Signature>', `<ds:Object>${captured.bare}</ds:Object></ds:Signature>`)}`,
    ),
    'in Advice': forged.replace(
      '</saml:Conditions>',
      `</saml:Conditions><saml:Advice>${captured.original}</saml:Advice>`,
    ),
  })

  it.each(['XSW3', 'XSW4', 'XSW5', 'XSW6', 'XSW7', 'XSW8', 'in Advice'] as const)(
    '%s of a signed Assertion: the forged person never comes out',
    (variant) => {
      const captured = capture(signedAssertion())
      const xml = response(
        around(captured, assertion({ id: '_b', nameId: nameId('admin') }))[variant],
      )
      for (const wantAssertionsSigned of [true, false]) {
        if (variant === 'XSW7')
          expect(readResponse(xml, rules({ wantAssertionsSigned })).nameId?.value).toBe('alice-1')
        else expect(refusal(xml, { wantAssertionsSigned })).toMatch(/^invalid-answer/)
      }
    },
  )
})
