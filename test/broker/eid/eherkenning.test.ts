/**
 * eHerkenning with a test provider on xml-crypto and xml-encryption: requests with a level and a service, artifacts over mutual
 * TLS, a signed Response inside the ArtifactResponse, inner signed assertions, encrypted identifiers, mandates, levels.
 */

import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { childOf, childrenOf } from '#server/xml/index.ts'
import { makeCertificate } from '../../platform/outgoing/certificates.ts'
import { anyBackend } from '../../support/backends.ts'
import { receiver, sender, stranger } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { at, attribute, encrypted, idp, response, signedAssertion, sp } from '../saml/answers.ts'
import {
  type Asked,
  answering,
  artifactOf,
  openSamlSite,
  posted,
  refused,
  type SamlSite,
} from '../saml/fixture.ts'

const core = 'urn:etoegang:core'
const level = (name: string): string => `${core}:assurance-class:${name}`
const keyPem = ({ privateKey }: typeof sender): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

const config = {
  ssoUrl: 'https://idp.example/sso',
  idpEntityId: idp,
  spEntityId: sp,
  idpSigningCertificate: sender.x509.toString(),
  minimumLoa: level('loa3'),
  spDecryptionPrivateKey: keyPem(receiver),
  spSigningPrivateKey: keyPem(stranger),
  spSigningCertificate: stranger.x509.toString(),
}

const saml = 'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'

/** An identifier as the scheme sends it: a NameID that is qualified by its kind, encrypted. */
const identifier = async (name: string, kind: string, value: string): Promise<string> => {
  const inside = `<saml:NameID ${saml} NameQualifier="urn:etoegang:1.9:${kind}">${value}</saml:NameID>`
  return `<saml:Attribute Name="${core}:${name}"><saml:AttributeValue>${await encrypted(inside, 'EncryptedID')}</saml:AttributeValue></saml:Attribute>`
}

const authn = (reached: string): string =>
  `<saml:AuthnStatement AuthnInstant="${at(-1)}"><saml:AuthnContext><saml:AuthnContextClassRef>${level(reached)}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`

const company = 'EntityConcernedID:KvKnr'

interface Said {
  readonly reached?: string
  readonly more?: string
  readonly legal?: string
}

/** The changes of an honest assertion that make it one of the scheme, with the assertions of others in its Advice. */
const inScheme = async ({ reached = 'loa3', more = '', legal }: Said = {}) => ({
  nameId:
    '<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient">t</saml:NameID>',
  authn: authn(reached),
  attributes: `<saml:AttributeStatement>${legal ?? (await identifier('LegalSubjectID', company, '12345678'))}${await identifier('ActingSubjectID', 'EntityConcernedID:Pseudo', 'p-77')}${attribute(`${core}:ServiceID`, 'urn:etoegang:DV:1:services:1')}${more}</saml:AttributeStatement>`,
  advice: `<saml:Advice>${signedAssertion({ id: '_ad', issuer: '<saml:Issuer>urn:etoegang:AD:1</saml:Issuer>' }, { key: receiver.privateKey })}${signedAssertion({ id: '_mr', issuer: '<saml:Issuer>urn:etoegang:MR:1</saml:Issuer>' }, { key: stranger.privateKey })}</saml:Advice>`,
})

