/** The redirect binding: its signature covers the query octet for octet (SAML bindings §3.4.4.1). */
import { sign } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readElement, readQuery, verifyQuery, writeQuery, xmlName } from '#server/xml/index.ts'
import { curved, sender, stranger } from './keys.ts'
import { authnRequest, refusalOf, rsa256 } from './messages.ts'

const keys = [sender.publicKey]
const deflated = (xml: string): string => deflateRawSync(xml).toString('base64')
const request = deflated(authnRequest('_1'))

/** Signed octets as some sender escapes them. */
const signedQuery = (octets: string, key = sender.privateKey, hash = 'sha256'): string =>
  `${octets}&Signature=${encodeURIComponent(sign(hash, Buffer.from(octets), key).toString('base64'))}`

const octets = (
  parts: { request?: string; relayState?: string; algorithm?: string } = {},
  escaped: (text: string) => string = encodeURIComponent,
): string =>
  [
    `SAMLRequest=${escaped(parts.request ?? request)}`,
    ...(parts.relayState === undefined ? [] : [`RelayState=${escaped(parts.relayState)}`]),
    `SigAlg=${escaped(parts.algorithm ?? rsa256)}`,
  ].join('&')

const verify = (query: string) => refusalOf(() => verifyQuery(readQuery(query), keys))

