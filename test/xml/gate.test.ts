/** Conditions on a received document that are checked before its content is read. */
import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  childOf,
  childrenOf,
  MESSAGE_LIMIT,
  METADATA_LIMIT,
  readBase64,
  readDeflated,
  readElement,
  xmlName,
} from '#server/xml/index.ts'
import { refusalOf } from './messages.ts'

const root = { namespace: '', name: 'a' }
const read = (xml: string, limit?: number) =>
  readElement(xml, limit === undefined ? { root } : { root, limit })
const refusal = (xml: string, limit?: number) => refusalOf(() => read(xml, limit))
const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64')

describe('a received document', () => {
  it('is read with resolved names, attributes and text', () => {
    const xml =
      '<?xml version="1.0" encoding="UTF-8"?>\n<!-- before --><a xmlns:p="urn:p" p:x="1" x="2" __proto__="3"><p:b> &lt;&#65;<![CDATA[&]]> </p:b><!-- between --><b xmlns="urn:p"/></a>\n'
    const element = read(xml)
    expect({ ...element.attributes }).toEqual({ '{urn:p}x': '1', x: '2', ['__proto__']: '3' })
    expect(element.children).toEqual([
      { namespace: 'urn:p', name: 'b', attributes: {}, children: [], text: ' <A& ' },
      { namespace: 'urn:p', name: 'b', attributes: {}, children: [], text: '' },
    ])
  })

  it('is at most 64 KiB, counted in bytes; metadata 1 MiB', () => {
    const of = (size: number, fill = 'x'): string =>
      `<a>${fill.repeat((size - 7) / Buffer.byteLength(fill))}</a>`
    expect(refusal(of(MESSAGE_LIMIT))).toBe(undefined)
    expect(refusal(of(MESSAGE_LIMIT + 1))).toBe('too-large')
    expect(refusal(of(MESSAGE_LIMIT + 1, 'é'))).toBe('too-large')
    expect(refusal(of(MESSAGE_LIMIT - 1, 'é'))).toBe(undefined)
    expect(refusal(of(METADATA_LIMIT), METADATA_LIMIT)).toBe(undefined)
    expect(refusal(of(METADATA_LIMIT + 1), METADATA_LIMIT)).toBe('too-large')
  })

  it.each([
    '<!DOCTYPE a><a/>',
    '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
    '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    '<!DOCTYPE a [<!ENTITY x "xxx"><!ENTITY y "&x;&x;">]><a>&y;</a>',
  ])('has no DOCTYPE: %s', (xml) => expect(refusal(xml)).toBe('doctype'))

  it.each(['<?x y?><a/>', '<a><?x y?></a>', '<a/><?xml-stylesheet href="x"?>'])(
    'has no processing instruction: %s',
    (xml) => expect(refusal(xml)).toBe('processing-instruction'),
  )

  it.each([
    '<a>admin<!-- -->.evil</a>',
    '<a><b>admin@example.org<!---->.evil.example</b></a>',
    '<a><!-- x -->admin</a>',
    '<a>admin<b/>.evil</a>',
    '<a><![CDATA[admin]]><!-- --></a>',
  ])('has no comment and no element inside a value (CVE-2017-11428): %s', (xml) =>
    expect(refusal(xml)).toBe('mixed-value'),
  )

  it('may have text in a SOAP envelope, as SimpleSAMLphp writes it, and in nothing inside', () => {
    const soap = (before: string, inside: string): string =>
      `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">${before}<s:Body>${inside}</s:Body></s:Envelope>`
    const ofEnvelope = (xml: string) =>
      refusalOf(() => readElement(xml, { root: xmlName('soap:Envelope') }))
    expect(ofEnvelope(soap('\\\n<s:Header/>', '<a/>'))).toBe(undefined)
    expect(ofEnvelope(soap('', '\\<a/>'))).toBe('mixed-value')
    expect(ofEnvelope(soap('', '<a>\\<b/></a>'))).toBe('mixed-value')
    expect(refusal('<Envelope>\\<a/></Envelope>')).toBe('mixed-value')
  })

  it('may have comments between elements, as metadata has', () => {
    expect(refusal('<!-- x --><a> <!-- y --> <b/> <!-- z --></a><!-- -->')).toBe(undefined)
  })

  it('is at most 50 elements deep: 20,000 are refused at the 51st', () => {
    const nested = (depth: number): string => '<a>'.repeat(depth) + '</a>'.repeat(depth)
    expect(refusal(nested(50))).toBe(undefined)
    expect(refusal(nested(51))).toBe('too-deep')
    // Not well-formed at its end: it was refused before the parser came there.
    expect(refusal('<a>'.repeat(20_000), METADATA_LIMIT)).toBe('too-deep')
  })

  it('has at most 500 attributes on an element: 20,000 are refused at the 501st', () => {
    const wide = (count: number, name = 'x'): string =>
      `<a${Array.from({ length: count }, (_, index) => ` ${name}${index}="y"`).join('')}/>`
    expect(refusal(wide(500))).toBe(undefined)
    expect(refusal(wide(501))).toBe('too-many-attributes')
    expect(refusal(wide(501, 'xmlns:x'))).toBe('too-many-attributes')
    const unclosed = wide(20_000).slice(0, -2)
    expect(refusal(unclosed, METADATA_LIMIT)).toBe('too-many-attributes')
    const elements = wide(300).replace('/>', `>${wide(300)}</a>`)
    expect(refusal(elements)).toBe(undefined)
  })

  it('has an element or attribute for 16 bytes of the limit at most: `<b/>` has four bytes', () => {
    const most = MESSAGE_LIMIT / 16
    const of = (count: number, limit?: number): string | undefined =>
      refusal(`<a>${'<b/>'.repeat(count - 1)}</a>`, limit)
    expect(of(most)).toBe(undefined)
    expect(of(most + 1)).toBe('too-large')
    const half = (most - 1) / 2
    expect(refusal(`<a>${'<b c=""/>'.repeat(Math.floor(half))}</a>`)).toBe(undefined)
    expect(refusal(`<a>${'<b xmlns=""/>'.repeat(Math.ceil(half))}</a>`)).toBe('too-large')
    expect(of(METADATA_LIMIT / 16, METADATA_LIMIT)).toBe(undefined)
    // Not well-formed at its end: it was refused before the parser came there.
    expect(refusal(`<a>${'<b/>'.repeat(200_000)}`, METADATA_LIMIT)).toBe('too-large')
    // As shortly as values can be written.
    const values = '<AttributeValue>a</AttributeValue>'.repeat(1900)
    expect(refusal(`<a>${values}</a>`)).toBe(undefined)
  })

  it.each([
    ['two roots (GHSA-5p8w-2mvw-38pv)', '<a/><a/>'],
    ['an open element', '<a><b></a>'],
    ['no end', '<a>'],
    ['nothing', ''],
    ['text alone', 'a'],
    ['text after the root', '<a/>x'],
    ['an attribute twice', '<a x="1" x="2"/>'],
    ['an attribute twice by namespace', '<a xmlns:p="u" xmlns:q="u" p:x="1" q:x="2"/>'],
    ['an unquoted attribute', '<a x=1/>'],
    ['an unknown entity', '<a>&nbsp;</a>'],
    ['a bare ampersand', '<a>&</a>'],
    ['a less-than sign in an attribute', '<a x="<"/>'],
    ['a prefix that is not bound', '<p:a/>'],
    ['a prefix bound to nothing', '<a xmlns:p=""/>'],
    ['xmlns as a prefix', '<a xmlns:xmlns="u"/>'],
    ['a control character', '<a>\u0001</a>'],
    ['a control character by number', '<a>&#1;</a>'],
    ['a lone surrogate by number', '<a>&#xD800;</a>'],
    ['the end of CDATA in text', '<a>]]></a>'],
    ['a double hyphen in a comment', '<a><!-- -- --></a>'],
    ['a declaration that is not first', ' <?xml version="1.0"?><a/>'],
    ['a name with two colons', '<a xmlns:p="u" p:x:y="1"/>'],
  ])('is well-formed: %s is refused', (_name, xml) => expect(refusal(xml)).toBe('malformed'))

  it('has the root that was asked for, by namespace and name', () => {
    expect(refusal('<b/>')).toBe('unexpected-root')
    expect(refusal('<a xmlns="urn:p"/>')).toBe('unexpected-root')
    const either = [root, { namespace: 'urn:p', name: 'b' }]
    expect(readElement('<b xmlns="urn:p"/>', { root: either }).name).toBe('b')
    expect(refusalOf(() => readElement('<c/>', { root: either }))).toBe('unexpected-root')
  })

  it.each(['ID', 'Id', 'id', 'xml:id', 'w:Id'])('has no ID twice, also as %s', (name) => {
    const twice = `<a xmlns:w="urn:w" ID="_1"><b ${name}="_1"/></a>`
    expect(refusal(twice)).toBe('duplicate-id')
    expect(refusal(twice.replace('ID="_1"', 'ID="_2"'))).toBe(undefined)
  })

  it('declares no other encoding than UTF-8', () => {
    expect(refusal('<?xml version="1.0" encoding="UTF-16"?><a/>')).toBe('encoding')
    expect(refusal('<?xml version="1.0" encoding="utf-8"?><a/>')).toBe(undefined)
  })

  it('says what was refused without a word of its content', () => {
    try {
      read('<a>secret<!-- -->value</a>')
      expect.unreachable()
    } catch (error) {
      expect(String(error)).toBe(
        'XmlRefused: the value of a has a comment or an element inside; send plain text',
      )
    }
  })

  it('gives the one child of a name, and refuses where there are two', () => {
    const element = readElement(
      '<a xmlns:s="urn:oasis:names:tc:SAML:2.0:assertion"><s:Issuer>x</s:Issuer><Issuer>y</Issuer></a>',
      { root },
    )
    expect(childOf(element, 'saml:Issuer')?.text).toBe('x')
    expect(childOf(element, 'saml:NameID')).toBe(undefined)
    const twice = readElement(
      '<a xmlns="" xmlns:s="urn:oasis:names:tc:SAML:2.0:assertion"><s:Issuer>x</s:Issuer><s:Issuer>y</s:Issuer></a>',
      { root },
    )
    expect(childrenOf(twice, 'saml:Issuer')).toHaveLength(2)
    expect(refusalOf(() => childOf(twice, 'saml:Issuer'))).toBe('repeated-element')
  })
})

