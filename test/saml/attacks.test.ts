/** Messages of attackers at the endpoints of the identity provider: refused on a page of ours, and nothing is done for them. */

import { deflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { addPerson, change, newPerson, type Person } from '../oidc/relying-party.ts'
import { anyBackend } from '../support/backends.ts'
import { sender } from '../xml/keys.ts'
import { signed } from '../xml/messages.ts'
import { capture, variants } from '../xml/wraps.ts'
import {
  addProvider,
  askUrl,
  authnRequest,
  newRequestId,
  providerPath,
  redirectUrl,
  sentOf,
  signedForm,
  statusOf,
} from './fixture.ts'
import {
  isSignedIn,
  type Known,
  logoutRequest,
  sloUrl,
  subjectOf,
  visitProvider,
} from './logout/logout-fixture.ts'

const secondAcs = 'https://sp.example/second'
const bare = 'https://bare.example'

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const wrapped = Object.keys(variants).flatMap((variant) => [
  { variant, under: 'another ID', isSame: false },
  { variant, under: 'the same ID', isSame: true },
])

interface Refused {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** A page of ours, with the id of the request, that leads nowhere else. */
const expectOwnPage = ({ status, headers, body }: Refused, expected = 400): void => {
  expect([status, headers.get('location')]).toEqual([expected, null])
  expect(headers.get('content-type')).toContain('text/html')
  expect(body).toMatch(/<code>[0-9a-f-]{36}<\/code>/)
  expect(body).not.toMatch(/"SAMLResponse"|SAMLart|<form|http-equiv|<iframe|(?:sp|evil)\.example/)
}

describe.each(anyBackend)('attacks on the identity provider on $name', (backend) => {
  let site: OidcSite
  let alice: Person
  let known: Known
  beforeAll(async () => {
    site = await openIssuer(backend)
    await addProvider(site, {
      signingCertificate: sender.certificate,
      singleLogoutServiceUrl: sloUrl,
      options: { additionalAcsUrls: [secondAcs] },
    })
    await addProvider(site, { entityId: bare, assertionConsumerServiceUrl: `${bare}/acs` })
    await addPerson(site, 'alice')
    alice = newPerson(site)
    known = await visitProvider(site, alice)
  }, 60_000)
  afterAll(() => site.close())

  const post = (xml: string, path = '/saml/idp/sso') =>
    site.post(path, { SAMLRequest: base64(xml) })

  describe('by wrapping a captured AuthnRequest', () => {
    const options = { additionalAcsUrls: [secondAcs] }
    beforeAll(() =>
      change(site, providerPath(), { options: { ...options, wantAuthnRequestsSigned: true } }),
    )
    afterAll(() => change(site, providerPath(), { options }))

    // The address of the forgery is registered, so that the signature alone stands in its way.
    it.each(wrapped)('$variant, under $under: shows a page', async ({ variant, isSame }) => {
      const id = newRequestId()
      const original = signed(authnRequest(site, { id }), id)
      const forged = authnRequest(site, {
        ...(isSame ? { id } : {}),
        attributes: { AssertionConsumerServiceURL: secondAcs },
      })
      expectOwnPage(await post(variants[variant]?.(capture(original), forged) ?? ''))
      expect((await post(original)).status).toBe(303)
    })
  })

  describe('by wrapping a captured LogoutRequest', () => {
    it.each(wrapped)('$variant, under $under: ends nothing', async ({ variant, isSame }) => {
      const id = newRequestId()
      const original = signed(logoutRequest(site, { ...known, nameId: 'x' }, { id }), id)
      const forged = logoutRequest(site, known, isSame ? { id } : {})
      const xml = variants[variant]?.(capture(original), forged) ?? ''
      expectOwnPage(await post(xml, '/saml/idp/slo'))
      expect(await isSignedIn(site, alice)).toBe(true)
    })
  })

  describe('by a bomb', () => {
    const inside = (text: string) =>
      authnRequest(site, { issuer: bare, inside: `<samlp:Extensions>${text}</samlp:Extensions>` })
    const nested = (depth: number) => '<a>'.repeat(depth) + '</a>'.repeat(depth)
    const attributes = (count: number) =>
      `<a ${Array.from({ length: count }, (_, at) => `a${at}=""`).join(' ')}/>`

    it.each<[string, () => string, boolean]>([
      ['46 elements in each other', () => nested(46), true],
      ['51 elements in each other', () => nested(51), false],
      ['9,000 elements in each other', () => nested(9000), false],
      ['20,000 elements in each other', () => nested(20_000), false],
      ['500 attributes', () => attributes(500), true],
      ['501 attributes', () => attributes(501), false],
      ['20,000 attributes', () => attributes(20_000), false],
      ['64 KiB of text', () => 'x'.repeat(64 * 1024), false],
      ['an entity', () => '&x;', false],
    ])('of %s: shows a page, by redirect and by form', async (_what, text, isHarmless) => {
      const url = redirectUrl(site, inside(text()))
      const form = await post(inside(text()))
      // What does not fit into an address comes as a form alone.
      const page = url.length < 8000 ? await alice.open(url) : undefined
      if (isHarmless)
        expect([page && statusOf(sentOf(page)), form.status]).toEqual(['Success', 303])
      else
        for (const one of page ? [page, form] : [form])
          expectOwnPage(one, one.status === 413 ? 413 : 400)
    })

    it('of DEFLATE that grows a thousandfold: shows a page (CVE-2026-2575)', async () => {
      // As much as an address may have, and right but for its size.
      const url = redirectUrl(site, inside(' '.repeat(5_000_000)))
      expectOwnPage(await alice.open(url))
      expectOwnPage(await alice.open(url.replace('/sso?', '/slo?')))
    })

    it('of 389 kB that become 300 MB: is not even read', async () => {
      const large = deflateRawSync(Buffer.alloc(300_000_000, 0x20)).toString('base64')
      expect(large.length).toBeGreaterThan(380_000)
      for (const path of ['/saml/idp/sso', '/saml/idp/slo']) {
        expectOwnPage(await site.post(path, { SAMLRequest: large }), 413)
        const query = new URLSearchParams({ SAMLRequest: large })
        const { status, headers } = await fetch(`${site.issuer}${path}?${query}`)
        expect([[414, 431].includes(status), headers.get('location')]).toEqual([true, null])
      }
    })

    it('of a DOCTYPE with entities, or from outside: shows a page', async () => {
      const xml = inside('')
      for (const type of [
        '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>',
        '<!DOCTYPE x SYSTEM "https://evil.example/x.dtd">',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
      ]) {
        expectOwnPage(await alice.open(redirectUrl(site, type + xml)))
        expectOwnPage(await post(type + xml))
      }
    })
  })

  describe('by a message that is not what it should be', () => {
    const signedXml = (id = newRequestId()) => signed(authnRequest(site, { id }), id)

    it('refuses an Issuer that is no entityID', async () => {
      const format = 'urn:oasis:names:tc:SAML:2.0:nameid-format'
      const xml = (name: string) =>
        authnRequest(site).replace('<saml:Issuer>', `<saml:Issuer Format="${format}:${name}">`)
      expectOwnPage(await alice.open(redirectUrl(site, xml('persistent'))))
      expect(statusOf(sentOf(await alice.open(redirectUrl(site, xml('entity')))))).toBe('Success')
    })

    it('refuses an Issuer with a comment in it, or with markup, and shows nothing of it', async () => {
      for (const issuer of [
        'https://sp.example/<!---->metadata',
        'https://sp.example/metadata<x/>',
        '&lt;script src="https://evil.example"&gt;',
      ])
        expectOwnPage(await alice.open(askUrl(site, { issuer })))
    })

    it('refuses another message, and the right one in the parameter of responses (redirect)', async () => {
      const logout = authnRequest(site).replaceAll('AuthnRequest', 'LogoutRequest')
      expectOwnPage(await alice.open(redirectUrl(site, logout)))
      expectOwnPage(await alice.open(askUrl(site, {}, { parameter: 'SAMLResponse' })))
    })

    it('refuses a signature inside the message of a redirect (SAML Bindings §3.4.4.1)', async () => {
      expectOwnPage(await alice.open(redirectUrl(site, signedXml())))
    })

    it('refuses a second SignedInfo, Reference or Signature, a divided DigestValue, and a second root (CVE-2025-29774, CVE-2025-29775)', async () => {
      const twice = (xml: string, name: string) =>
        xml.replace(new RegExp(`<ds:${name}[ >].*</ds:${name}>`, 's'), '$&$&')
      for (const spoil of [
        (xml: string) => twice(xml, 'SignedInfo'),
        (xml: string) => twice(xml, 'Reference'),
        (xml: string) => twice(xml, 'DigestValue'),
        (xml: string) => twice(xml, 'Signature'),
        (xml: string) => xml.replace('<ds:DigestValue>', '<ds:DigestValue><!--AAAA-->'),
        (xml: string) => xml + authnRequest(site),
        (xml: string) => authnRequest(site) + xml,
      ])
        expectOwnPage(await post(spoil(signedXml())))
      expect((await post(signedXml())).status).toBe(303)
    })

    it('refuses an algorithm that there is not, and messages of SAML 1.1', async () => {
      const key = sender.privateKey
      for (const algorithm of [
        '',
        'urn:example:none',
        'http://www.w3.org/2000/09/xmldsig#hmac-sha1',
      ])
        expectOwnPage(await alice.open(askUrl(site, {}, { key, algorithm })))
      const algorithm = /(?<=<ds:SignatureMethod Algorithm=")[^"]*/
      expectOwnPage(await post(signedXml().replace(algorithm, 'urn:example:none')))
      const old =
        '<p:Request xmlns:p="urn:oasis:names:tc:SAML:1.0:protocol" MajorVersion="1" MinorVersion="1"/>'
      expectOwnPage(await alice.open(redirectUrl(site, old)))
      expectOwnPage(await post(old))
    })

    it('refuses an algorithm with characters that no database takes, and records as much of it as is fit to read', async () => {
      const key = sender.privateKey
      for (const algorithm of ['a\u0000b', 'x'.repeat(5000)])
        expectOwnPage(await alice.open(askUrl(site, {}, { key, algorithm })))
      const { items } = (await site.admin('GET', '/events?type=SAML_SSO&outcome=FAILURE')).body
      const details = (items as { detail: string }[]).map(({ detail }) => detail)
      expect(details.some((one) => one.includes('a\u{fffd}b'))).toBe(true)
      expect(details.every((one) => one.length <= 500)).toBe(true)
    })

    it('counts floods of refused requests, which anybody can send in the name of a service provider', async () => {
      const forged = askUrl(site, { attributes: { Destination: 'https://x.example' } })
      const total = async (): Promise<number> =>
        (await site.admin('GET', '/events?type=SAML_SSO&outcome=FAILURE&size=1')).body.total
      const refuse = (times: number) =>
        Promise.all(Array.from({ length: times }, () => site.get(forged.slice(site.issuer.length))))
      for (let sent = 0; sent < 120; sent += 20) await refuse(20)
      const [before, began] = [await total(), Date.now()]
      expect(before).toBeGreaterThan(50)
      await refuse(20)
      // One each second, the first of the cause, and the number of a minute that ends.
      expect((await total()) - before).toBeLessThan(4 + (Date.now() - began) / 1000)
    })

    it('refuses a signed form where no certificate can verify it', async () => {
      const ask = (id = newRequestId()) => authnRequest(site, { id, issuer: bare })
      expect((await post(ask())).status).toBe(303)
      const id = newRequestId()
      expectOwnPage(await post(signed(ask(id), id)))
    })

    it('refuses a signed form by an algorithm that the service provider does not list', async () => {
      const requestSignatureAlgorithms = ['http://www.w3.org/2001/04/xmldsig-more#rsa-sha512']
      await change(site, providerPath(), { options: { requestSignatureAlgorithms } })
      const page = await site.post('/saml/idp/sso', signedForm(site))
      await change(site, providerPath(), { options: {} })
      expectOwnPage(page)
    })

    it('refuses an ID that is no xs:ID, or a long one', async () => {
      for (const id of ['1a', 'a b', 'a"b'.replace('"', '&quot;'), `_${'a'.repeat(256)}`])
        expectOwnPage(await alice.open(redirectUrl(site, authnRequest(site, { id }))))
    })

    it('refuses an ID that two elements have, whatever they are', async () => {
      const ask = (other: string) => {
        const id = newRequestId()
        const inside = `<samlp:Extensions><x ID="${other || id}"/></samlp:Extensions>`
        return alice.open(redirectUrl(site, authnRequest(site, { id, inside })))
      }
      expect(statusOf(sentOf(await ask('_other')))).toBe('Success')
      expectOwnPage(await ask(''))
    })

    it('refuses parameters that stand twice, also where both are good (CVE-2026-18217)', async () => {
      const SAMLRequest = base64(authnRequest(site))
      const form = (more: string) =>
        site.post('/saml/idp/sso', `${new URLSearchParams({ SAMLRequest })}${more}`)
      expect((await form('&RelayState=a')).status).toBe(303)
      expectOwnPage(await form('&RelayState=a&RelayState=b'))
      expectOwnPage(
        await form(`&${new URLSearchParams({ SAMLRequest: base64(authnRequest(site)) })}`),
      )
      const twice = (query: string) => `${query}&RelayState=b`
      expectOwnPage(await alice.open(askUrl(site, {}, { relayState: 'a', spoil: twice })))
      const both = (query: string) => `${query}&${query}`
      expectOwnPage(await alice.open(askUrl(site, {}, { spoil: both })))
    })

    it('refuses an index of an assertion consumer service beside a binding', async () => {
      const acs = [{ index: 7, url: 'https://sp.example/seven', binding: 'HTTP-POST' }]
      await change(site, providerPath(), { acs })
      const attributes = { AssertionConsumerServiceIndex: '7' }
      const page = await alice.open(askUrl(site, { attributes }))
      expect(sentOf(page).url).toBe('https://sp.example/seven')
      const ProtocolBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST'
      expectOwnPage(
        await alice.open(askUrl(site, { attributes: { ...attributes, ProtocolBinding } })),
      )
    })

    it('refuses a form with a request and a response', async () => {
      const id = newRequestId()
      const SAMLRequest = base64(signed(logoutRequest(site, known, { id }), id))
      const SAMLResponse = base64('<x/>')
      const page = await site.post('/saml/idp/slo', { SAMLRequest, SAMLResponse })
      expectOwnPage(page)
      expect(page.body).toContain('either SAMLRequest or SAMLResponse')
      expectOwnPage(await site.post('/saml/idp/slo', { SAMLRequest: SAMLResponse }))
      expect(await isSignedIn(site, alice)).toBe(true)
    })

    it('refuses a comment in the NameID of a LogoutRequest (CVE-2017-11428)', async () => {
      const id = newRequestId()
      const inside = subjectOf(known).replace('</saml:NameID>', '<!---->.evil</saml:NameID>')
      expectOwnPage(
        await post(signed(logoutRequest(site, known, { id, inside }), id), '/saml/idp/slo'),
      )
      expect(await isSignedIn(site, alice)).toBe(true)
    })

    it('writes a RelayState as text, and follows none', async () => {
      for (const relayState of [
        '"><script>alert(1)</script>',
        'javascript:alert(1)',
        'https://evil.example/',
        '\u0000\r\nLocation: https://evil.example',
      ]) {
        const page = await alice.open(askUrl(site, {}, { relayState }))
        const sent = sentOf(page)
        expect([page.status, sent.url]).toEqual([200, 'https://sp.example/acs'])
        expect(page.body).not.toContain('<script>alert')
        expect(page.headers.get('location')).toBe(null)
      }
    })
  })
})
