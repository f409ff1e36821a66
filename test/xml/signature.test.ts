/** One shape of signature is read (SAML core §5.4). All signatures here were made with the key of the sender. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { childOf, readSigned, xmlName } from '#server/xml/index.ts'
import { canonicalForm, handSigned, method, type Parts, transform } from './hand-signed.ts'
import { curved, sender, stranger, weak } from './keys.ts'
import {
  assertion,
  authnRequest,
  c14n,
  enveloped,
  messages,
  refusalOf,
  response,
  rsa256,
  sha256,
  signed,
} from './messages.ts'

const root = xmlName('samlp:AuthnRequest')
const keys = [sender.publicKey]
const read = (xml: string) => readSigned(xml, { root, keys })
const more = 'http://www.w3.org/2001/04/xmldsig-more#'
const dsig = 'http://www.w3.org/2000/09/xmldsig#'

describe('a signed message', () => {
  it.each(Object.entries(messages))('%s is read when its sender signed it', (_name, message) => {
    const { element, key } = readSigned(signed(message.honest('_1'), '_1'), {
      root: message.root,
      keys: [stranger.publicKey, sender.publicKey],
    })
    expect(element.name).toBe(message.root.name)
    expect(element.attributes['ID']).toBe('_1')
    expect(key).toBe(sender.publicKey)
  })

  it('comes without its signature, with the rest as it was sent, frozen', () => {
    const { element } = read(signed(authnRequest('_1'), '_1'))
    expect(element.children.map(({ name }) => name)).toEqual(['Issuer'])
    expect(childOf(element, 'saml:Issuer')?.text).toBe('https://sp.example')
    expect(element.attributes['AssertionConsumerServiceURL']).toBe('https://sp.example/acs')
    const parts = [element, element.attributes, element.children]
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true)
  })

  it('is refused when it has no signature, also when a signature stands deeper', () => {
    expect(refusalOf(() => read(authnRequest('_1')))).toBe('unsigned')
    const inner = signed(assertion('_a'), '_a')
    const outer = authnRequest('_1', undefined, `<samlp:Extensions>${inner}</samlp:Extensions>`)
    expect(refusalOf(() => read(outer))).toBe('unsigned')
  })

  it('is refused when somebody else signed it, or nobody has a key', () => {
    const xml = signed(authnRequest('_1'), '_1', { key: stranger.privateKey })
    expect(refusalOf(() => read(xml))).toBe('signature')
    expect(refusalOf(() => readSigned(xml, { root, keys: [] }))).toBe('algorithm')
  })

  it('takes no key from its KeyInfo', () => {
    const info = `<ds:KeyInfo><ds:X509Data><ds:X509Certificate>${stranger.certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>`
    const content: Parts['content'] = (signedInfo, value) => signedInfo + value + info
    const forged = handSigned(authnRequest('_1'), '_1', { key: stranger.privateKey, content })
    expect(refusalOf(() => read(forged))).toBe('signature')
    expect(refusalOf(() => read(handSigned(authnRequest('_1'), '_1', { content })))).toBe(undefined)
  })

  it('is refused when anything signed was changed', () => {
    const xml = signed(authnRequest('_1'), '_1')
    const changed = xml.replace('https://sp.example/acs', 'https://evil.example/acs')
    expect(changed).not.toBe(xml)
    expect(refusalOf(() => read(changed))).toBe('digest')
  })
})

const withComments = `${c14n}WithComments`

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64')

/** Each is accepted once its check is gone, since the signature over it holds. */
const wrong: Readonly<Record<string, readonly [refusal: string, parts: Parts]>> = {
  'two signatures': ['signature-shape', { signatures: (one) => one + one }],
  'an Object': [
    'signature-shape',
    { content: (info, value) => `${info}${value}<ds:KeyInfo/><ds:Object/>` },
  ],
  'an Object in the place of KeyInfo': [
    'signature-shape',
    { content: (info, value) => `${info}${value}<ds:Object/>` },
  ],
  'two SignedInfo (CVE-2025-29774)': [
    'signature-shape',
    { content: (info, value) => info + info + value },
  ],
  'a SignedInfo inside another element': [
    'signature-shape',
    { content: (info, value) => `<ds:Object>${info}</ds:Object>${info}${value}` },
  ],
  'SignedInfo after its value': ['signature-shape', { content: (info, value) => value + info }],
  'two references': ['signature-shape', { references: (one) => one + one }],
  'no reference': ['signature-shape', { references: () => '' }],
  'a comment in DigestValue (CVE-2025-29775)': [
    'mixed-value',
    { digestValue: (digest) => `<!--${digestOf('forged')}-->${digest}` },
  ],
  'an element in DigestValue': ['mixed-value', { digestValue: (digest) => `<a/>${digest}` }],
  'two DigestValue': [
    'signature-shape',
    {
      digestValue: (digest) => `${digest}</ds:DigestValue><ds:DigestValue>${digestOf('forged')}`,
    },
  ],
  'a DigestValue that is not base64': ['encoding', { digestValue: (digest) => `${digest}!` }],
  'a reference to the whole document': ['reference', { uri: '' }],
  'a reference to another ID': ['reference', { uri: '#_2' }],
  'a reference by XPointer': ['reference', { uri: "#xpointer(id('_1'))" }],
  'a reference to a URL': ['reference', { uri: 'https://evil.example/#_1' }],
  'one transform': ['signature-shape', { transforms: transform(c14n) }],
  'three transforms': [
    'signature-shape',
    { transforms: transform(enveloped) + transform(c14n) + transform(c14n) },
  ],
  'no enveloped-signature': ['algorithm', { transforms: transform(c14n) + transform(c14n) }],
  'something inside enveloped-signature': [
    'signature-shape',
    { transforms: transform(enveloped, '<a/>') + transform(c14n) },
  ],
  'an XPath transform': [
    'algorithm',
    {
      transforms:
        transform(enveloped) +
        transform('http://www.w3.org/TR/1999/REC-xpath-19991116', '<ds:XPath>1</ds:XPath>'),
    },
  ],
  'an XSLT transform': [
    'algorithm',
    {
      transforms: transform(enveloped) + transform('http://www.w3.org/TR/1999/REC-xslt-19991116'),
    },
  ],
  'a comment in a SignedInfo that is canonicalized with comments': [
    'signature-shape',
    {
      canonicalization: method('CanonicalizationMethod', withComments),
      references: (one) => `<!-- x -->${one}`,
    },
  ],
  'a comment deeper in such a SignedInfo': [
    'signature-shape',
    {
      canonicalization: method('CanonicalizationMethod', withComments),
      transforms: `<!-- x -->${transform(enveloped)}${transform(c14n)}`,
    },
  ],
  'inclusive canonicalization with comments': [
    'algorithm',
    {
      transforms:
        transform(enveloped) +
        transform('http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments'),
    },
  ],
  'inclusive canonicalization of SignedInfo': [
    'algorithm',
    {
      canonicalization: method(
        'CanonicalizationMethod',
        'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
      ),
    },
  ],
  'something else than InclusiveNamespaces': [
    'signature-shape',
    { transforms: transform(enveloped) + transform(c14n, '<a/>') },
  ],
  'two lists of prefixes': [
    'signature-shape',
    {
      transforms:
        transform(enveloped) +
        transform(c14n, `<i:InclusiveNamespaces xmlns:i="${c14n}" PrefixList="a"/>`.repeat(2)),
    },
  ],
  'elements inside a PrefixList, each of which would be canonicalized with its prefixes (CWE-405)':
    [
      'signature-shape',
      {
        canonicalization: method(
          'CanonicalizationMethod',
          c14n,
          `<i:InclusiveNamespaces xmlns:i="${c14n}" PrefixList="samlp">${'<a/>'.repeat(1000)}</i:InclusiveNamespaces>`,
        ),
      },
    ],
  'a PrefixList without end': [
    'signature-shape',
    {
      transforms:
        transform(enveloped) +
        transform(
          c14n,
          `<i:InclusiveNamespaces xmlns:i="${c14n}" PrefixList="${'a '.repeat(51)}"/>`,
        ),
    },
  ],
  'a parameter of the signature method': [
    'signature-shape',
    { method: method('SignatureMethod', rsa256, '<ds:HMACOutputLength>0</ds:HMACOutputLength>') },
  ],
  'a parameter of the digest method': [
    'signature-shape',
    { digestMethod: method('DigestMethod', sha256, '<a/>') },
  ],
  'no Algorithm': ['signature-shape', { method: '<ds:SignatureMethod/>' }],
  'rsa-sha1': ['algorithm', { method: method('SignatureMethod', `${dsig}rsa-sha1`), hash: 'sha1' }],
  'a SHA-1 digest': [
    'algorithm',
    { digestMethod: method('DigestMethod', `${dsig}sha1`), digestHash: 'sha1' },
  ],
  'an algorithm that nobody knows': [
    'algorithm',
    { method: method('SignatureMethod', 'urn:example:unknown') },
  ],
  'an algorithm with the name of an inherited property': [
    'algorithm',
    { method: method('SignatureMethod', 'constructor') },
  ],
  'a digest with the name of an inherited property': [
    'algorithm',
    { digestMethod: method('DigestMethod', 'constructor') },
  ],
  'an HMAC under the public key': [
    'algorithm',
    {
      method: method('SignatureMethod', `${more}hmac-sha256`),
      hmac: sender.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    },
  ],
}

