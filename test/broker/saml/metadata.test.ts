/** The metadata of a SAML provider: at an address, which is read again by itself, or in the document. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { receiver, sender, stranger } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { at, idp, now, response, sp } from './answers.ts'
import { answering, artifactOf, openSamlSite, posted, refused, type SamlSite } from './fixture.ts'

const pem = (party: typeof sender): string => party.x509.toString()

const keyDescriptor = (certificate: string): string =>
  `<md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`

const idpMetadata = (...certificates: readonly string[]): string =>
  `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="${idp}"><md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${certificates.map(keyDescriptor).join('')}<md:ArtifactResolutionService Binding="urn:oasis:names:tc:SAML:2.0:bindings:SOAP" Location="https://idp.example/art" index="0"/><md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo" ResponseLocation="https://idp.example/slo-answer"/><md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://idp.example/post"/></md:IDPSSODescriptor></md:EntityDescriptor>`

describe.each(backends)('metadata of a SAML provider on $name', (backend) => {
  let saml: SamlSite
  let time = now
  beforeAll(async () => {
    saml = await openSamlSite(backend, { now: () => time })
  }, 60_000)
  afterAll(() => saml.close())

  const publish = (xml: string): void =>
    saml.outside.answer((answer) => answer.writeHead(200).end(xml))
  /** Of all providers whose metadata is due. */
  const round = async (signal = new AbortController().signal) =>
    saml.broker.refreshMetadata((await saml.issuer()).view, signal)
  const signIn = async (alias: string, key = sender.privateKey) => {
    const asked = await saml.begin(alias)
    return refused(saml.finish(alias, posted(answering(asked).answer({}, key), asked)))
  }

  it('is asked where it says, and its keys change by themselves', async () => {
    const { alias } = await saml.provider({ spEntityId: sp, metadataUrl: saml.outside.url('/m') })
    publish(idpMetadata(sender.certificate))
    const { departure } = await saml.begin(alias)
    expect(departure).toMatchObject({ kind: 'form', action: 'https://idp.example/post' })
    expect(await signIn(alias)).toBe(undefined)
    const reads = () => saml.outside.at('/m').length
    const before = reads()
    // Two keys while it changes, then the new one alone; an unknown key is looked up at once, but not at every answer.
    publish(idpMetadata(sender.certificate, stranger.certificate))
    expect(await signIn(alias, stranger.privateKey)).toMatch(/^invalid-answer: signature/)
    expect(reads()).toBe(before)
    time += 61_000
    try {
      expect(await signIn(alias, stranger.privateKey)).toBe(undefined)
      expect(reads()).toBe(before + 1)
      expect(await signIn(alias)).toBe(undefined)
    } finally {
      time = now
    }
  })

  it('that names another entity, read for a new key, makes other people', async () => {
    const { alias } = await saml.provider({ spEntityId: sp, metadataUrl: saml.outside.url('/e') })
    publish(idpMetadata(sender.certificate))
    expect(await signIn(alias)).toBe(undefined)
    const other = 'https://other.example/metadata'
    publish(idpMetadata(stranger.certificate).replace(idp, other))
    time += 61_000
    try {
      const asked = await saml.begin(alias)
      const issuer = `<saml:Issuer>${other}</saml:Issuer>`
      const { signedAssertion, inResponse } = answering(asked)
      // A Response that is not signed need not name its sender: the key alone leads to the new metadata.
      const inside = signedAssertion({ issuer }, stranger.privateKey)
      const xml = response(inside, { ...inResponse, issuer: '' })
      const identity = await saml.finish(alias, posted(xml, asked))
      expect(identity).toMatchObject({ issuer: other, subject: 'alice-1' })
    } finally {
      time = now
    }
  })

  it('is looked up for a logout by an unknown key too', async () => {
    const { alias } = await saml.provider({ spEntityId: sp, metadataUrl: saml.outside.url('/l') })
    publish(idpMetadata(sender.certificate))
    expect(await signIn(alias)).toBe(undefined)
    publish(idpMetadata(sender.certificate, stranger.certificate))
    const url = `${saml.site.issuer}/broker/${alias}/logout`
    const tell = async (id: string, seconds: number): Promise<number> => {
      const xml = `<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id}" Version="2.0" IssueInstant="${at(seconds)}" Destination="${url}"><saml:Issuer>${idp}</saml:Issuer><saml:NameID>somebody</saml:NameID></samlp:LogoutRequest>`
      const message = Buffer.from(signed(xml, id, { key: stranger.privateKey })).toString('base64')
      const body = new URLSearchParams({ SAMLRequest: message })
      return (await fetch(url, { method: 'POST', body, redirect: 'manual' })).status
    }
    expect(await tell('_early', 0)).toBe(400)
    time += 61_000
    try {
      expect(await tell('_late', 61)).toBeLessThan(400)
    } finally {
      time = now
    }
  })

  it('is read again when it is due, and an old key is dead', async () => {
    const { alias } = await saml.provider({
      spEntityId: sp,
      metadataUrl: saml.outside.url('/n'),
      metadataRefresh: '1h',
    })
    publish(idpMetadata(sender.certificate))
    expect(await signIn(alias)).toBe(undefined)
    publish(idpMetadata(stranger.certificate))
    await round()
    expect(await signIn(alias)).toBe(undefined)
    time = now + 3_600_001
    await round()
    time = now
    expect(await signIn(alias)).toMatch(/signature/)
    expect(await signIn(alias, stranger.privateKey)).toBe(undefined)
  })

  it('is refused where it cannot be read, and what was read before stays in use', async () => {
    const { alias } = await saml.provider({ spEntityId: sp, metadataUrl: saml.outside.url('/o') })
    saml.outside.answer(500)
    const reads = () => saml.outside.at('/o').length
    const before = reads()
    // A provider that failed a moment ago is not asked by every sign-in.
    for (const _ of [1, 2])
      expect(await refused(saml.begin(alias))).toMatch(
        /^unavailable: the metadata of the provider: url: answered with status 500/,
      )
    expect(reads()).toBe(before + 1)
    const { alias: known } = await saml.provider({
      spEntityId: sp,
      metadataUrl: saml.outside.url('/o'),
      metadataRefresh: '1h',
    })
    publish(idpMetadata(sender.certificate))
    expect(await signIn(known)).toBe(undefined)
    saml.outside.answer(500)
    time = now + 3_600_001
    await round()
    time = now
    expect(await signIn(known)).toBe(undefined)
  })

  it('counts no failure for a read that the server gave up', async () => {
    const { alias } = await saml.provider({ spEntityId: sp, metadataUrl: saml.outside.url('/t') })
    const stopping = new AbortController()
    saml.outside.answer(() => stopping.abort())
    await round(stopping.signal)
    expect(saml.outside.at('/t')).toHaveLength(1)
    publish(idpMetadata(sender.certificate))
    expect(await signIn(alias)).toBe(undefined)
  })

  it('is read for providers that name its address alone', async () => {
    const { alias } = await saml.provider({
      spEntityId: sp,
      metadataXml: idpMetadata(sender.certificate),
    })
    await round()
    const { body } = await saml.site.admin('POST', `/identity-providers/${alias}/check`)
    expect(JSON.stringify(body)).not.toContain('metadataUrl')
  })

  it('is dead after its validUntil, and where the document names another address', async () => {
    const { alias } = await saml.provider({ spEntityId: sp, metadataUrl: saml.outside.url('/q') })
    const limited = idpMetadata(sender.certificate)
    publish(limited.replace('entityID=', `validUntil="${at(3600)}" entityID=`))
    expect(await signIn(alias)).toBe(undefined)
    saml.outside.answer(500)
    time = now + 3_600_001
    const late = await refused(saml.begin(alias))
    time = now
    expect(late).toMatch(/^unavailable/)
    const { alias: moved } = await saml.provider({
      spEntityId: sp,
      metadataUrl: saml.outside.url('/r'),
    })
    publish(idpMetadata(sender.certificate))
    expect(await signIn(moved)).toBe(undefined)
    publish(idpMetadata(stranger.certificate))
    await saml.site.admin('PUT', `/identity-providers/${moved}`, {
      alias: moved,
      protocol: 'saml',
      config: { spEntityId: sp, metadataUrl: saml.outside.url('/s') },
    })
    expect(await signIn(moved)).toMatch(/^invalid-answer: signature/)
    expect(await signIn(moved, stranger.privateKey)).toBe(undefined)
  })

  it('must be signed with metadataCertificate', async () => {
    const location = {
      reference: "//*[local-name(.)='EntityDescriptor']",
      action: 'prepend',
    } as const
    const xml = idpMetadata(sender.certificate).replace('entityID=', 'ID="_m" entityID=')
    const config = {
      spEntityId: sp,
      metadataUrl: saml.outside.url('/p'),
      metadataCertificate: pem(stranger),
    }
    publish(signed(xml, '_m', { location }))
    expect(await refused(saml.begin((await saml.provider(config)).alias))).toMatch(/signature/)
    publish(signed(xml, '_m', { location, key: stranger.privateKey }))
    expect(await refused(saml.begin((await saml.provider(config)).alias))).toBe(undefined)
  })

  it('names the service that an artifact is resolved at; one that it does not name is not asked', async () => {
    const metadataXml = idpMetadata(sender.certificate)
    const config = { spEntityId: sp, metadataXml, responseBinding: 'HTTP-Artifact' }
    const { alias } = await saml.provider(config)
    const asked = await saml.begin(alias)
    const form = { SAMLart: artifactOf(idp, 3), RelayState: asked.relayState }
    expect(await refused(saml.finish(alias, form))).toMatch(
      /^not-allowed: the provider has no artifact resolution service 3/,
    )
  })

  it('is read where its encryption key, which is not used here, has no certificate', async () => {
    const bare =
      '<md:KeyDescriptor use="encryption"><ds:KeyInfo><ds:KeyName>x</ds:KeyName></ds:KeyInfo></md:KeyDescriptor>'
    const metadataXml = idpMetadata(sender.certificate).replace(
      '<md:Artifact',
      `${bare}<md:Artifact`,
    )
    const { alias } = await saml.provider({ spEntityId: sp, metadataXml })
    expect(await signIn(alias)).toBe(undefined)
  })

  it('may stand in the document', async () => {
    const { alias } = await saml.provider({
      spEntityId: sp,
      metadataXml: idpMetadata(sender.certificate, stranger.certificate),
    })
    expect(await signIn(alias)).toBe(undefined)
    expect(await signIn(alias, stranger.privateKey)).toBe(undefined)
    expect(await signIn(alias, receiver.privateKey)).toMatch(/signature/)
  })
})

