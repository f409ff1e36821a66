/** Every kind of message that the identity provider writes, before the schemas of OASIS and xmlsec1. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { addPerson, change, newPerson, type Person } from '../../oidc/relying-party.ts'
import {
  type AskedRequest,
  addProvider,
  askUrl,
  certificatesOf,
  entityId,
  providerPath,
  sentOf,
  statusOf,
} from '../../saml/fixture.ts'
import { privateKeyOf } from '../../saml/keys.ts'
import { backends } from '../../support/backends.ts'
import { sender } from '../../xml/keys.ts'
import { type Judges, openJudges } from './judges.ts'

const ac = 'urn:oasis:names:tc:SAML:2.0:ac:classes'

describe.each(backends.slice(0, 1))('messages of the identity provider', (backend) => {
  let site: OidcSite
  let judges: Judges
  let alice: Person
  let metadata: string
  let certificates: string[]

  beforeAll(async () => {
    judges = openJudges()
    site = await openIssuer(backend)
    await addProvider(site, { encryptionCertificate: sender.certificate })
    await addPerson(site, 'alice')
    alice = newPerson(site)
    await alice.signIn(askUrl(site))
    metadata = (await site.get('/saml/idp/metadata')).body
    certificates = certificatesOf(metadata)
  })
  afterAll(async () => {
    judges?.close()
    await site?.close()
  })

  const options = (fields: object) => change(site, providerPath(), { options: fields })
  const answerTo = async (asked: AskedRequest = {}) => sentOf(await alice.open(askUrl(site, asked)))

  it('metadata is valid and signed, says how long it holds, and is the same on both paths', async () => {
    expect(judges.signedIn(metadata, certificates)).toEqual(['EntityDescriptor'])
    expect(metadata).toMatch(/^<md:EntityDescriptor [^>]*cacheDuration="PT1H"[^>]*>/)
    const [, validUntil = ''] =
      /^<md:EntityDescriptor [^>]*validUntil="([^"]*)"/.exec(metadata) ?? []
    expect(Date.parse(validUntil)).toBeGreaterThan(Date.now())
    const short = await fetch(`${site.server.baseUrl}/acme/saml/idp/metadata`)
    expect(await short.text()).toBe(metadata)
  })

  it('the judges see what is wrong: another order, a changed value, another key', async () => {
    const { xml } = await answerTo()
    expect(judges.signedIn(xml, certificates)).toEqual(['Response', 'Assertion'])
    const turned = xml.replace(
      /(<saml:Subject>.*<\/saml:Subject>)(<saml:Conditions.*?<\/saml:Conditions>)/,
      '$2$1',
    )
    expect(turned).not.toBe(xml)
    expect(() => judges.signedIn(turned, certificates)).toThrow(/Subject.*not expected/)
    const changed = xml.replaceAll('alice@', 'admin@')
    expect(() => judges.signedIn(changed, certificates)).toThrow(/xmlsec1 refuses/)
    expect(() => judges.signedIn(xml, [sender.certificate])).toThrow(/xmlsec1 refuses/)
  })

  it.each([
    [{ signAssertion: true, signResponse: true }, ['Response', 'Assertion']],
    [{ signAssertion: true, signResponse: false }, ['Assertion']],
    [{ signAssertion: false, signResponse: true }, ['Response']],
    [{ includeAttributes: false }, ['Response', 'Assertion']],
    [{ audienceRestrictions: ['https://b.example', 'urn:c'] }, ['Response', 'Assertion']],
  ])('a response is valid with %j', async (fields, signed) => {
    await options(fields)
    expect(judges.signedIn((await answerTo()).xml, certificates)).toEqual(signed)
  })

  it.each(['persistent', 'transient', 'email', 'unspecified'])(
    'a response is valid with a NameID that is %s',
    async (nameIdFormat) => {
      await options({ nameIdFormat })
      const { xml } = await answerTo()
      expect(judges.signedIn(xml, certificates)).toEqual(['Response', 'Assertion'])
    },
  )

  it.each(['aes256-gcm', 'aes128-gcm', 'aes256-cbc'])(
    'an encrypted response is valid with %s, and so is the assertion inside',
    async (encryptionAlgorithm) => {
      const encryption = { encryptAssertion: true, encryptionAlgorithm }
      await options({ ...encryption, keyTransportAlgorithm: 'rsa-oaep-sha256' })
      expect(judges.signedIn((await answerTo()).xml, certificates)).toEqual(['Response'])
      await options({ ...encryption, keyTransportAlgorithm: 'rsa-oaep-mgf1p' })
      const { xml } = await answerTo()
      expect(judges.signedIn(xml, certificates)).toEqual(['Response'])
      const assertion = judges.decrypted(xml, privateKeyOf(sender))
      expect(judges.signedIn(assertion, certificates)).toEqual(['Assertion'])
    },
  )

  it('attributes of every form are valid, with values that XML must escape', async () => {
    await options({})
    const mapper = (name: string, config: Record<string, string>) =>
      site.admin('POST', `${providerPath()}/mappers`, {
        name,
        protocolMapper: 'saml-hardcode-attribute-mapper',
        config: { 'attribute.name': name, ...config },
      })
    const value = '</saml:AttributeValue><saml:Attribute Name="admin"> & "ü" \u{1f600}'
    await mapper('plain', { 'attribute.value': value })
    await mapper('urn:oid:2.5.4.3', {
      'attribute.value': value,
      'attribute.nameformat': 'URI Reference',
      'friendly.name': 'c "n" <&>',
    })
    await mapper('free', { 'attribute.value': ' ', 'attribute.nameformat': 'Unspecified' })
    const { xml } = await answerTo()
    expect(xml).not.toContain('<saml:Attribute Name="admin"')
    expect(judges.signedIn(xml, certificates)).toEqual(['Response', 'Assertion'])
  })

  it('a response that nothing asked for is valid', async () => {
    await options({ idpInitiatedSsoEnabled: true })
    const start = `${site.issuer}/saml/idp/initiate?entityId=${encodeURIComponent(entityId)}`
    const page = await alice.submit(await alice.open(start), { decision: 'continue' })
    const { xml } = sentOf(page)
    expect(xml).not.toContain('InResponseTo')
    expect(judges.signedIn(xml, certificates)).toEqual(['Response', 'Assertion'])
  })

  const context = `<samlp:RequestedAuthnContext><saml:AuthnContextClassRef>${ac}:Kerberos</saml:AuthnContextClassRef></samlp:RequestedAuthnContext>`
  it.each([
    ['Responder/NoAuthnContext', { inside: context }],
    ['Responder/NoPassive', { attributes: { IsPassive: 'true', ForceAuthn: 'true' } }],
    ['Requester/InvalidNameIDPolicy', { inside: '<samlp:NameIDPolicy Format="urn:x"/>' }],
  ])('a status is valid and signed: %s', async (status, asked) => {
    const sent = await answerTo(asked)
    expect(statusOf(sent)).toBe(status)
    expect(judges.signedIn(sent.xml, certificates)).toEqual(['Response'])
  })
})
