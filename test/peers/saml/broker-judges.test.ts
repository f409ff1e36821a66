/**
 * What we send to SAML providers, and what our test providers of eHerkenning and eIDAS answer, judged by xmlsec1 and the schemas: tests
 * with messages that no real provider could send would prove nothing.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encrypted, idp, response, signedAssertion, sp } from '../../broker/saml/answers.ts'
import {
  answering,
  artifactOf,
  type SamlSite as BrokerSite,
  openSamlSite as openBrokerSite,
  refused,
} from '../../broker/saml/fixture.ts'
import { backends } from '../../support/backends.ts'
import { receiver, sender, stranger } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { type Judges, openJudges } from './judges.ts'

const explicit = {
  spEntityId: sp,
  idpEntityId: idp,
  ssoUrl: 'https://idp.example/sso',
  singleLogoutServiceUrl: 'https://idp.example/slo',
  singleLogoutServiceBinding: 'HTTP-POST',
  idpSigningCertificate: sender.x509.toString(),
  authnRequestBinding: 'HTTP-POST',
}
const keyPem = receiver.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

describe.each(backends.slice(0, 1))('judged messages of brokering on $name', (backend) => {
  let site: BrokerSite
  let judges: Judges
  beforeAll(async () => {
    site = await openBrokerSite(backend)
    judges = openJudges()
  })
  afterAll(async () => {
    judges?.close()
    await site?.close()
  })

  const metadataOf = async (alias: string): Promise<string> => {
    const answer = await site.site.get(`/broker/${alias}/metadata`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^application\/samlmetadata\+xml/),
    ])
    return answer.body
  }
  const signersIn = (metadata: string): string[] =>
    [...metadata.matchAll(/use="signing">.*?<ds:X509Certificate>([^<]+)/g)].map(
      ([, one]) => one ?? '',
    )

  it('our metadata and our requests are signed by the realm, and the schemas allow them', async () => {
    const { alias } = await site.provider({
      ...explicit,
      spDecryptionPrivateKey: keyPem,
      spDecryptionCertificate: receiver.x509.toString(),
      authnContextClassRefs: ['urn:example:mfa'],
      attributeConsumingServiceIndex: 3,
    })
    const metadata = await metadataOf(alias)
    const keys = signersIn(metadata)
    expect(judges.signedIn(metadata, keys)).toEqual(['EntityDescriptor'])
    expect(metadata).toContain(receiver.certificate)
    const { xml } = await site.begin(alias, { forceAuthn: true })
    expect(judges.signedIn(xml, keys)).toEqual(['AuthnRequest'])
    const { alias: bare } = await site.provider({ ...explicit, spDecryptionPrivateKey: keyPem })
    const plain = await metadataOf(bare)
    expect(judges.signedIn(plain, keys)).toEqual(['EntityDescriptor'])
    expect(plain).toContain('<ds:RSAKeyValue>')
    expect((await site.site.get('/broker/nobody/metadata')).status).toBe(404)
  })

  it('what we send to resolve an artifact is', async () => {
    const { alias } = await site.provider({
      ...explicit,
      responseBinding: 'HTTP-Artifact',
      artifactResolutionServiceUrl: site.outside.url('/artifact'),
    })
    const { relayState } = await site.begin(alias)
    site.outside.answer(500)
    const form = { SAMLart: artifactOf(), RelayState: relayState }
    expect(await refused(site.finish(alias, form))).toMatch(/500/)
    const [{ body } = expect.unreachable()] = site.outside.at('/artifact').slice(-1)
    const [sent = ''] = /<samlp:ArtifactResolve .*<\/samlp:ArtifactResolve>/s.exec(body) ?? []
    const keys = signersIn(await metadataOf(alias))
    expect(judges.signedIn(sent, keys)).toEqual(['ArtifactResolve'])
  })

  it('requests of eHerkenning and eIDAS are', async () => {
    const eid = {
      ...explicit,
      spSigningPrivateKey: keyPem,
      spSigningCertificate: receiver.x509.toString(),
    }
    for (const [protocol, minimumLoa] of [
      ['eherkenning', 'urn:etoegang:core:assurance-class:loa3'],
      ['eidas', 'high'],
    ] as const) {
      const { alias } = await site.provider(
        { ...eid, minimumLoa, spDecryptionPrivateKey: keyPem },
        protocol,
      )
      const { xml } = await site.begin(alias)
      expect(judges.signedIn(xml, [receiver.certificate])).toEqual(['AuthnRequest'])
    }
  })

  it('answers of the test providers are', async () => {
    const { alias } = await site.provider(explicit)
    const { inResponse, signedAssertion: inside } = answering(await site.begin(alias))
    const advice = `<saml:Advice>${signedAssertion({ id: '_ad' }, { key: stranger.privateKey })}</saml:Advice>`
    const certificates = [sender.certificate, stranger.certificate]
    const open = signed(response(inside({ advice }), inResponse), '_r')
    expect(judges.signedIn(open, certificates)).toEqual(['Response', 'Assertion', 'Assertion'])
    const hidden = signed(response(await encrypted(inside({ advice })), inResponse), '_r')
    const opened = judges.decrypted(hidden, keyPem)
    expect(judges.signedIn(opened, certificates)).toEqual(['Assertion', 'Assertion'])
  })
})