describe.each(backends)('metadata of the only SAML provider of a realm on $name', (backend) => {
  let saml: SamlSite
  beforeAll(async () => {
    saml = await openSamlSite(backend)
  }, 60_000)
  afterAll(() => saml.close())

  const round = async () =>
    saml.broker.refreshMetadata((await saml.issuer()).view, new AbortController().signal)

  it('is not kept where the provider was deleted while it was read', async () => {
    const { alias } = await saml.provider({ spEntityId: sp, metadataUrl: saml.outside.url('/m') })
    saml.outside.answer(async (answer) => {
      await saml.site.admin('DELETE', `/identity-providers/${alias}`)
      answer.writeHead(200).end(idpMetadata(sender.certificate))
    })
    await round()
    expect(saml.outside.at('/m')).toHaveLength(1)
  })

  it('is used by no sign-in where it cannot be stored', async () => {
    const { alias } = await saml.provider({ spEntityId: sp, metadataUrl: saml.outside.url('/n') })
    const { storage } = saml.site.server.areas
    const rename = (from: string, to: string) =>
      storage.commit([{ sql: `alter table ${from} rename to ${to}`, parameters: [] }])
    saml.outside.answer(async (answer) => {
      await rename('identity_provider_metadata', 'away')
      answer.writeHead(200).end(idpMetadata(sender.certificate))
    })
    const withoutTable = <T>(work: () => Promise<T>): Promise<T> =>
      work().finally(() => rename('away', 'identity_provider_metadata'))
    await expect(withoutTable(round)).rejects.toThrow(/identity_provider_metadata/)
    const url = `${saml.site.issuer}/broker/${alias}/login`
    const { status } = await withoutTable(() => fetch(url, { redirect: 'manual' }))
    expect(status).toBe(500)
  })
})
