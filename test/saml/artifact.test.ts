/** Responses by HTTP-Artifact and their resolution over SOAP (SAML Bindings §3.6, Core §3.5). */

import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { childOf, readElement, readSigned, type XmlElement, xmlName } from '#server/xml/index.ts'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { addPerson, change, newPerson, type Person } from '../oidc/relying-party.ts'
import { backends } from '../support/backends.ts'
import { startServer } from '../support/server.ts'
import { sender, stranger } from '../xml/keys.ts'
import { signed } from '../xml/messages.ts'
import { afterIssuer, capture, variants } from '../xml/wraps.ts'
import {
  addProvider,
  askUrl,
  entityId,
  newRequestId,
  only,
  providerPath,
  spaces,
  toldOf,
} from './fixture.ts'
import { keysOf } from './logout/logout-fixture.ts'

const artifactUrl = 'https://sp.example/artifact?a=b'
const binding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Artifact'
const other = 'https://other.example'
const byArtifact = { attributes: { ProtocolBinding: binding } }

interface Asked {
  readonly issuer?: string
  readonly key?: typeof sender.privateKey | null
  readonly id?: string
  readonly at?: number
  readonly attributes?: string
  /** What stands in front of the Body. */
  readonly header?: string
  readonly spoil?: (xml: string) => string
}