describe('a message in base64', () => {
  it('is decoded, with or without line breaks', () => {
    const folded = base64('<a>é</a>'.repeat(20)).replace(/.{64}/g, '$&\r\n')
    expect(readBase64(folded, 1000)).toBe('<a>é</a>'.repeat(20))
  })

  it.each(['', 'x', 'PGEvP', 'PGEv%3D', 'PGEv-_==', 'PGEvPg', 'PGEvPh==', 'PGEvPg==PGEvPg=='])(
    'is refused where it is not base64: %s',
    (encoded) => expect(refusalOf(() => readBase64(encoded, 1000))).toBe('encoding'),
  )

  it('is refused where it is not UTF-8', () => {
    expect(refusalOf(() => readBase64(base64(Buffer.from([0x3c, 0xff, 0x3e])), 1000))).toBe(
      'encoding',
    )
  })

  it('is bounded before and after it is decoded', () => {
    expect(refusalOf(() => readBase64(base64('x'.repeat(1001)), 1000))).toBe('too-large')
    expect(readBase64(base64('x'.repeat(1000)), 1000)).toHaveLength(1000)
    // Not base64 at its end: it was refused before it was decoded.
    expect(refusalOf(() => readBase64(`${'A'.repeat(2000)}!`, 1000))).toBe('too-large')
  })
})

