/** Every kind of message that the identity provider writes, before the schemas of OASIS and xmlsec1. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logoutJobs } from '#server/run/background.ts'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import {
  addPerson,
  change,
  hiddenFields,
  newPerson,
  type Person,
} from '../../oidc/relying-party.ts'
import {
  type AskedRequest,
  addProvider,
  askUrl,
  certificatesOf,
  entityId,
  newRequestId,
  providerPath,
  sentOf,
  spaces,
  statusOf,
} from '../../saml/fixture.ts'
import { privateKeyOf } from '../../saml/keys.ts'
import { logoutRequest, logoutUrl, visitProvider } from '../../saml/logout/logout-fixture.ts'
import { cameFrom } from '../../saml/upstream-session.ts'
import { backends } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { sender } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
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
    site = await openIssuer(backend, {
      env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
    })
    await addProvider(site, {
      signingCertificate: sender.certificate,
      encryptionCertificate: sender.certificate,
      acs: [{ index: 1, url: 'https://sp.example/artifact', binding: 'HTTP-Artifact' }],
    })
    const aliceId = await addPerson(site, 'alice')
    await change(site, `/users/${aliceId}`, { emailVerified: true })
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
  ])('a response is valid with %j', async (fields, elements) => {
    await options(fields)
    expect(judges.signedIn((await answerTo()).xml, certificates)).toEqual(elements)
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

  it('a response with an encrypted NameID is valid', async () => {
    await options({})
    const policy =
      '<samlp:NameIDPolicy Format="urn:oasis:names:tc:SAML:2.0:nameid-format:encrypted"/>'
    const { xml } = await answerTo({ inside: policy })
    expect(xml).toContain('<saml:EncryptedID>')
    expect(judges.signedIn(xml, certificates)).toEqual(['Response', 'Assertion'])
  })

  it('a response is valid that names the identity provider behind the session', async () => {
    await options({})
    const person = newPerson(site)
    await person.signIn(askUrl(site))
    await cameFrom(site, 'https://hub.example')
    const { xml } = sentOf(await person.open(askUrl(site)))
    expect(xml).toContain('<saml:AuthenticatingAuthority>https://hub.example<')
    expect(judges.signedIn(xml, certificates)).toEqual(['Response', 'Assertion'])
  })

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

  /** Everything we write is canonical: an element stands in its envelope as it would stand alone. */
  const inEnvelope = (body: string, name: string): string =>
    new RegExp(`<samlp:${name} .*</samlp:${name}>`, 's').exec(body)?.[0] ?? ''

  const soap = (message: string): string =>
    `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${message}</s:Body></s:Envelope>`

  it('an answer to ArtifactResolve is valid, and so is the response inside', async () => {
    await options({})
    const ProtocolBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact'
    const { away = '' } = await alice.open(askUrl(site, { attributes: { ProtocolBinding } }))
    const id = newRequestId()
    const issued = new Date().toISOString()
    const resolve = `<samlp:ArtifactResolve ${spaces} ID="${id}" Version="2.0" IssueInstant="${issued}"><saml:Issuer>${entityId}</saml:Issuer><samlp:Artifact>${new URL(away).searchParams.get('SAMLart')}</samlp:Artifact></samlp:ArtifactResolve>`
    const reply = await fetch(`${site.issuer}/saml/idp/artifact`, {
      method: 'POST',
      headers: { 'content-type': 'text/xml' },
      body: soap(signed(resolve, id)),
    })
    const answer = inEnvelope(await reply.text(), 'ArtifactResponse')
    const expected = ['ArtifactResponse', 'Response', 'Assertion']
    expect(judges.signedIn(answer, certificates)).toEqual(expected)
  })

  it('a LogoutResponse is valid: Success, and a request that is refused', async () => {
    await change(site, providerPath(), {
      singleLogoutServiceUrl: 'https://sp.example/slo',
      singleLogoutServiceBinding: 'HTTP-POST',
    })
    const leaving = newPerson(site)
    const known = await visitProvider(site, leaving)
    for (const nameId of ['nobody', known.nameId]) {
      const url = logoutUrl(site, logoutRequest(site, { ...known, nameId }), {})
      const { SAMLResponse = '' } = hiddenFields((await leaving.open(url)).body)
      const xml = Buffer.from(SAMLResponse, 'base64').toString()
      expect(judges.signedIn(xml, certificates)).toEqual(['LogoutResponse'])
      expect(xml.includes('status:Success')).toBe(nameId === known.nameId)
    }
  })

  it('a LogoutRequest over SOAP is valid', async () => {
    const received: string[] = []
    const receiver = createServer(async (request, response) => {
      received.push(await text(request))
      response.writeHead(500).end()
    })
    await once(receiver.listen(0, '127.0.0.1'), 'listening')
    const { port } = receiver.address() as AddressInfo
    await change(site, providerPath(), {
      singleLogoutServiceSoapUrl: `http://127.0.0.1:${port}/slo`,
      options: { backChannelSloEnabled: true },
    })
    await visitProvider(site, newPerson(site))
    const { body: sessions } = await site.admin('GET', '/sessions')
    for (const { id } of sessions) await site.admin('DELETE', `/sessions/${id}`)
    const { areas } = site.server
    await runJobs(areas.jobs, logoutJobs(areas))
    receiver.close()
    expect(received).not.toEqual([])
    for (const body of received)
      expect(judges.signedIn(inEnvelope(body, 'LogoutRequest'), certificates)).toEqual([
        'LogoutRequest',
      ])
  })
})