describe('a signature', () => {
  it('of the one shape is accepted (the rest of this table is not refused for its making)', () => {
    expect(refusalOf(() => read(handSigned(authnRequest('_1'), '_1')))).toBe(undefined)
  })

  it.each(Object.entries(wrong))('with %s is refused', (_name, [refusal, parts]) => {
    expect(refusalOf(() => read(handSigned(authnRequest('_1'), '_1', parts)))).toBe(refusal)
  })

  it('may name canonicalization with comments, and what is read has none (SAML core §5.4.4)', () => {
    const canonicalization = method('CanonicalizationMethod', withComments)
    const transforms = transform(enveloped) + transform(withComments)
    const xml = handSigned(authnRequest('_1'), '_1', { canonicalization, transforms })
    expect(refusalOf(() => read(xml))).toBe(undefined)
    // The node-set of a reference to an ID has no comments, whatever follows (XML Signature §4.4.3.3).
    const commented = xml.replace('</samlp:AuthnRequest>', '<!-- x --></samlp:AuthnRequest>')
    expect(commented).not.toBe(xml)
    expect(read(commented)).toEqual(read(xml))
    const divided = xml.replace(
      'https://sp.example</saml:Issuer>',
      'https://sp<!-- -->.example</saml:Issuer>',
    )
    expect(refusalOf(() => read(divided))).toBe('mixed-value')
  })

  it.each([c14n, withComments])('with comments may have a list of prefixes in %s', (namespace) => {
    const list = `<i:InclusiveNamespaces xmlns:i="${namespace}" PrefixList="samlp"/>`
    const transforms = transform(enveloped) + transform(withComments, list)
    const xml = handSigned(authnRequest('_1'), '_1', { transforms })
    expect(refusalOf(() => read(xml))).toBe(undefined)
  })

  it('of xml-crypto with comments is read', () => {
    const options = { canonicalization: withComments, transforms: [enveloped, withComments] }
    expect(refusalOf(() => read(signed(authnRequest('_1'), '_1', options)))).toBe(undefined)
  })

  it.each([
    ['no ID', '#undefined', ''],
    ['an empty ID', '#', ' ID=""'],
    ['an ID in a namespace alone', '#_1', ' samlp:ID="_1"'],
  ])('over an element with %s is refused', (_name, uri, id) => {
    const other = authnRequest('_1').replace(' ID="_1"', id)
    const digest = createHash('sha256').update(canonicalForm(other)).digest('base64')
    const parts: Parts = { uri, digestValue: () => digest }
    const xml = handSigned(authnRequest('_1'), '_1', parts).replace(' ID="_1"', id)
    expect(refusalOf(() => read(xml))).toBe('reference')
  })

  it('in another namespace is none', () => {
    const xml = handSigned(authnRequest('_1'), '_1').replaceAll(dsig, 'urn:example:dsig')
    expect(refusalOf(() => read(xml))).toBe('unsigned')
  })

  it.each(['sha256', 'sha384', 'sha512'])('with rsa-%s and the same digest is accepted', (hash) => {
    const digest = hash === 'sha384' ? `${more}sha384` : `http://www.w3.org/2001/04/xmlenc#${hash}`
    const xml = handSigned(authnRequest('_1'), '_1', {
      method: method('SignatureMethod', `${more}rsa-${hash}`),
      hash,
      digestMethod: method('DigestMethod', digest),
      digestHash: hash,
    })
    expect(refusalOf(() => read(xml))).toBe(undefined)
  })

  it('with ecdsa-sha256 needs a key on a curve, and an RSA signature an RSA key', () => {
    const ecdsa = handSigned(authnRequest('_1'), '_1', {
      method: method('SignatureMethod', `${more}ecdsa-sha256`),
      key: curved.privateKey,
    })
    expect(readSigned(ecdsa, { root, keys: [curved.publicKey] }).key).toBe(curved.publicKey)
    expect(refusalOf(() => read(ecdsa))).toBe('algorithm')
    const rsa = handSigned(authnRequest('_1'), '_1')
    expect(refusalOf(() => readSigned(rsa, { root, keys: [curved.publicKey] }))).toBe('algorithm')
  })

  it('by an RSA key of 1024 bits is refused', () => {
    const xml = handSigned(authnRequest('_1'), '_1', { key: weak.privateKey })
    expect(refusalOf(() => readSigned(xml, { root, keys: [weak.publicKey] }))).toBe('algorithm')
  })

  it('over prefixes of an InclusiveNamespaces list is accepted, those declared further out too', () => {
    const xml = response('_r', assertion('_a')).replace(
      '<samlp:Response',
      '<samlp:Response xmlns:xs="http://www.w3.org/2001/XMLSchema"',
    )
    const inclusive = signed(xml, '_a', { prefixes: ['xs'] })
    expect(inclusive).toContain('InclusiveNamespaces')
    const { element } = readSigned(inclusive, {
      root: xmlName('samlp:Response'),
      path: [xmlName('saml:Assertion')],
      keys,
    })
    expect(element.attributes['ID']).toBe('_a')
  })

  it('by the sender cannot make a document grow without bound when it is canonicalized', () => {
    // 400 KB in canonical form: 20 KB are declared once and used twenty times.
    const uses = '<p:a/>'.repeat(20)
    const xml = authnRequest(
      '_1',
      undefined,
      `<samlp:Extensions xmlns:p="urn:${'x'.repeat(20_000)}">${uses}</samlp:Extensions>`,
    )
    expect(refusalOf(() => read(signed(xml, '_1')))).toBe('too-large')
  })
})

