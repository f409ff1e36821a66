/** Whole trips to a SAML provider and back: requests, answers by POST and by artifact, links, replay. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nameIdFormats } from '#schemas/drivers/saml.ts'
import { readCertificate } from '#schemas/public-keys/certificates.ts'
import {
  childOf,
  childrenOf,
  readQuery,
  readSigned,
  verifyQuery,
  xmlName,
} from '#server/xml/index.ts'
import { backends } from '../../support/backends.ts'
import { checkedByXmlCrypto } from '../../xml/judges.ts'
import { receiver, sender, stranger } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { at, attribute, encrypted, idp, nameId, now, response, sp } from './answers.ts'
import {
  answering,
  answerTo,
  artifactOf,
  openSamlSite,
  posted,
  refused,
  type SamlSite,
} from './fixture.ts'

const pem = (party: typeof sender): string => party.x509.toString()
const keyPem = ({ privateKey }: typeof sender): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

const explicit = {
  spEntityId: sp,
  idpEntityId: idp,
  ssoUrl: 'https://idp.example/sso?tenant=1',
  idpSigningCertificate: pem(sender),
}

/** eduPersonTargetedID: a NameID in an attribute. */
const targeted = (qualifiers: string): string =>
  `<saml:AttributeStatement><saml:Attribute Name="urn:oid:1.3.6.1.4.1.5923.1.1.1.10" FriendlyName="targeted"><saml:AttributeValue><saml:NameID ${qualifiers}>t-9</saml:NameID></saml:AttributeValue></saml:Attribute></saml:AttributeStatement>`