describe('a query that we write', () => {
  it('is read again, with the RelayState byte for byte', async () => {
    const relayState = 'a b+c&d=é%20/😀'
    const xml = authnRequest('_1')
    const query = await writeQuery({ parameter: 'SAMLRequest', xml, relayState }, sender.signing)
    const message = readQuery(query)
    expect(message).toMatchObject({ parameter: 'SAMLRequest', received: xml, relayState })
    expect(verifyQuery(message, [stranger.publicKey, sender.publicKey])).toBe(sender.publicKey)
    expect(readElement(message.received, { root: xmlName('samlp:AuthnRequest') }).name).toBe(
      'AuthnRequest',
    )
  })

  it('comes through a browser as it was signed, whatever the RelayState holds (URL Standard §1.3)', async () => {
    const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(0x20 + at)).join('')
    for (const relayState of ["https://sp.example/it's?a=(b)*!", `${printable}\t\r\n\u0000é😀`]) {
      const message = { parameter: 'SAMLResponse', xml: '<a/>', relayState } as const
      const query = await writeQuery(message, sender.signing)
      const { search } = new URL(`https://sp.example/slo?${query}`)
      expect(search.slice(1)).toBe(query)
      expect(verify(search.slice(1))).toBe(undefined)
      // As receivers write it again that have the parameters alone.
      expect(query).not.toMatch(/[!'()*]/)
    }
  })

  it('has the parameters in the order that is signed, and no signature without a key', async () => {
    const names = (query: string) => [...new URLSearchParams(query).keys()]
    const message = { parameter: 'SAMLResponse', xml: '<a/>', relayState: 'x' } as const
    expect(names(await writeQuery(message, sender.signing))).toEqual([
      'SAMLResponse',
      'RelayState',
      'SigAlg',
      'Signature',
    ])
    const plain = await writeQuery({ parameter: 'SAMLResponse', xml: '<a/>' })
    expect(names(plain)).toEqual(['SAMLResponse'])
    expect(verify(plain)).toBe('unsigned')
  })
})

describe('a signed query', () => {
  it.each([
    ['upper-case escapes', encodeURIComponent],
    [
      'lower-case escapes',
      (text: string) => encodeURIComponent(text).replace(/%../g, (one) => one.toLowerCase()),
    ],
    ['a plus sign for a space', (text: string) => encodeURIComponent(text).replaceAll('%20', '+')],
    [
      'escapes of every character',
      (text: string) =>
        Buffer.from(text)
          .toString('hex')
          .replace(/../g, (one) => `%${one}`),
    ],
  ])('verifies as it was sent: %s', (_name, escaped) => {
    const query = signedQuery(octets({ relayState: 'a b' }, escaped))
    expect(verify(query)).toBe(undefined)
    expect(readQuery(query).relayState).toBe('a b')
  })

  it('verifies with an empty RelayState, and with parameters of others between', () => {
    expect(verify(signedQuery(octets({ relayState: '' })))).toBe(undefined)
    const [first = '', ...rest] = signedQuery(octets()).split('&')
    expect(verify(['utm_source=x', first, 'y', ...rest].join('&'))).toBe(undefined)
  })

  it.each([
    [
      'another message',
      (query: string) =>
        query.replace(
          /SAMLRequest=[^&]*/,
          `SAMLRequest=${encodeURIComponent(deflated(authnRequest('_1', 'https://evil.example')))}`,
        ),
    ],
    ['another RelayState', (query: string) => query.replace('RelayState=x', 'RelayState=y')],
    ['no RelayState', (query: string) => query.replace('&RelayState=x', '')],
    [
      'the message as a response',
      (query: string) => query.replace('SAMLRequest=', 'SAMLResponse='),
    ],
    [
      'another escape of the same value',
      (query: string) => query.replace('RelayState=x', 'RelayState=%78'),
    ],
  ])('is refused with %s', (_name, change) => {
    const query = signedQuery(octets({ relayState: 'x' }))
    expect(verify(query)).toBe(undefined)
    expect(change(query)).not.toBe(query)
    expect(verify(change(query))).toBe('signature')
  })

  it('is refused when it was signed in another order of its parameters', () => {
    const [message = '', relayState = '', algorithm = ''] = octets({ relayState: 'x' }).split('&')
    expect(verify(signedQuery([relayState, message, algorithm].join('&')))).toBe('signature')
    expect(verify(signedQuery([algorithm, message, relayState].join('&')))).toBe('signature')
  })

  it('is refused when somebody else signed it, or with SHA-1, or an algorithm that is not listed', () => {
    expect(verify(signedQuery(octets(), stranger.privateKey))).toBe('signature')
    const sha1 = octets({ algorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' })
    expect(verify(signedQuery(sha1, undefined, 'sha1'))).toBe('algorithm')
    expect(verify(signedQuery(octets({ algorithm: 'toString' })))).toBe('algorithm')
    expect(verify(signedQuery(octets({ algorithm: '' })))).toBe('algorithm')
  })

  it('may be signed with rsa-sha512, or by a key on a curve', () => {
    const more = 'http://www.w3.org/2001/04/xmldsig-more#'
    const strong = octets({ algorithm: `${more}rsa-sha512` })
    expect(verify(signedQuery(strong, undefined, 'sha512'))).toBe(undefined)
    const onCurve = octets({ algorithm: `${more}ecdsa-sha256` })
    // Side by side as XML Signature has them, or in ASN.1 as OpenSAML writes them.
    for (const dsaEncoding of ['ieee-p1363', 'der'] as const) {
      const { privateKey: key, publicKey } = curved
      const value = sign('sha256', Buffer.from(onCurve), { key, dsaEncoding })
      const query = `${onCurve}&Signature=${encodeURIComponent(value.toString('base64'))}`
      expect(verifyQuery(readQuery(query), [publicKey])).toBe(publicKey)
      const changed = query.replace('SigAlg=', 'RelayState=x&SigAlg=')
      expect(refusalOf(() => verifyQuery(readQuery(changed), [publicKey]))).toBe('signature')
    }
  })
})

describe('the parameters of a query', () => {
  const plain = `SAMLRequest=${encodeURIComponent(request)}`
  const refusal = (query: string) => refusalOf(() => readQuery(query))

  it.each(['SAMLRequest', 'RelayState', 'SigAlg', 'Signature', 'SAMLEncoding'])(
    'are there once: %s twice is refused, also under an escaped name (CVE-2026-18217)',
    (name) => {
      const others = name === 'SAMLRequest' ? '' : `${plain}&`
      const value = name === 'SAMLRequest' ? encodeURIComponent(request) : 'x'
      expect(refusal(`${others}${name}=${value}&${name}=${value}`)).toBe('query')
      expect(refusal(`${others}${name}=${value}&${name}`)).toBe('query')
      const escaped = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`
      expect(refusal(`${others}${escaped}=${value}`)).toBe('query')
    },
  )

  it('are one message: neither none nor both', () => {
    expect(refusal('')).toBe('query')
    expect(refusal('RelayState=x')).toBe('query')
    expect(refusal(`${plain}&SAMLResponse=${encodeURIComponent(request)}`)).toBe('query')
    expect(refusal(plain)).toBe(undefined)
  })

  it('have SigAlg and Signature together', () => {
    expect(refusal(`${plain}&SigAlg=${encodeURIComponent(rsa256)}`)).toBe('query')
    expect(refusal(`${plain}&Signature=AAAA`)).toBe('query')
    expect(refusal(`${plain}&SigAlg=x&Signature=!`)).toBe('encoding')
  })

  it('are percent-encoded UTF-8', () => {
    expect(refusal(`${plain}&RelayState=%ff`)).toBe('query')
    expect(refusal(`${plain}&%zz=1`)).toBe('query')
  })

  it('are deflated', () => {
    const encoding = 'urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE'
    expect(refusal(`${plain}&SAMLEncoding=${encodeURIComponent(encoding)}`)).toBe(undefined)
    expect(refusal(`${plain}&SAMLEncoding=none`)).toBe('query')
    const bomb = deflateRawSync(Buffer.alloc(10_000_000)).toString('base64')
    expect(refusal(`SAMLRequest=${encodeURIComponent(bomb)}`)).toBe('too-large')
  })
})
