/** Logout with a SAML provider: our request, its request and what answers it, and its answer to ours (SAML Profiles §4.4). */

import { sign } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { arrivalOf } from '#server/broker/arrival.ts'
import { type Provider, UpstreamRefused } from '#server/broker/protocol.ts'
import { readSoapLogoutResponse } from '#server/broker/protocols/saml/logout.ts'
import { createSamlProtocol } from '#server/broker/protocols/saml/saml.ts'
import { plainSaml } from '#server/broker/protocols/saml/scheme.ts'
import { childOf, readElement, readQuery, verifyQuery, xmlName } from '#server/xml/index.ts'
import { receiver, sender, stranger } from '../../xml/keys.ts'
import { rsa256, signed } from '../../xml/messages.ts'
import { at, idp, nameId, now, sp } from './answers.ts'

const logoutUrl = 'https://sp.example/logout'
const never = () => {
  throw new Error('not asked for here')
}

const { logout, endSession, loggedOut, logoutAnswer } = createSamlProtocol(
  {
    storage: { db: undefined as never, commit: never },
    clock: { now: () => now },
    outgoing: { request: never, resolve: never },
    signersOf: async () => [receiver.signing],
    metadata: {
      of: async () => undefined,
      // The provider has no address of metadata.
      afresh: async () => undefined,
      refresh: never,
      status: async () => undefined,
    },
  },
  plainSaml,
)

const provider = (changes: Partial<Provider['config']> = {}): Provider => {
  const config = {
    spEntityId: sp,
    idpEntityId: idp,
    ssoUrl: 'https://idp.example/sso',
    singleLogoutServiceUrl: 'https://idp.example/slo',
    idpSigningCertificate: sender.x509.toString(),
    ...changes,
  }
  return {
    realm: 'acme',
    id: 'p',
    alias: 'corp',
    protocol: 'saml',
    doc: undefined as never,
    config,
  }
}

const spaces =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'