describe('a deflated message', () => {
  const read = (bytes: Buffer, limit = MESSAGE_LIMIT) => readDeflated(base64(bytes), limit)

  it('is inflated, and refused where it is not DEFLATE, cut off, or not UTF-8', () => {
    expect(read(deflateRawSync('<a>é</a>'))).toBe('<a>é</a>')
    expect(refusalOf(() => read(Buffer.from('<a/>')))).toBe('encoding')
    expect(refusalOf(() => read(deflateRawSync('<a/>').subarray(0, -1)))).toBe('encoding')
    expect(refusalOf(() => read(deflateRawSync(Buffer.from([0xff]))))).toBe('encoding')
  })

  it('is inflated up to the limit and not a byte further (CVE-2026-2575)', () => {
    expect(read(deflateRawSync('x'.repeat(MESSAGE_LIMIT)))).toHaveLength(MESSAGE_LIMIT)
    expect(refusalOf(() => read(deflateRawSync('x'.repeat(MESSAGE_LIMIT + 1))))).toBe('too-large')
  })

  it('that grows a thousandfold is left long before its end', () => {
    // 300 MB in 292 KB: refused by its length.
    const bomb = deflateRawSync(Buffer.alloc(300_000_000), { level: 9 })
    expect(refusalOf(() => read(bomb))).toBe('too-large')
    // 40 KB that stand for 40 MB, damaged after the first KB, which stands for a megabyte: what inflates on finds that.
    const damaged = Buffer.concat([bomb.subarray(0, 1000), Buffer.alloc(40_000, 0xff)])
    expect(refusalOf(() => read(damaged))).toBe('too-large')
    expect(refusalOf(() => read(damaged, 100_000_000))).toBe('encoding')
  })
})