describe.each(backends)('artifacts on $name', (backend) => {
  let ahead = 0
  const clock: Clock = { now: () => Date.now() + ahead }
  let site: OidcSite
  let alice: Person
  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    await addProvider(site, {
      signingCertificate: sender.certificate,
      acs: [{ index: 1, url: artifactUrl, binding: 'HTTP-Artifact' }],
    })
    await addProvider(site, { entityId: other, signingCertificate: stranger.certificate })
    await addPerson(site, 'alice')
    alice = newPerson(site)
    await alice.signIn(askUrl(site))
  }, 60_000)
  afterAll(() => site.close())

  const newArtifact = async (relayState?: string) => {
    const page = await alice.open(
      askUrl(site, byArtifact, relayState === undefined ? {} : { relayState }),
    )
    const url = new URL(page.away ?? 'none:')
    return { url, artifact: url.searchParams.get('SAMLart') ?? '' }
  }

  const resolve = async (artifact: string, asked: Asked = {}, base = site.issuer) => {
    const { issuer = entityId, key = sender.privateKey, id = newRequestId() } = asked
    const { at = clock.now(), attributes = '', header = '', spoil = (xml: string) => xml } = asked
    const xml = `<samlp:ArtifactResolve ${spaces} ID="${id}" Version="2.0" IssueInstant="${new Date(at).toISOString()}"${attributes}><saml:Issuer>${issuer}</saml:Issuer><samlp:Artifact>${artifact}</samlp:Artifact></samlp:ArtifactResolve>`
    const message = spoil(key ? signed(xml, id, { key }) : xml)
    const reply = await fetch(`${base}/saml/idp/artifact`, {
      method: 'POST',
      headers: { 'content-type': 'text/xml; charset=utf-8', soapaction: '"x"' },
      body: `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">${header}<s:Body>${message}</s:Body></s:Envelope>`,
    })
    return { status: reply.status, body: await reply.text(), id }
  }

  /** The ArtifactResponse, verified. */
  const answerIn = async (body: string): Promise<XmlElement> => {
    const path = [xmlName('soap:Body'), xmlName('samlp:ArtifactResponse')]
    const keys = await keysOf(site)
    return readSigned(body, { root: xmlName('soap:Envelope'), path, keys }).element
  }
  const isEmpty = async ({ status, body }: { status: number; body: string }): Promise<boolean> => {
    const answer = await answerIn(body)
    const code = only(answer, 'samlp:Status', 'samlp:StatusCode').attributes['Value']
    expect([status, code]).toEqual([200, 'urn:oasis:names:tc:SAML:2.0:status:Success'])
    return childOf(answer, 'samlp:Response') === undefined
  }

  it('takes an artifact of type 4 through the browser, with the RelayState (§3.6.4.2)', async () => {
    const { url, artifact } = await newArtifact('a "state" <&> ü')
    expect(`${url.origin}${url.pathname}`).toBe('https://sp.example/artifact')
    expect([url.searchParams.get('a'), url.searchParams.get('RelayState')]).toEqual([
      'b',
      'a "state" <&> ü',
    ])
    const bytes = Buffer.from(artifact, 'base64')
    expect([bytes.length, bytes.readUInt16BE(0), bytes.readUInt16BE(2)]).toEqual([44, 4, 0])
    const source = createHash('sha1').update(site.issuer).digest()
    expect(bytes.subarray(4, 24).equals(source)).toBe(true)
  })

  it('gives the response to its service provider, both of whose signatures hold', async () => {
    const { artifact } = await newArtifact()
    const { status, body, id } = await resolve(artifact)
    expect(status).toBe(200)
    const answer = await answerIn(body)
    expect(answer.attributes['InResponseTo']).toBe(id)
    const keys = await keysOf(site)
    const around = [
      xmlName('soap:Body'),
      xmlName('samlp:ArtifactResponse'),
      xmlName('samlp:Response'),
    ]
    const root = xmlName('soap:Envelope')
    const response = readSigned(body, { root, path: around, keys }).element
    expect(response.attributes['Destination']).toBe(artifactUrl)
    const path = [...around, xmlName('saml:Assertion')]
    const told = toldOf(readSigned(body, { root, path, keys }).element)
    expect(told.attributes['username']).toEqual(['alice'])
  })

  it('takes the envelope of SimpleSAMLphp, which has a stray backslash in front of its Header', async () => {
    const { artifact } = await newArtifact()
    expect(await isEmpty(await resolve(artifact, { header: '\\\n        <s:Header/>' }))).toBe(
      false,
    )
  })

  it('gives it once, however many ask at the same time', async () => {
    const { artifact } = await newArtifact()
    const answers = await Promise.all(Array.from({ length: 8 }, () => resolve(artifact)))
    const empty = await Promise.all(answers.map(isEmpty))
    expect(empty.filter((one) => !one)).toHaveLength(1)
    expect(await isEmpty(await resolve(artifact))).toBe(true)
    const [event] = await site.events('SAML_SSO')
    expect(event).toMatchObject({ outcome: 'FAILURE' })
    expect(event?.detail).toContain('artifact')
  })

  it('gives it to nobody else, and leaves it for its service provider', async () => {
    const { artifact } = await newArtifact()
    const asked = { issuer: other, key: stranger.privateKey }
    expect(await isEmpty(await resolve(artifact, asked))).toBe(true)
    expect(await isEmpty(await resolve(artifact))).toBe(false)
  })

  it('gives it for a minute', async () => {
    const [late, soon] = [await newArtifact(), await newArtifact()]
    ahead = 59_000
    const inTime = await isEmpty(await resolve(soon.artifact))
    ahead = 60_500
    const tooLate = await isEmpty(await resolve(late.artifact))
    await tidy(site.server.areas)
    const left = await site.server.areas.storage.db
      .selectFrom('saml_artifacts')
      .selectAll()
      .execute()
    ahead = 0
    expect([inTime, tooLate, left]).toEqual([false, true, []])
  })

  it('answers nothing for an artifact that is none', async () => {
    const { artifact } = await newArtifact()
    const bytes = Buffer.from(artifact, 'base64')
    const changed = (at: number): string => {
      const copy = Buffer.from(bytes)
      copy[at] = (copy[at] ?? 0) ^ 1
      return copy.toString('base64')
    }
    const wrong = ['', 'AAQ=', changed(1), changed(3), changed(4), changed(43), `${artifact}=`]
    for (const one of wrong) expect([one, await isEmpty(await resolve(one))]).toEqual([one, true])
    expect(await isEmpty(await resolve(artifact))).toBe(false)
  })

  it.each<[string, Asked, status?: number]>([
    ['unsigned', { key: null }],
    ['signed by another', { key: stranger.privateKey }],
    ['of an unknown sender', { issuer: 'https://unknown.example' }],
    ['old', { at: Date.now() - 9 * 60_000 }],
    ['for another endpoint', { attributes: ' Destination="https://x.example"' }],
    ['changed', { spoil: (xml) => xml.replace('Version="2.0"', 'Version="2.0" Consent="x"') }],
    [
      'another message',
      { spoil: (xml) => xml.replaceAll('ArtifactResolve', 'LogoutRequest') },
      400,
    ],
    ['there twice', { spoil: (xml) => `${xml}${xml.replace(/ ID="[^"]*"/, ' ID="_x"')}` }, 400],
    ['malformed', { spoil: (xml) => `${xml}<` }, 400],
    ['not there', { spoil: () => '' }, 400],
  ])(
    'answers a fault to a request that is %s, and keeps the artifact',
    async (_what, asked, told = 403) => {
      const { artifact } = await newArtifact()
      const { status, body } = await resolve(artifact, asked)
      expect([status, body.includes('<soap:Fault>')]).toEqual([told, true])
      const fault = readElement(body, { root: xmlName('soap:Envelope') })
      expect(only(fault, 'soap:Body', 'soap:Fault').children).toHaveLength(2)
      expect(await isEmpty(await resolve(artifact))).toBe(false)
    },
  )

  describe('and a wrapped ArtifactResolve of their service provider', () => {
    const captured = (id: string) => {
      const xml = `<samlp:ArtifactResolve ${spaces} ID="${id}" Version="2.0" IssueInstant="${new Date(clock.now()).toISOString()}"><saml:Issuer>${entityId}</saml:Issuer><samlp:Artifact>used</samlp:Artifact></samlp:ArtifactResolve>`
      return capture(signed(xml, id))
    }
    it.each(
      Object.keys(variants).flatMap((variant) => [
        { variant, under: 'another ID', isSame: false },
        { variant, under: 'the same ID', isSame: true },
      ]),
    )('$variant, under $under: answer a fault', async ({ variant, isSame }) => {
      const { artifact } = await newArtifact()
      const id = newRequestId()
      const wrap = variants[variant] ?? expect.unreachable()
      const spoil = (forged: string) => wrap(captured(id), forged)
      const asked = { key: null, spoil, ...(isSame ? { id } : {}) }
      const { status, body } = await resolve(artifact, asked)
      // An ID that stands twice makes it no message of SAML.
      expect(isSame ? [400, 403] : [403]).toContain(status)
      expect(body).toContain('<soap:Fault>')
      expect(await isEmpty(await resolve(artifact))).toBe(false)
    })

    it('the original in the Header, its signature in the Body: answer a fault', async () => {
      const { artifact } = await newArtifact()
      const { original, signature, bare } = captured(newRequestId())
      for (const [header, text] of [
        [original, ''],
        [original, signature],
        [bare, signature],
      ]) {
        const spoil = (forged: string) => afterIssuer(forged, text ?? '')
        const asked = { key: null, spoil, header: `<s:Header>${header}</s:Header>` }
        expect((await resolve(artifact, asked)).status).toBe(403)
      }
      expect(await isEmpty(await resolve(artifact))).toBe(false)
    })
  })

  it('records for whom a request with two artifacts was refused', async () => {
    const { artifact } = await newArtifact()
    const { status } = await resolve(`${artifact}</samlp:Artifact><samlp:Artifact>${artifact}`)
    expect(status).toBe(403)
    const [event] = await site.events('SAML_SSO')
    expect(event).toMatchObject({ outcome: 'FAILURE' })
    expect(event?.detail).toContain('more than one samlp:Artifact')
    expect(await isEmpty(await resolve(artifact))).toBe(false)
  })

  it('gives nothing to a service provider that is disabled', async () => {
    const { artifact } = await newArtifact()
    await change(site, providerPath(), { enabled: false })
    const { status, body } = await resolve(artifact)
    await change(site, providerPath(), { enabled: true })
    expect([status, body.includes('<soap:Fault>')]).toEqual([403, true])
    expect(await isEmpty(await resolve(artifact))).toBe(false)
  })

  it('is chosen by the index, by the binding, or as the default, and tells errors the same way', async () => {
    const index = { attributes: { AssertionConsumerServiceIndex: '1' } }
    expect((await alice.open(askUrl(site, index))).away).toContain('SAMLart=')
    const failing = { attributes: { ProtocolBinding: binding, IsPassive: 'true' } }
    const { away = '' } = await newPerson(site).open(askUrl(site, failing))
    const artifact = new URL(away).searchParams.get('SAMLart') ?? ''
    const { body } = await resolve(artifact)
    expect(body).toContain('status:NoPassive')
    await change(site, providerPath(), { assertionConsumerServiceUrl: artifactUrl })
    const initiated = `${site.issuer}/saml/idp/initiate?entityId=${encodeURIComponent(entityId)}`
    await change(site, providerPath(), { options: { idpInitiatedSsoEnabled: true } })
    const page = await alice.submit(await alice.open(initiated), { decision: 'continue' })
    await change(site, providerPath(), { assertionConsumerServiceUrl: 'https://sp.example/acs' })
    expect(page.away).toContain('SAMLart=')
  })

  it('has one URL for both bindings where the service provider does', async () => {
    const url = 'https://both.example/acs'
    await addProvider(site, {
      entityId: 'https://both.example',
      assertionConsumerServiceUrl: url,
      acs: [
        { index: 0, url, binding: 'HTTP-POST' },
        { index: 1, url, binding: 'HTTP-Artifact' },
      ],
    })
    const issuer = 'https://both.example'
    expect((await alice.open(askUrl(site, { issuer }))).body).toContain('SAMLResponse')
    expect((await alice.open(askUrl(site, { issuer, ...byArtifact }))).away).toContain('SAMLart=')
  })

  it('is offered in the metadata', async () => {
    const { body } = await site.get('/saml/idp/metadata')
    expect(body).toMatch(
      /<md:ArtifactResolutionService Binding="[^"]*:SOAP" Location="[^"]*\/saml\/idp\/artifact" index="0">/,
    )
  })

  it.runIf(backend.name === 'postgres')('is resolved once by two nodes', async () => {
    const second = await startServer(backend, { url: site.server.url, clock, listen: true })
    try {
      const at = `${second.baseUrl}/realms/acme`
      for (let round = 0; round < 5; round += 1) {
        const { artifact } = await newArtifact()
        const answers = await Promise.all([
          ...Array.from({ length: 4 }, () => resolve(artifact)),
          ...Array.from({ length: 4 }, () => resolve(artifact, {}, at)),
        ])
        const given = answers.filter(({ body }) => body.includes('<samlp:Response '))
        expect(given).toHaveLength(1)
      }
    } finally {
      await second.close()
    }
  })
})