const message = (
  name: 'LogoutRequest' | 'LogoutResponse',
  attributes: Readonly<Record<string, string | undefined>>,
  inside: string,
  issuer = idp,
): string => {
  const all = {
    ID: '_l',
    Version: '2.0',
    IssueInstant: at(0),
    Destination: logoutUrl,
    ...attributes,
  }
  const text = Object.entries(all).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}="${value}"`],
  )
  return `<samlp:${name} ${spaces} ${text.join(' ')}><saml:Issuer>${issuer}</saml:Issuer>${inside}</samlp:${name}>`
}

const person = nameId('alice-1')
const session = '<samlp:SessionIndex>_s</samlp:SessionIndex>'
const request = (
  attributes: Readonly<Record<string, string | undefined>> = {},
  inside = person + session,
  issuer = idp,
) => message('LogoutRequest', attributes, inside, issuer)

const redirected = (xml: string, parameter = 'SAMLRequest', key = sender.privateKey) => {
  const encode = encodeURIComponent
  const octets = `${parameter}=${encode(deflateRawSync(xml).toString('base64'))}&RelayState=r&SigAlg=${encode(rsa256)}`
  const signature = sign('sha256', Buffer.from(octets), key).toString('base64')
  return arrivalOf({
    method: 'GET',
    rawQuery: `${octets}&Signature=${encode(signature)}`,
    rawBody: '',
  })
}
const posted = (xml: string) =>
  arrivalOf({
    method: 'POST',
    rawQuery: '',
    rawBody: new URLSearchParams({ SAMLRequest: Buffer.from(xml).toString('base64') }).toString(),
  })

const refused = async (work: Promise<unknown> | undefined): Promise<string | undefined> => {
  try {
    await work
    return undefined
  } catch (error) {
    if (error instanceof UpstreamRefused) return error.message
    throw error
  }
}

describe('our logout', () => {
  const kept = {
    id: '_s',
    nameId: JSON.stringify({ value: 'alice-1', format: 'urn:f', spNameQualifier: sp }),
  }

  it('goes to the provider, signed, with the NameID and the session that it gave', async () => {
    const way = await logout?.(provider(), kept, { url: logoutUrl, state: 'st' })
    if (way?.kind !== 'browser' || way.departure.kind !== 'redirect') return expect.unreachable()
    const { departure } = way
    expect(departure.url.startsWith('https://idp.example/slo?SAMLRequest=')).toBe(true)
    const query = readQuery(departure.url.slice(departure.url.indexOf('?') + 1))
    expect(verifyQuery(query, [receiver.publicKey])).toBe(receiver.publicKey)
    expect(query.relayState).toBe('st')
    const sent = readElement(query.received, { root: xmlName('samlp:LogoutRequest') })
    expect(way.kept).toEqual({ id: sent.attributes['ID'] })
    expect(sent.attributes).toMatchObject({
      Destination: 'https://idp.example/slo',
      NotOnOrAfter: at(300),
    })
    expect(childOf(sent, 'saml:NameID')).toMatchObject({
      text: 'alice-1',
      attributes: { Format: 'urn:f', SPNameQualifier: sp },
    })
    expect(childOf(sent, 'samlp:SessionIndex')?.text).toBe('_s')
  })

  it('stays here where the provider offers none, or gave no NameID', async () => {
    const { singleLogoutServiceUrl: _, ...config } = provider().config
    const bare = { ...provider(), config }
    expect(await logout?.(bare, kept, { url: logoutUrl, state: 'st' })).toBe(undefined)
    expect(await logout?.(provider(), { id: '_s' }, { url: logoutUrl, state: 'st' })).toBe(
      undefined,
    )
  })

  const statusOf = (top: string, second = ''): string => {
    const code = (name: string, inside: string) =>
      `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${name}">${inside}</samlp:StatusCode>`
    return `<samlp:Status>${code(top, second === '' ? '' : code(second, ''))}</samlp:Status>`
  }
  const answer = (
    attributes: Readonly<Record<string, string | undefined>> = {},
    status = statusOf('Success'),
    issuer = idp,
  ) => message('LogoutResponse', { InResponseTo: '_x', ...attributes }, status, issuer)
  const over = (xml: string, key = sender.privateKey) =>
    loggedOut?.(provider(), { id: '_x' }, redirected(xml, 'SAMLResponse', key), logoutUrl)

  it('is told from a logout of the provider by its parameter', () => {
    expect(logoutAnswer(redirected(answer(), 'SAMLResponse'))).toEqual({ state: 'r' })
    expect(logoutAnswer(redirected(request()))).toBe(undefined)
  })

  it.each([
    ['Success', '', undefined],
    ['Success', 'PartialLogout', undefined],
    ['Responder', 'UnknownPrincipal', undefined],
    ['Responder', 'RequestDenied', 'the provider answers Responder RequestDenied'],
    ['Requester', '', 'the provider answers Requester'],
  ])('is over by what the provider says: %s %s', async (top, second, problem) => {
    expect(await over(answer({}, statusOf(top, second)))).toBe(problem)
  })

  it.each([
    ['the signature of a stranger', answer(), stranger.privateKey, /^signature/],
    ['another request', answer({ InResponseTo: '_y' }), undefined, /to another request/],
    ['no request', answer({ InResponseTo: undefined }), undefined, /to another request/],
    [
      'another Issuer',
      answer({}, statusOf('Success'), 'https://evil.example'),
      undefined,
      /Issuer/,
    ],
    ['another Destination', answer({ Destination: 'https://x.example' }), undefined, /Destination/],
    ['an old time', answer({ IssueInstant: at(-361) }), undefined, /too old/],
  ])('with an answer with %s is refused', async (_what, xml, key, reason) => {
    expect(await refused(over(xml, key))).toMatch(reason)
  })
})

