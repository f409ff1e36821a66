/** The reader of answers: every rule that an answer must fulfil, each broken alone. */
import { describe, expect, it } from 'vitest'
import { readResponse } from '#server/broker/protocols/saml/response/read-response.ts'
import { sender, stranger } from '../../xml/keys.ts'
import { c14n, rsa256 } from '../../xml/messages.ts'
import {
  acs,
  answer,
  assertion,
  at,
  attribute,
  audience,
  confirmation,
  idp,
  nameId,
  now,
  refusal,
  response,
  rules,
  signedAssertion,
  signedResponse,
  sp,
  success,
} from './answers.ts'

const header = (attributes: Record<string, string | undefined>): string =>
  Object.entries({
    Version: '2.0',
    IssueInstant: at(0),
    Destination: acs,
    InResponseTo: '_q',
    ...attributes,
  })
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${value}"`]))
    .join(' ')

const confirmed = (attributes: Record<string, string | undefined>): string =>
  confirmation(
    Object.entries({
      InResponseTo: '_q',
      NotOnOrAfter: at(300),
      Recipient: acs,
      ...attributes,
    })
      .flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${value}"`]))
      .join(' '),
  )

const conditions = (attributes: string, inside = audience(sp)): string =>
  `<saml:Conditions ${attributes}>${inside}</saml:Conditions>`

const authn = (attributes: string, reference = 'urn:example:pwd'): string =>
  `<saml:AuthnStatement ${attributes}><saml:AuthnContext><saml:AuthnContextClassRef>${reference}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`

describe('an honest answer', () => {
  it('says who signed in, how, and in which session', () => {
    const read = readResponse(answer(), rules())
    expect(read.nameId).toMatchObject({ value: 'alice-1' })
    expect(read.attributes.get('email')).toEqual(['alice@example.org'])
    expect(read.authentication).toEqual({
      at: now - 1000,
      sessionIndex: '_s',
      contextClass: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
      until: now + 3_660_000,
    })
    expect(read.id).toBe('_a')
    expect(read.until).toBe(now + 360_000)
  })

  it.each([
    [
      'with an indented Issuer',
      () => {
        const issuer = `<saml:Issuer>\n  ${idp}\n</saml:Issuer>`
        return answer({ issuer }, { issuer })
      },
      {},
    ],
    ['with a signed Response and a signed Assertion', () => signedResponse(signedAssertion()), {}],
    [
      'with both signed, where both are wanted',
      () => signedResponse(signedAssertion()),
      { wantResponseSigned: true },
    ],
    [
      'with a signed Response alone, where that is enough',
      () => signedResponse(assertion()),
      { wantAssertionsSigned: false },
    ],
    ['without an Issuer of the unsigned Response', () => answer({}, { issuer: '' }), {}],
    [
      'without a Destination of the unsigned Response',
      () => answer({}, { attributes: header({ Destination: undefined }) }),
      {},
    ],
    [
      'with several audiences',
      () => answer({ conditions: conditions('', audience('https://other', sp)) }),
      {},
    ],
    [
      'with OneTimeUse',
      () => answer({ conditions: conditions('', `${audience(sp)}<saml:OneTimeUse/>`) }),
      {},
    ],
    [
      'with times within the skew',
      () => answer({ conditions: conditions(`NotBefore="${at(59)}" NotOnOrAfter="${at(-59)}"`) }),
      {},
    ],
    [
      'with another confirmation beside the bearer',
      () =>
        answer({
          nameId: `${nameId('alice-1')}<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"/>`,
        }),
      {},
    ],
    [
      'with a signed assertion of another party in Advice',
      () =>
        answer({
          advice: `<saml:Advice>${signedAssertion({ id: '_inner', issuer: '<saml:Issuer>https://broker.example</saml:Issuer>' }, { key: stranger.privateKey })}</saml:Advice>`,
        }),
      {},
    ],
    [
      'by the second of two certificates, without KeyInfo',
      () => answer(),
      { keys: [stranger.publicKey, sender.publicKey] },
    ],
  ] as const)('%s is accepted', (_what, make, changes) => {
    expect(refusal(make(), changes)).toBe(undefined)
  })
})