describe.each(anyBackend)('eHerkenning on $name', (backend) => {
  let site: SamlSite
  beforeAll(async () => {
    site = await openSamlSite(backend)
  }, 60_000)
  afterAll(() => site.close())

  const begun = async (changes: Readonly<Record<string, unknown>> = {}) => {
    const { alias } = await site.provider({ ...config, ...changes }, 'eherkenning')
    return { alias, asked: await site.begin(alias) }
  }
  const answered = async (asked: Asked, said: Said = {}): Promise<string> =>
    answering(asked).answer(await inScheme(said))

  it('is asked by POST for the least level and a service', async () => {
    const { asked } = await begun({ attributeConsumingServiceIndex: 7 })
    const { departure, request } = asked
    expect(departure).toMatchObject({ kind: 'form', action: config.ssoUrl })
    expect(request.attributes['AttributeConsumingServiceIndex']).toBe('7')
    // Interface specification DV-HM.
    expect(childOf(request, 'samlp:NameIDPolicy')).toBe(undefined)
    const context = childOf(request, 'samlp:RequestedAuthnContext') ?? expect.unreachable()
    expect(context.attributes['Comparison']).toBe('minimum')
    expect(childrenOf(context, 'saml:AuthnContextClassRef').map(({ text }) => text)).toEqual([
      level('loa3'),
    ])
    const { asked: redirected } = await begun({ authnRequestBinding: 'HTTP-Redirect' })
    expect(redirected.departure.kind).toBe('redirect')
  })

  it('names the company as the subject, with its kind, and keeps the person who acts', async () => {
    const { alias, asked } = await begun()
    const identity = await site.finish(alias, posted(await answered(asked), asked))
    expect(identity).toMatchObject({
      issuer: idp,
      subject: `urn:etoegang:1.9:${company}:12345678`,
      acr: level('loa3'),
      attributes: {
        [`${core}:LegalSubjectID`]: ['12345678'],
        [`${core}:ActingSubjectID`]: ['p-77'],
        [`${core}:ServiceID`]: ['urn:etoegang:DV:1:services:1'],
      },
    })
    const person = await begun({ subjectAttribute: `${core}:ActingSubjectID` })
    const acting = await site.finish(
      person.alias,
      posted(await answered(person.asked), person.asked),
    )
    expect(acting.subject).toBe('urn:etoegang:1.9:EntityConcernedID:Pseudo:p-77')
  })

  it.each([
    ['loa2', 'loa2', true],
    ['loa2', 'loa2plus', false],
    ['loa2plus', 'loa2plus', true],
    ['loa2plus', 'loa3', false],
    ['loa3', 'loa2', true],
    ['loa3', 'loa3', true],
    ['loa3', 'loa4', false],
    ['loa4', 'loa3', true],
    ['loa9', 'loa2', false],
    ['own', 'own', true],
    ['loa4', 'own', false],
  ] as const)(
    'by %s, where %s is the least level: accepted is %s',
    async (reached, least, isAccepted) => {
      const { alias, asked } = await begun({ minimumLoa: level(least) })
      const refusal = await refused(
        site.finish(alias, posted(await answered(asked, { reached }), asked)),
      )
      if (isAccepted) expect(refusal).toBe(undefined)
      else expect(refusal).toMatch(/^not-allowed: the level of assurance/)
    },
  )

  it('accepts a mandate only where the operator wants it', async () => {
    const said = { more: attribute(`${core}:Representation`, 'true') }
    const { alias, asked } = await begun()
    expect(await refused(site.finish(alias, posted(await answered(asked, said), asked)))).toMatch(
      /^not-allowed: .*representationEnabled/,
    )
    const none = await begun()
    const without = await answered(none.asked, {
      more: attribute(`${core}:Representation`, 'false'),
    })
    expect(await refused(site.finish(none.alias, posted(without, none.asked)))).toBe(undefined)
    const open = await begun({
      representationEnabled: true,
      representationAttribute: `${core}:Representation`,
    })
    expect(
      await refused(site.finish(open.alias, posted(await answered(open.asked, said), open.asked))),
    ).toBe(undefined)
    const own = await begun({ representationAttribute: 'urn:example:mandate' })
    const other = await answered(own.asked, { more: attribute('urn:example:mandate', 'm-1') })
    expect(await refused(site.finish(own.alias, posted(other, own.asked)))).toMatch(/mandate/)
  })

  it('refuses no subject, two subjects, and assertions that are not signed', async () => {
    for (const [legal, reason] of [
      [' ', /no urn:etoegang:core:LegalSubjectID/],
      [
        `${await identifier('LegalSubjectID', company, '1')}${await identifier('LegalSubjectID', company, '2')}`,
        /more than one/,
      ],
      [
        `${await identifier('LegalSubjectID', company, '1')}${attribute(`${core}:LegalSubjectID`, '2')}`,
        /with a kind and without/,
      ],
    ] as const) {
      const { alias, asked } = await begun()
      expect(
        await refused(site.finish(alias, posted(await answered(asked, { legal }), asked))),
      ).toMatch(reason)
    }
    const { alias, asked } = await begun()
    const { inResponse, assertion } = answering(asked)
    const whole = signed(response(assertion(await inScheme()), inResponse), '_r')
    expect(await refused(site.finish(alias, posted(whole, asked)))).toMatch(
      /Assertion is not signed/,
    )
  })

  describe('by artifact over mutual TLS', () => {
    let server: Server
    let url: string
    let answer: (id: string) => string
    const shown: string[] = []
    const other = makeCertificate(['client.test'])
    const trusted = getCACertificates('default')
    beforeAll(async () => {
      const own = makeCertificate(['localhost'])
      setDefaultCACertificates([...getCACertificates('default'), own.certificate])
      const ca = [stranger.x509.toString(), other.certificate]
      server = createServer(
        { key: own.key, cert: own.certificate, requestCert: true, ca },
        async (request, reply) => {
          const socket = request.socket as import('node:tls').TLSSocket
          shown.push(socket.getPeerCertificate().fingerprint256)
          const body = (await request.toArray()).join('')
          const id = /ArtifactResolve [^>]*ID="([^"]+)"/.exec(body)?.[1] ?? ''
          reply.writeHead(200, { 'content-type': 'text/xml' }).end(answer(id))
        },
      ).listen(0, '127.0.0.1')
      await once(server, 'listening')
      url = `https://localhost:${(server.address() as AddressInfo).port}/artifact`
    })
    afterAll(() => {
      setDefaultCACertificates(trusted)
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    })

    const inEnvelope = (id: string, inside: string): string =>
      `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${signed(
        `<samlp:ArtifactResponse xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ${saml} ID="_ar" Version="2.0" IssueInstant="${at(0)}" InResponseTo="${id}"><saml:Issuer>${idp}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>${inside}</samlp:ArtifactResponse>`,
        '_ar',
      )}</soap:Body></soap:Envelope>`

    it('reads the signed Response inside the signed ArtifactResponse (keycloak#50684)', async () => {
      const { alias, asked } = await begun({
        artifactResolutionServiceUrl: url,
        wantResponseSigned: true,
      })
      expect(asked.request.attributes['ProtocolBinding']).toMatch(/HTTP-Artifact$/)
      const { inResponse, signedAssertion: inside } = answering(asked)
      const made = signed(response(inside(await inScheme()), inResponse), '_r')
      answer = (id) => inEnvelope(id, made)
      const form = { SAMLart: artifactOf(), RelayState: asked.relayState }
      expect((await site.finish(alias, form)).subject).toBe(`urn:etoegang:1.9:${company}:12345678`)
      expect(shown.at(-1)).toBe(stranger.x509.fingerprint256)
    })

    it('shows another certificate where one is set', async () => {
      const { alias, asked } = await begun({
        artifactResolutionServiceUrl: url,
        tlsClientPrivateKey: other.key,
        tlsClientCertificate: other.certificate,
      })
      const made = await answered(asked)
      answer = (id) => inEnvelope(id, made)
      await site.finish(alias, { SAMLart: artifactOf(), RelayState: asked.relayState })
      expect(shown.at(-1)).not.toBe(stranger.x509.fingerprint256)
    })

    it('refuses a forged ArtifactResponse', async () => {
      const { alias, asked } = await begun({ artifactResolutionServiceUrl: url })
      const made = await answered(asked)
      answer = (id) => inEnvelope(id, made).replace('status:Success', 'status:Responder')
      const form = { SAMLart: artifactOf(), RelayState: asked.relayState }
      expect(await refused(site.finish(alias, form))).toMatch(/^invalid-answer: digest/)
    })
  })

  it('never gives a private key back', async () => {
    const { alias, body } = await site.provider(
      {
        ...config,
        tlsClientPrivateKey: keyPem(sender),
        tlsClientCertificate: sender.x509.toString(),
      },
      'eherkenning',
    )
    const { body: read } = await site.site.admin('GET', `/identity-providers/${alias}`)
    const { body: exported } = await site.site.admin('GET', '/export')
    for (const text of [body, read, exported].map((one) => JSON.stringify(one)))
      expect(text).not.toContain('PRIVATE KEY')
    expect(Object.keys(body.config).sort()).toEqual([
      'idpEntityId',
      'minimumLoa',
      'spEntityId',
      'ssoUrl',
    ])
  })
})