describe.each(backends)('a SAML provider on $name', (backend) => {
  let saml: SamlSite
  beforeAll(async () => {
    saml = await openSamlSite(backend)
  }, 60_000)
  afterAll(() => saml.close())

  describe('is asked', () => {
    it('by a redirect that a key of the realm signs', async () => {
      const { alias } = await saml.provider(explicit)
      const asked = await saml.begin(alias)
      const { departure, request } = asked
      if (departure.kind !== 'redirect') return expect.unreachable()
      expect(departure.url).toMatch(/^https:\/\/idp\.example\/sso\?tenant=1&SAMLRequest=/)
      const metadata = await saml.broker.describe(await saml.issuer(), alias)
      const [certificate] = /<ds:X509Certificate>([^<]+)/.exec(metadata ?? '')?.slice(1) ?? []
      const key = readCertificate(certificate ?? '')?.publicKey ?? expect.unreachable()
      const query = readQuery(departure.url.slice(departure.url.indexOf('SAMLRequest')))
      expect(verifyQuery(query, [key])).toBe(key)
      expect(request.attributes).toMatchObject({
        Destination: 'https://idp.example/sso?tenant=1',
        AssertionConsumerServiceURL: `${saml.site.issuer}/broker/${alias}/endpoint`,
        ProtocolBinding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
      })
      expect(request.attributes['ForceAuthn']).toBe(undefined)
      expect(childOf(request, 'saml:Issuer')?.text).toBe(sp)
      expect(childOf(request, 'samlp:NameIDPolicy')?.attributes['Format']).toBe(
        nameIdFormats.persistent,
      )
      // SAML Bindings §3.4.3: at most 80 bytes.
      expect(asked.relayState.length).toBeLessThanOrEqual(80)
    })

    it('before the fragment of its address, which no provider gets (RFC 3986 §3.5)', async () => {
      const ssoUrl = 'https://idp.example/sso?tenant=1#top'
      const { alias } = await saml.provider({ ...explicit, ssoUrl })
      const purpose = { kind: 'sign-in', data: {} } as const
      const { departure } = await saml.broker.begin(await saml.issuer(), alias, purpose, 'browser')
      const url = departure.kind === 'redirect' ? new URL(departure.url) : undefined
      expect([url?.hash, url?.searchParams.get('tenant')]).toEqual(['#top', '1'])
      expect(url?.searchParams.get('SAMLRequest')).toMatch(/^[A-Za-z0-9+/=]+$/)
    })

    it('by a form that a key of its document signs, for a fresh sign-in of a class', async () => {
      const { alias, body } = await saml.provider({
        ...explicit,
        authnRequestBinding: 'HTTP-POST',
        spSigningPrivateKey: keyPem(stranger),
        spSigningCertificate: pem(stranger),
        forceAuthn: true,
        authnContextClassRefs: ['urn:example:mfa'],
        authnContextComparison: 'minimum',
        subjectAttribute: 'uid',
      })
      expect(JSON.stringify(body)).not.toContain('PRIVATE KEY')
      const { departure, request, xml } = await saml.begin(alias)
      expect(departure.kind).toBe('form')
      const id = request.attributes['ID'] ?? ''
      expect(checkedByXmlCrypto(xml, id, stranger.certificate)).toContain(id)
      expect(request.attributes['ForceAuthn']).toBe('true')
      const context = childOf(request, 'samlp:RequestedAuthnContext') ?? expect.unreachable()
      expect(context.attributes['Comparison']).toBe('minimum')
      expect(childrenOf(context, 'saml:AuthnContextClassRef').map(({ text }) => text)).toEqual([
        'urn:example:mfa',
      ])
      expect(childOf(request, 'samlp:NameIDPolicy')?.attributes['Format']).toBe(undefined)
    })

    it('not at all with a key of its document that is not the key of the certificate', async () => {
      const { alias } = await saml.provider({
        ...explicit,
        spSigningPrivateKey: keyPem(stranger),
        spSigningCertificate: pem(sender),
      })
      expect(await refused(saml.begin(alias))).toMatch(/^not-allowed: spSigningCertificate/)
    })
  })

  describe('answers', () => {
    it('with a person: the key of the link is its entityID and the persistent NameID', async () => {
      const { alias } = await saml.provider({
        ...explicit,
        firstNameAttribute: 'given',
        lastNameAttribute: 'family',
        uidAttribute: 'uid',
      })
      const asked = await saml.begin(alias)
      const attributes = `<saml:AttributeStatement>${attribute('email', 'a@example.org')}${attribute('given', 'Alice')}${attribute('family', 'Abel')}${attribute('uid', 'alice')}</saml:AttributeStatement>`
      const identity = await saml.finish(
        alias,
        posted(answering(asked).answer({ attributes }), asked),
      )
      expect(identity).toMatchObject({
        issuer: idp,
        subject: 'alice-1',
        email: 'a@example.org',
        emailVerified: true,
        firstName: 'Alice',
        lastName: 'Abel',
        username: 'alice',
        acr: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
        authTime: now / 1000 - 1,
        session: { id: '_s' },
        attributes: { email: ['a@example.org'] },
      })
    })

    it.each([
      [
        'a transient NameID',
        { nameId: nameId('t-1', nameIdFormats.transient) },
        {},
        /^not-allowed: the NameID is transient.*subjectAttribute/,
      ],
      [
        'a NameID that is an address',
        { nameId: nameId('a@example.org', nameIdFormats.email) },
        {},
        /^not-allowed: the NameID has the format .*emailAddress/,
      ],
      ['a NameID of no format', { nameId: '<saml:NameID>alice</saml:NameID>' }, {}, /^not-allowed/],
      [
        'a NameID of another service provider',
        { nameId: nameId('x').replace('>x', ` SPNameQualifier="https://other.example">x`) },
        {},
        /qualified by another party/,
      ],
      ['no NameID', { nameId: '' }, {}, /has no NameID/],
      ['no subject attribute', {}, { subjectAttribute: 'uid' }, /no value of subjectAttribute uid/],
      [
        'a subject attribute that another organization behind the provider qualifies',
        { attributes: targeted('NameQualifier="https://other.example"') },
        { subjectAttribute: 'targeted' },
        /qualified by another party/,
      ],
      [
        'a subject attribute for another service provider',
        { attributes: targeted(`NameQualifier="${idp}" SPNameQualifier="https://other.example"`) },
        { subjectAttribute: 'urn:oid:1.3.6.1.4.1.5923.1.1.1.10' },
        /qualified by another party/,
      ],
      ['a subject that fits no link', { nameId: nameId('x'.repeat(513)) }, {}, /longer than 512/],
      [
        'two subjects',
        {
          attributes: `<saml:AttributeStatement>${attribute('uid', 'a', 'b')}</saml:AttributeStatement>`,
        },
        { subjectAttribute: 'uid' },
        /more than one value/,
      ],
    ] as const)('with %s: refused', async (_what, changes, config, reason) => {
      const { alias } = await saml.provider({ ...explicit, ...config })
      const asked = await saml.begin(alias)
      expect(
        await refused(saml.finish(alias, posted(answering(asked).answer(changes), asked))),
      ).toMatch(reason)
    })

    it('with a transient NameID, where an attribute is the subject, and with a format that the document names', async () => {
      const attributes = `<saml:AttributeStatement>${attribute('uid', 'u-1')}</saml:AttributeStatement>`
      const transient = { nameId: nameId('t-1', nameIdFormats.transient), attributes }
      for (const [config, changes, subject] of [
        [{ subjectAttribute: 'uid' }, transient, 'u-1'],
        [
          { subjectAttribute: 'targeted' },
          { attributes: targeted(`NameQualifier="${idp}" SPNameQualifier="${sp}"`) },
          't-9',
        ],
        [{ nameIdFormat: 'unspecified' }, { nameId: '<saml:NameID>alice</saml:NameID>' }, 'alice'],
      ] as const) {
        const { alias } = await saml.provider({ ...explicit, ...config })
        const asked = await saml.begin(alias)
        const identity = await saml.finish(alias, posted(answering(asked).answer(changes), asked))
        expect(identity.subject).toBe(subject)
      }
    })

    it('as the person that the name says, where another name differs in a no-break space alone', async () => {
      const config = { nameIdFormat: 'unspecified', uidAttribute: 'uid' }
      const { alias } = await saml.provider({ ...explicit, ...config })
      const who = async (name: string) => {
        const asked = await saml.begin(alias)
        const changes = {
          nameId: `<saml:NameID>${name}</saml:NameID>`,
          attributes: `<saml:AttributeStatement>${attribute('uid', name)}</saml:AttributeStatement>`,
        }
        const xml = answering(asked).answer(changes)
        const { subject, username } = await saml.finish(alias, posted(xml, asked))
        return [subject, username]
      }
      expect(await who('\n\t  alice\r\n  ')).toEqual(['alice', 'alice'])
      for (const space of ['\u00a0', '\ufeff', '\u3000'])
        for (const name of [`alice${space}`, `${space}alice`])
          expect(await who(`\n  ${name}\n`)).toEqual([name, name])
    })

    it('once: neither the answer nor the assertion counts again', async () => {
      const { alias } = await saml.provider({ ...explicit, wantAssertionsSigned: false })
      const asked = await saml.begin(alias)
      const xml = answering(asked).answer()
      await saml.finish(alias, posted(xml, asked))
      expect(await refused(saml.finish(alias, posted(xml, asked)))).toMatch(/^expired/)
      // The same assertion in an answer to a later request: only its id can tell.
      const again = await saml.begin(alias)
      const later = answering(again)
      const same = later.answer({ id: /ID="(_[0-9a-f]{16})"/.exec(xml)?.[1] ?? '' })
      expect(await refused(saml.finish(alias, posted(same, again)))).toMatch(/presented before/)
      const third = await saml.begin(alias)
      const other = answering(third)
      expect(await refused(saml.finish(alias, posted(other.answer(), third)))).toBe(undefined)
    })

    it('to the request of this trip alone', async () => {
      const { alias } = await saml.provider(explicit)
      const [one, two] = [await saml.begin(alias), await saml.begin(alias)]
      const swapped = saml.finish(alias, posted(answering(one).answer(), two))
      expect(await refused(swapped)).toMatch(/to another request/)
    })

    it('as a form with a SAMLResponse alone', async () => {
      const { alias } = await saml.provider(explicit)
      const asked = await saml.begin(alias)
      const { SAMLResponse, ...form } = posted(answering(asked).answer(), asked)
      expect(await refused(saml.finish(alias, form))).toMatch(/must be a form with SAMLResponse/)
      const again = await saml.begin(alias)
      const rawQuery = new URLSearchParams({
        SAMLResponse,
        RelayState: again.relayState,
      }).toString()
      const byGet = { method: 'GET', rawQuery, rawBody: '' } as const
      const finished = saml.broker.finish(await saml.issuer(), alias, byGet, 'browser')
      expect(await refused(finished)).toMatch(/must be a form with SAMLResponse/)
    })

    it('encrypted to the key of the document', async () => {
      const { alias } = await saml.provider({
        ...explicit,
        spDecryptionPrivateKey: keyPem(receiver),
        wantAssertionsEncrypted: true,
      })
      const asked = await saml.begin(alias)
      const { signedAssertion, inResponse } = answering(asked)
      const xml = response(await encrypted(signedAssertion()), inResponse)
      expect((await saml.finish(alias, posted(xml, asked))).subject).toBe('alice-1')
    })

    it('without being asked: an invitation where the document allows it, refused otherwise', async () => {
      const { alias: closed } = await saml.provider(explicit)
      const { alias: open } = await saml.provider({ ...explicit, idpInitiatedSsoEnabled: true })
      const invited = async (alias: string, xml: string) =>
        refused(
          saml.broker.invited(
            await saml.issuer(),
            alias,
            saml.landing({ SAMLResponse: Buffer.from(xml).toString('base64') }),
          ),
        )
      const unasked = (alias: string) =>
        answerTo(`${saml.site.issuer}/broker/${alias}/endpoint`).answer()
      expect(await invited(closed, unasked(closed))).toMatch(/^expired: .*idpInitiatedSsoEnabled/)
      const xml = unasked(open)
      expect(await invited(open, xml)).toBe(undefined)
      expect(await invited(open, xml)).toMatch(/presented before/)
      expect(await invited(open, answering(await saml.begin(open)).answer())).toMatch(
        /^expired: .*no trip waits for/,
      )
      const asked = await saml.begin(open)
      expect(await refused(saml.finish(open, posted(unasked(open), asked)))).toMatch(
        /to another request/,
      )
    })
  })

  describe('answers by artifact', () => {
    const config = () => ({
      ...explicit,
      responseBinding: 'HTTP-Artifact',
      artifactResolutionServiceUrl: saml.outside.url('/artifact'),
    })
    const envelope = (inside: string): string =>
      `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${inside}</soap:Body></soap:Envelope>`
    const artifactResponse = (id: string, inside: string): string =>
      `<samlp:ArtifactResponse xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_ar" Version="2.0" IssueInstant="${at(0)}" InResponseTo="${id}"><saml:Issuer>${idp}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>${inside}</samlp:ArtifactResponse>`

    /** The provider answers the resolution with this. */
    const serve = (make: (id: string) => string): void =>
      saml.outside.answer((answer, { body }) => {
        const id = /ArtifactResolve [^>]*ID="([^"]+)"/.exec(body)?.[1] ?? ''
        answer.writeHead(200, { 'content-type': 'text/xml' }).end(envelope(make(id)))
      })

    it('with a signed assertion, or with a signed answer around all', async () => {
      const { alias } = await saml.provider(config())
      const asked = await saml.begin(alias)
      serve((id) => artifactResponse(id, answering(asked).answer()))
      const artifact = artifactOf()
      const identity = await saml.finish(alias, { SAMLart: artifact, RelayState: asked.relayState })
      expect(identity.subject).toBe('alice-1')
      const [{ body, headers } = expect.unreachable()] = saml.outside.at('/artifact').slice(-1)
      expect(headers['content-type']).toMatch(/^text\/xml/)
      expect(body).toContain(`<samlp:Artifact>${artifact}</samlp:Artifact>`)
      const metadata = (await saml.broker.describe(await saml.issuer(), alias)) ?? ''
      const certificate = readCertificate(/<ds:X509Certificate>([^<]+)/.exec(metadata)?.[1] ?? '')
      const path = [xmlName('soap:Body'), xmlName('samlp:ArtifactResolve')]
      const keys = [certificate?.publicKey ?? expect.unreachable()]
      expect(readSigned(body, { root: xmlName('soap:Envelope'), path, keys }).key).toBe(keys[0])

      const { alias: whole } = await saml.provider({ ...config(), wantAssertionsSigned: false })
      const again = await saml.begin(whole)
      const inside = answering(again)
      serve((id) =>
        signed(artifactResponse(id, response(inside.assertion(), inside.inResponse)), '_ar'),
      )
      expect(
        (await saml.finish(whole, { SAMLart: artifactOf(), RelayState: again.relayState })).subject,
      ).toBe('alice-1')
      const third = await saml.begin(whole)
      const unsigned = answering(third)
      serve((id) => artifactResponse(id, response(unsigned.assertion(), unsigned.inResponse)))
      expect(
        await refused(saml.finish(whole, { SAMLart: artifactOf(), RelayState: third.relayState })),
      ).toMatch(/neither/)
    })

    it.each([
      [
        'an artifact of another provider',
        artifactOf('https://evil.example'),
        undefined,
        /of another provider/,
      ],
      ['no artifact', 'AAQ=', undefined, /not an artifact/],
      [
        'an artifact of another type',
        Buffer.concat([Buffer.of(0, 5), Buffer.from(artifactOf(), 'base64').subarray(2)]).toString(
          'base64',
        ),
        undefined,
        /not an artifact of type 0x0004/,
      ],
      ['an answer to another request', artifactOf(), () => '_other', /to another request/],
    ])('refuses %s', async (_what, artifact, idOf, reason) => {
      const { alias } = await saml.provider(config())
      const asked = await saml.begin(alias)
      serve((id) => artifactResponse(idOf?.() ?? id, answering(asked).answer()))
      expect(
        await refused(saml.finish(alias, { SAMLart: artifact, RelayState: asked.relayState })),
      ).toMatch(reason)
    })

    it.each([
      [
        'of another Issuer',
        (xml: string) => xml.replace(`<saml:Issuer>${idp}`, '<saml:Issuer>https://evil.example'),
        /Issuer of the ArtifactResponse/,
      ],
      [
        'that is too old',
        (xml: string) => xml.replace(`IssueInstant="${at(0)}"`, `IssueInstant="${at(-361)}"`),
        /the ArtifactResponse is too old/,
      ],
      [
        'that reports no success',
        (xml: string) => xml.replace('status:Success', 'status:Responder'),
        /^denied: the provider answers Responder/,
      ],
    ])('refuses an ArtifactResponse %s', async (_what, change, reason) => {
      const { alias } = await saml.provider(config())
      const asked = await saml.begin(alias)
      serve((id) => change(artifactResponse(id, answering(asked).answer())))
      expect(
        await refused(saml.finish(alias, { SAMLart: artifactOf(), RelayState: asked.relayState })),
      ).toMatch(reason)
    })

    it('takes a signed Response without a Destination, which no browser has carried', async () => {
      const { alias } = await saml.provider({ ...config(), wantResponseSigned: true })
      const asked = await saml.begin(alias)
      const { signedAssertion, inResponse } = answering(asked)
      const undirected = inResponse.attributes?.replace(/ Destination="[^"]*"/, '')
      const made = (attributes: string | undefined) =>
        signed(response(signedAssertion(), { ...inResponse, attributes: attributes ?? '' }), '_r')
      serve((id) => artifactResponse(id, made(undirected)))
      const form = (relayState: string) => ({ SAMLart: artifactOf(), RelayState: relayState })
      expect((await saml.finish(alias, form(asked.relayState))).subject).toBe('alice-1')
      const again = await saml.begin(alias)
      const elsewhere = answering(again).inResponse.attributes?.replace(
        / Destination="[^"]*"/,
        ' Destination="https://other.example/acs"',
      )
      serve((id) => artifactResponse(id, made(elsewhere)))
      expect(await refused(saml.finish(alias, form(again.relayState)))).toMatch(/Destination/)
    })

    it('refuses two responses in one answer', async () => {
      const { alias } = await saml.provider(config())
      const asked = await saml.begin(alias)
      const { answer } = answering(asked)
      serve((id) =>
        artifactResponse(id, answer() + answer({ id: '_second' }).replace('ID="_r"', 'ID="_r2"')),
      )
      expect(
        await refused(saml.finish(alias, { SAMLart: artifactOf(), RelayState: asked.relayState })),
      ).toMatch(/exactly one Response/)
    })

    it('refuses a POST where artifacts are expected, and an answer that does not come', async () => {
      const { alias } = await saml.provider(config())
      const asked = await saml.begin(alias)
      expect(await refused(saml.finish(alias, posted(answering(asked).answer(), asked)))).toMatch(
        /must have SAMLart/,
      )
      const again = await saml.begin(alias)
      saml.outside.answer(500)
      expect(
        await refused(saml.finish(alias, { SAMLart: artifactOf(), RelayState: again.relayState })),
      ).toMatch(/^unavailable: the artifact resolution service answers 500$/)
    })
  })
})