describe('the Response', () => {
  it.each([
    [
      'another Issuer',
      { issuer: '<saml:Issuer>https://evil.example</saml:Issuer>' },
      /Issuer of the Response/,
    ],
    [
      'an Issuer that is no entityID',
      {
        issuer: `<saml:Issuer Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">${idp}</saml:Issuer>`,
      },
      /entityID/,
    ],
    ['SAML 1.1', { attributes: header({ Version: '1.1' }) }, /Version/],
    ['no ID', { id: '' }, /must have an ID/],
    ['no time', { attributes: header({ IssueInstant: 'today' }) }, /time in UTC/],
    ['a time to come', { attributes: header({ IssueInstant: at(61) }) }, /from the future/],
    ['an old time', { attributes: header({ IssueInstant: at(-361) }) }, /too old/],
    [
      'another Destination',
      { attributes: header({ Destination: 'https://sp.example/other' }) },
      /Destination/,
    ],
    ['another request', { attributes: header({ InResponseTo: '_other' }) }, /to another request/],
    ['no request', { attributes: header({ InResponseTo: undefined }) }, /to another request/],
    ['no status', { status: '' }, /no status/],
    [
      'a failure',
      {
        status:
          '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:AuthnFailed"/></samlp:StatusCode>',
      },
      /^denied: the provider answers Responder AuthnFailed/,
    ],
  ] as const)('with %s is refused', (_what, around, reason) => {
    expect(refusal(answer({}, around))).toMatch(reason)
  })

  it('that is signed must name its sender and its receiver', () => {
    const inside = signedAssertion()
    expect(
      refusal(signedResponse(inside, { attributes: header({ Destination: undefined }) })),
    ).toMatch(/Destination/)
    // xml-crypto puts the signature after the Issuer: without one it goes first.
    const unnamed = signedResponse(
      inside,
      { issuer: '<!---->' },
      { location: { reference: '/*', action: 'prepend' } },
    )
    expect(refusal(unnamed)).toMatch(/Issuer of the Response/)
  })

  it('that was not asked for has no request, and one that was asked for is none of these', () => {
    const unasked = answer(
      { confirmation: confirmed({ InResponseTo: undefined }) },
      { attributes: header({ InResponseTo: undefined }) },
    )
    expect(refusal(unasked, { request: undefined })).toBe(undefined)
    expect(refusal(unasked)).toMatch(/to another request/)
    expect(refusal(answer(), { request: undefined })).toMatch(/^expired: .*no trip waits for/)
    const half = answer({}, { attributes: header({ InResponseTo: undefined }) })
    expect(refusal(half, { request: undefined })).toMatch(
      /InResponseTo of the SubjectConfirmationData/,
    )
  })
})