describe('a signed part of a document', () => {
  const inResponse = {
    root: xmlName('samlp:Response'),
    path: [xmlName('saml:Assertion')],
    keys,
  }

  it('is all that is read of it', () => {
    const { element } = readSigned(signed(response('_r', assertion('_a')), '_a'), inResponse)
    expect(element.name).toBe('Assertion')
    expect(JSON.stringify(element)).not.toContain('_r')
  })

  it('is found below a SOAP envelope', () => {
    const soap = 'http://schemas.xmlsoap.org/soap/envelope/'
    const xml = `<e:Envelope xmlns:e="${soap}"><e:Body>${signed(authnRequest('_1'), '_1')}</e:Body></e:Envelope>`
    const path = [xmlName('soap:Body'), root]
    const { element } = readSigned(xml, { root: xmlName('soap:Envelope'), path, keys })
    expect(element.attributes['ID']).toBe('_1')
  })

  it('must be the only child of its name (CVE-2022-41912)', () => {
    const honest = signed(assertion('_a'), '_a')
    const forged = assertion('_b', 'admin')
    for (const inside of [forged + honest, honest + forged, ''])
      expect(refusalOf(() => readSigned(response('_r', inside), inResponse))).toBe('signed-element')
  })

  it('may hold another signed assertion as Advice (SAML core §2.6.1)', () => {
    const inner = signed(assertion('_i'), '_i', { key: stranger.privateKey })
    const outer = assertion('_a', 'alice', `<saml:Advice>${inner}</saml:Advice>`)
    const { element } = readSigned(signed(response('_r', outer), '_a'), inResponse)
    const advice = childOf(element, 'saml:Advice')
    expect(advice?.children.map(({ attributes }) => attributes['ID'])).toEqual(['_i'])
    expect(childOf(element, 'saml:Subject')?.children[0]?.text).toBe('alice')
  })
})