describe('an answer to our logout over SOAP', () => {
  const rules = {
    idpEntityId: idp,
    keys: [sender.publicKey],
    now,
    skewMs: 60_000,
    decryption: { keys: [] },
    logoutUrl,
    subjectIsNameId: true,
  }
  const status =
    '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>'
  const answer = (attributes: Readonly<Record<string, string>> = {}, issuer = idp) =>
    message(
      'LogoutResponse',
      { InResponseTo: '_x', Destination: undefined, ...attributes },
      status,
      issuer,
    )
  const read = (xml: string, url = 'https://idp.example/soap') =>
    readSoapLogoutResponse(
      `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${xml}</soap:Body></soap:Envelope>`,
      { id: '_x', url },
      rules,
    )

  it('counts signed, and over TLS also without a signature', () => {
    expect([read(answer()), read(signed(answer(), '_l'))]).toEqual([undefined, undefined])
    expect(read(signed(answer(), '_l'), 'http://idp.example/soap')).toBe(undefined)
  })

  it.each([
    ['no signature over http', answer(), 'http://idp.example/soap', /not signed/],
    [
      'the signature of a stranger',
      signed(answer(), '_l', { key: stranger.privateKey }),
      undefined,
      /^signature/,
    ],
    ['another request', answer({ InResponseTo: '_y' }), undefined, /to another request/],
    ['another Issuer', answer({}, 'https://evil.example'), undefined, /Issuer/],
    ['an old time', answer({ IssueInstant: at(-361) }), undefined, /too old/],
  ])('with %s is refused', async (_what, xml, url, reason) => {
    expect(await refused(Promise.resolve().then(() => read(xml, url)))).toMatch(reason)
  })
})

describe('the logout of a provider', () => {
  it.each([
    ['by redirect', redirected(request())],
    ['by POST', posted(signed(request(), '_l'))],
  ])('%s ends its session here, and is answered', async (_how, arrival) => {
    const ended = await endSession?.(provider(), arrival, logoutUrl)
    expect(ended).toMatchObject({
      issuer: idp,
      subject: 'alice-1',
      sessions: ['_s'],
      replay: { id: '_l' },
    })
    const departure = await ended?.answer?.(true)
    if (departure?.kind !== 'redirect') return expect.unreachable()
    const query = readQuery(departure.url.slice(departure.url.indexOf('?') + 1))
    expect(verifyQuery(query, [receiver.publicKey])).toBe(receiver.publicKey)
    const sent = readElement(query.received, { root: xmlName('samlp:LogoutResponse') })
    expect(sent.attributes['InResponseTo']).toBe('_l')
  })

  it('without a session ends all of the person, by the subject or by the NameID where an attribute is the subject', async () => {
    const all = redirected(request({}, person))
    const bySubject = await endSession?.(provider(), all, logoutUrl)
    expect([bySubject?.sessions, bySubject?.subject, bySubject?.nameKey]).toEqual([
      undefined,
      'alice-1',
      undefined,
    ])
    const config = { subjectAttribute: 'uid' }
    const byName = await endSession?.(provider(config), all, logoutUrl)
    expect([byName?.subject, byName?.nameKey]).toEqual([
      undefined,
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ])
    const one = await endSession?.(provider(config), redirected(request()), logoutUrl)
    expect([one?.subject, one?.sessions]).toEqual([undefined, ['_s']])
  })

  it.each([
    [
      'no signature in the query',
      arrivalOf({
        method: 'GET',
        rawQuery: redirected(request()).rawQuery.replace(/&SigAlg.*/, ''),
        rawBody: '',
      }),
      /^unsigned/,
    ],
    ['no signature in the form (GHSA-vx8m-6fhw-pccw)', posted(request()), /^unsigned/],
    [
      'the signature of a stranger',
      redirected(request(), 'SAMLRequest', stranger.privateKey),
      /^signature/,
    ],
    ['another Issuer', redirected(request({}, person + session, 'https://evil.example')), /Issuer/],
    [
      'another Destination',
      redirected(request({ Destination: 'https://other.example' })),
      /Destination/,
    ],
    ['no Destination', redirected(request({ Destination: undefined })), /Destination/],
    ['an old time', redirected(request({ IssueInstant: at(-361) })), /too old/],
    ['an end that has passed', redirected(request({ NotOnOrAfter: at(-60) })), /expired/],
    ['no NameID', redirected(request({}, session)), /no NameID/],
    [
      'another message',
      redirected(request().replaceAll('LogoutRequest', 'AuthnRequest')),
      /unexpected-root/,
    ],
    ['a response', redirected(request(), 'SAMLResponse'), /no SAMLRequest/],
    [
      'a form without one',
      arrivalOf({ method: 'POST', rawQuery: '', rawBody: 'RelayState=r' }),
      /the form has no SAMLRequest/,
    ],
  ])('with %s is refused', async (_what, arrival, reason) => {
    expect(await refused(endSession?.(provider(), arrival, logoutUrl))).toMatch(reason)
  })
})