describe('the Assertion', () => {
  it.each([
    [
      'another Issuer',
      { issuer: '<saml:Issuer>https://evil.example</saml:Issuer>' },
      /Issuer of the Assertion/,
    ],
    ['SAML 1.1', { version: '1.1' }, /Version/],
    ['a time to come', { issued: at(61) }, /from the future/],
    ['an old time', { issued: at(-361) }, /too old/],
    [
      'another confirmation than the bearer',
      { method: 'urn:oasis:names:tc:SAML:2.0:cm:sender-vouches' },
      /no bearer confirmation/,
    ],
    ['no confirmation data', { confirmation: '' }, /no SubjectConfirmationData/],
    [
      'another Recipient',
      { confirmation: confirmed({ Recipient: 'https://other.example/acs' }) },
      /Recipient/,
    ],
    ['no Recipient', { confirmation: confirmed({ Recipient: undefined }) }, /Recipient/],
    ['another request', { confirmation: confirmed({ InResponseTo: '_other' }) }, /another request/],
    ['no request', { confirmation: confirmed({ InResponseTo: undefined }) }, /another request/],
    [
      'a confirmation that has expired',
      { confirmation: confirmed({ NotOnOrAfter: at(-60) }) },
      /SubjectConfirmationData has expired/,
    ],
    [
      'a confirmation without an end',
      { confirmation: confirmed({ NotOnOrAfter: undefined }) },
      /no NotOnOrAfter/,
    ],
    [
      'a confirmation that ends at no time',
      { confirmation: confirmed({ NotOnOrAfter: 'tomorrow' }) },
      /time in UTC/,
    ],
    ['a confirmation to come', { confirmation: confirmed({ NotBefore: at(61) }) }, /not valid yet/],
    ['an empty NameID', { nameId: nameId(' ') }, /NameID is empty/],
    ['no Conditions', { conditions: '' }, /no Conditions/],
    [
      'conditions that have expired',
      { conditions: conditions(`NotOnOrAfter="${at(-60)}"`) },
      /Conditions has expired/,
    ],
    [
      'conditions to come',
      { conditions: conditions(`NotBefore="${at(61)}"`) },
      /Conditions is not valid yet/,
    ],
    [
      'another audience',
      { conditions: conditions('', audience('https://other.example')) },
      /another audience/,
    ],
    ['no audience', { conditions: conditions('', '') }, /names no Audience/],
    [
      'two restrictions of which one is for others',
      { conditions: conditions('', audience(sp) + audience('https://other.example')) },
      /another audience/,
    ],
    [
      'a condition that is not understood',
      { conditions: conditions('', `${audience(sp)}<x:Condition xmlns:x="urn:x"/>`) },
      /not understood/,
    ],
    [
      'a condition of another namespace',
      { conditions: conditions('', `${audience(sp)}<x:OneTimeUse xmlns:x="urn:x"/>`) },
      /not understood/,
    ],
    ['no AuthnStatement', { authn: '' }, /no AuthnStatement/],
    ['a sign-in to come', { authn: authn(`AuthnInstant="${at(61)}"`) }, /in the future/],
    ['a sign-in without a time', { authn: authn('') }, /no AuthnInstant/],
    [
      'a session that has ended',
      { authn: authn(`AuthnInstant="${at(-1)}" SessionNotOnOrAfter="${at(-60)}"`) },
      /SessionNotOnOrAfter/,
    ],
    [
      'a second session that has ended',
      {
        authn:
          authn(`AuthnInstant="${at(-1)}"`) +
          authn(`AuthnInstant="${at(-1)}" SessionNotOnOrAfter="${at(-60)}"`),
      },
      /SessionNotOnOrAfter/,
    ],
    [
      'an attribute without a name',
      { attributes: '<saml:AttributeStatement><saml:Attribute/></saml:AttributeStatement>' },
      /no Name/,
    ],
  ] as const)('with %s is refused', (_what, changes, reason) => {
    expect(refusal(answer(changes))).toMatch(reason)
  })

  it('has one Subject, Conditions and NameID', () => {
    const none = signedAssertion().replace(/<saml:Subject>.*<\/saml:Subject>/s, '')
    expect(
      refusal(signedResponse(none.replace(/<ds:Signature .*<\/ds:Signature>/s, '')), {
        wantAssertionsSigned: false,
      }),
    ).toMatch(/no Subject/)
    const two = answer({ conditions: conditions('') + conditions('') })
    expect(refusal(two)).toMatch(/repeated-element/)
    expect(refusal(answer({ nameId: nameId('a') + nameId('b') }))).toMatch(/repeated-element/)
  })

  it('holds by one of several bearer confirmations, whatever the others say (SAML Core §2.4)', () => {
    const bearer = (data: string): string =>
      `<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">${data}</saml:SubjectConfirmation>`
    const elsewhere = confirmed({ Recipient: 'https://other.example/acs', NotOnOrAfter: at(600) })
    const over = confirmed({ NotOnOrAfter: at(-60) })
    for (const other of [
      elsewhere,
      over,
      confirmed({ InResponseTo: '_other' }),
      '',
      confirmed({}),
    ]) {
      const before = answer({ nameId: nameId('a') + bearer(other) })
      expect(refusal(before)).toBe(undefined)
      const after = answer({ nameId: nameId('a') + bearer(confirmed({})), confirmation: other })
      expect(refusal(after)).toBe(undefined)
    }
    const none = { nameId: nameId('a') + bearer(elsewhere), confirmation: over }
    expect(refusal(answer(none))).toMatch(/Recipient/)
  })

  it('is used once until the last of its confirmations has ended', () => {
    const later = confirmed({ NotBefore: at(120), NotOnOrAfter: at(600) })
    const bearer = `<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">${later}</saml:SubjectConfirmation>`
    expect(readResponse(answer({ nameId: nameId('a') + bearer }), rules()).until).toBe(
      now + 660_000,
    )
  })

  it('is of a fresh sign-in where that was asked for', () => {
    const request = { id: '_q', sentAt: now, isForced: true }
    expect(refusal(answer({ authn: authn(`AuthnInstant="${at(-61)}"`) }), { request })).toMatch(
      /sign in again/,
    )
    expect(refusal(answer({ authn: authn(`AuthnInstant="${at(-59)}"`) }), { request })).toBe(
      undefined,
    )
  })

  it('is of a class that was asked for', () => {
    const xml = answer({ authn: authn(`AuthnInstant="${at(-1)}"`, 'urn:example:pwd') })
    expect(refusal(xml, { contextClasses: ['urn:example:mfa'] })).toMatch(
      /asked for were urn:example:mfa/,
    )
    expect(refusal(xml, { contextClasses: ['urn:example:mfa', 'urn:example:pwd'] })).toBe(undefined)
  })

  it('says how the user signed in: by a class, or a declaration (SAML Core §2.7.2)', () => {
    const by = (inside: string): string | undefined =>
      refusal(
        answer({
          authn: `<saml:AuthnStatement AuthnInstant="${at(-1)}">${inside}</saml:AuthnStatement>`,
        }),
      )
    const context = (inside: string) => `<saml:AuthnContext>${inside}</saml:AuthnContext>`
    expect(by('')).toMatch(/no AuthnContext/)
    expect(by(context(''))).toMatch(/no AuthnContext/)
    expect(by(context('<saml:AuthenticatingAuthority>x</saml:AuthenticatingAuthority>'))).toMatch(
      /no AuthnContext/,
    )
    const reference = '<saml:AuthnContextDeclRef>urn:example:decl</saml:AuthnContextDeclRef>'
    expect(by(context(reference))).toBe(undefined)
  })
})

describe('attributes', () => {
  it('are found by name and friendly name, with all values, and without nil', () => {
    const statement = `<saml:AttributeStatement>${attribute('a', '1', '2')}<saml:Attribute Name="urn:oid:1" FriendlyName="mail"><saml:AttributeValue>x@y</saml:AttributeValue></saml:Attribute><saml:Attribute Name="urn:oid:2" FriendlyName="a"><saml:AttributeValue>no</saml:AttributeValue></saml:Attribute><saml:Attribute Name="n"><saml:AttributeValue xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/></saml:Attribute><saml:Attribute Name="t"><saml:AttributeValue>${nameId('targeted')}</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>`
    const read = readResponse(answer({ attributes: statement }), rules())
    expect(Object.fromEntries(read.attributes)).toEqual({
      a: ['1', '2'],
      'urn:oid:1': ['x@y'],
      mail: ['x@y'],
      'urn:oid:2': ['no'],
      n: [],
      t: ['targeted'],
    })
  })
})

it('has fixtures that are what they say', () => {
  expect(answer()).toContain(c14n)
  expect(answer()).toContain(rsa256)
  expect(answer()).not.toContain('KeyInfo')
  expect(response('')).toContain(success)
})
