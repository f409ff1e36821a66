/** eIDAS with a test node on xml-crypto and xml-encryption: requests with SPType and attributes, identifiers, names, levels. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { childOf, childrenOf } from '#server/xml/index.ts'
import { anyBackend } from '../../support/backends.ts'
import { receiver, sender } from '../../xml/keys.ts'
import { at, attribute, cbc, encrypted, idp, response, sp } from '../saml/answers.ts'
import {
  type Asked,
  answering,
  openSamlSite,
  posted,
  refused,
  type SamlSite,
} from '../saml/fixture.ts'

const natural = 'http://eidas.europa.eu/attributes/naturalperson/'
const legal = 'http://eidas.europa.eu/attributes/legalperson/'
const level = (name: string): string => `http://eidas.europa.eu/LoA/${name}`

const config = {
  ssoUrl: 'https://node.example/sso',
  idpEntityId: idp,
  spEntityId: sp,
  idpSigningCertificate: sender.x509.toString(),
  minimumLoa: 'substantial',
  receivingCountry: 'NL',
  spDecryptionPrivateKey: receiver.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
}

const greek = `<saml:Attribute Name="${natural}CurrentFamilyName" FriendlyName="FamilyName"><saml:AttributeValue xmlns:eidas-natural="${natural}" eidas-natural:LatinScript="false">Ωνάσης</saml:AttributeValue><saml:AttributeValue>Onasis</saml:AttributeValue></saml:Attribute>`

const person = (identifier: string): string =>
  `${attribute(`${natural}PersonIdentifier`, identifier)}${greek}${attribute(`${natural}CurrentGivenName`, 'Aristotelis')}${attribute(`${natural}DateOfBirth`, '1970-01-01')}`

interface Said {
  readonly reached?: string
  readonly attributes?: string
}

const inScheme = ({ reached = level('substantial'), attributes = person('GR/NL/ab-1') }: Said) => ({
  authn: `<saml:AuthnStatement AuthnInstant="${at(-1)}"><saml:AuthnContext><saml:AuthnContextClassRef>${reached}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`,
  attributes: `<saml:AttributeStatement>${attributes}</saml:AttributeStatement>`,
})

describe.each(anyBackend)('eIDAS on $name', (backend) => {
  let site: SamlSite
  beforeAll(async () => {
    site = await openSamlSite(backend)
  }, 60_000)
  afterAll(() => site.close())

  const answered = async (asked: Asked, said: Said = {}, content?: string): Promise<string> => {
    const { signedAssertion, inResponse } = answering(asked)
    const how = content === undefined ? {} : { content }
    return response(
      await encrypted(signedAssertion(inScheme(said)), 'EncryptedAssertion', how),
      inResponse,
    )
  }
  const signIn = async (said: Said = {}, changes: Readonly<Record<string, unknown>> = {}) => {
    const { alias } = await site.provider({ ...config, ...changes }, 'eidas')
    const asked = await site.begin(alias)
    return site.finish(alias, posted(await answered(asked, said), asked))
  }

  it('is asked with SPType, attributes, a level, and for a fresh sign-in', async () => {
    const { alias } = await site.provider({ ...config, spType: 'private' }, 'eidas')
    const { request, departure } = await site.begin(alias)
    expect(departure.kind).toBe('form')
    const extensions = childOf(request, 'samlp:Extensions') ?? expect.unreachable()
    expect(childOf(extensions, 'eidas:SPType')?.text).toBe('private')
    const requested = childOf(extensions, 'eidas:RequestedAttributes') ?? expect.unreachable()
    expect(
      childrenOf(requested, 'eidas:RequestedAttribute').map(({ attributes }) => [
        attributes['Name'],
        attributes['isRequired'],
      ]),
    ).toEqual(
      ['PersonIdentifier', 'CurrentFamilyName', 'CurrentGivenName', 'DateOfBirth'].map((name) => [
        `${natural}${name}`,
        'true',
      ]),
    )
    expect(request.attributes['ForceAuthn']).toBe('true')
    const context = childOf(request, 'samlp:RequestedAuthnContext') ?? expect.unreachable()
    expect(context.attributes['Comparison']).toBe('minimum')
    expect(childOf(context, 'saml:AuthnContextClassRef')?.text).toBe(level('substantial'))
    const { alias: company } = await site.provider(
      { ...config, requestedAttributes: [`${legal}LegalPersonIdentifier`] },
      'eidas',
    )
    const other =
      childOf((await site.begin(company)).request, 'samlp:Extensions') ?? expect.unreachable()
    expect(childOf(other, 'eidas:SPType')?.text).toBe('public')
    expect(JSON.stringify(other)).toContain('LegalPersonIdentifier')
  })

  it('names a person by the identifier, keeps both countries, and takes the transliterated name', async () => {
    expect(await signIn()).toMatchObject({
      issuer: idp,
      subject: 'GR/NL/ab-1',
      firstName: 'Aristotelis',
      lastName: 'Onasis',
      acr: level('substantial'),
      attributes: {
        identityCountry: ['GR'],
        receivingCountry: ['NL'],
        [`${natural}CurrentFamilyName`]: ['Onasis', 'Ωνάσης'],
      },
    })
  })

  it('names a legal person by its own identifier', async () => {
    const attributes = `${attribute(`${legal}LegalPersonIdentifier`, 'DE/NL/c-9')}${attribute(`${legal}LegalName`, 'ACME GmbH')}`
    expect((await signIn({ attributes })).subject).toBe('DE/NL/c-9')
    const both = `${person('GR/NL/ab-1')}${attributes}`
    const foreign = `${person('GR/NL/ab-1')}${attribute(`${legal}LegalPersonIdentifier`, 'DE/BE/c-9')}`
    expect(await refused(signIn({ attributes: foreign }))).toMatch(/made for BE/)
    expect((await signIn({ attributes: both })).subject).toBe('GR/NL/ab-1')
    expect(
      (await signIn({ attributes: both }, { subjectAttribute: `${legal}LegalPersonIdentifier` }))
        .subject,
    ).toBe('DE/NL/c-9')
  })

  it.each([
    [
      'an identifier that was made for another country',
      { attributes: person('GR/BE/ab-1') },
      /^not-allowed: the identifier was made for BE; receivingCountry is NL/,
    ],
    ['an identifier without countries', { attributes: person('ab-1') }, /XX\/YY/],
    ['an identifier in lower case', { attributes: person('gr/nl/ab-1') }, /XX\/YY/],
    [
      'no identifier',
      { attributes: attribute(`${natural}CurrentGivenName`, 'A') },
      /^not-allowed: the answer has no/,
    ],
    ['a low level', { reached: level('low') }, /^not-allowed: the level of assurance/],
    [
      'a level that was not notified',
      { reached: 'http://eidas.europa.eu/NotNotified/LoA/high' },
      /^not-allowed: the level of assurance/,
    ],
    [
      'a representative',
      {
        attributes: `${person('GR/NL/ab-1')}${attribute(`${natural}representative/PersonIdentifier`, 'GR/NL/r-1')}`,
      },
      /mandate/,
    ],
  ])('refuses %s', async (_what, said, reason) => {
    expect(await refused(signIn(said))).toMatch(reason)
  })

  it.each([
    ['low', 'low', true],
    ['low', 'substantial', false],
    ['substantial', 'low', true],
    ['substantial', 'high', false],
    ['high', 'high', true],
  ] as const)(
    'by %s, where %s is the least level: accepted is %s',
    async (reached, minimumLoa, isAccepted) => {
      const refusal = await refused(signIn({ reached: level(reached) }, { minimumLoa }))
      expect(refusal === undefined).toBe(isAccepted)
    },
  )

  it('takes a mandate where it is allowed, of a representative whose identifier is for this country too', async () => {
    const represented = (identifier: string) => ({
      attributes: `${person('GR/NL/ab-1')}${attribute(`${natural}representative/PersonIdentifier`, identifier)}`,
    })
    const allowed = { representationEnabled: true }
    expect((await signIn(represented('GR/NL/r-1'), allowed)).subject).toBe('GR/NL/ab-1')
    expect(await refused(signIn(represented('GR/BE/r-1'), allowed))).toMatch(/made for BE/)
  })

  it('refuses a subject of an attribute of its own that was made for another country', async () => {
    const own = { subjectAttribute: 'urn:example:identifier' }
    const given = (value: string) => ({
      attributes: `${person('GR/NL/ab-1')}${attribute('urn:example:identifier', value)}`,
    })
    expect((await signIn(given('GR/NL/own-1'), own)).subject).toBe('GR/NL/own-1')
    expect(await refused(signIn(given('GR/BE/own-1'), own))).toMatch(/made for BE/)
  })

  it('refuses every identifier where receivingCountry is not set, and doctor says so', async () => {
    const { receivingCountry: _, ...open } = config
    const { alias } = await site.provider(open, 'eidas')
    const asked = await site.begin(alias)
    expect(await refused(site.finish(alias, posted(await answered(asked), asked)))).toMatch(
      /^not-allowed: .*receivingCountry/,
    )
    const issuer = await site.issuer()
    const provider = await site.broker.providers.findAny(issuer.view, alias)
    expect(await site.broker.check(issuer, provider ?? expect.unreachable())).toContainEqual(
      expect.objectContaining({ status: 'error', remedy: 'set receivingCountry' }),
    )
  })

  it('demands encrypted assertions, under AES-GCM', async () => {
    const { alias } = await site.provider(config, 'eidas')
    const plain = await site.begin(alias)
    expect(
      await refused(site.finish(alias, posted(answering(plain).answer(inScheme({})), plain))),
    ).toMatch(/not encrypted/)
    const asked = await site.begin(alias)
    expect(
      await refused(site.finish(alias, posted(await answered(asked, {}, cbc), asked))),
    ).toMatch(/aes256-cbc is not accepted/)
  })
})
