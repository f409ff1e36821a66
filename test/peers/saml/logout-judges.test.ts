/** Messages of single logout and of the artifact binding, before the schemas of OASIS and xmlsec1. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import {
  addPerson,
  hiddenFields,
  newPerson,
  type Page,
  type Person,
} from '../../oidc/relying-party.ts'
import {
  addProvider,
  askUrl,
  certificatesOf,
  entityId,
  newRequestId,
  spaces,
} from '../../saml/fixture.ts'
import {
  type Known,
  logoutForm,
  logoutRequest,
  logoutUrl,
  visitProvider,
} from '../../saml/logout/logout-fixture.ts'
import { backends } from '../../support/backends.ts'
import { sender } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { type Judges, openJudges } from './judges.ts'

const wiki = 'https://wiki.example'

const envelope = (message: string): string =>
  `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${message}</s:Body></s:Envelope>`

describe.each(backends.slice(0, 1))('messages of logout and of artifacts', (backend) => {
  let site: OidcSite
  let judges: Judges
  let certificates: string[]
  let alice: Person
  let known: Known

  beforeAll(async () => {
    judges = openJudges()
    site = await openIssuer(backend)
    const both = {
      signingCertificate: sender.certificate,
      singleLogoutServiceBinding: 'HTTP-POST',
    }
    await addProvider(site, {
      ...both,
      singleLogoutServiceUrl: 'https://sp.example/slo',
      acs: [{ index: 1, url: 'https://sp.example/artifact', binding: 'HTTP-Artifact' }],
    })
    await addProvider(site, {
      ...both,
      entityId: wiki,
      singleLogoutServiceUrl: 'https://wiki.example/slo',
    })
    await addPerson(site, 'alice')
    certificates = certificatesOf((await site.get('/saml/idp/metadata')).body)
  })
  afterAll(async () => {
    judges?.close()
    await site?.close()
  })
  beforeEach(async () => {
    alice = newPerson(site)
    known = await visitProvider(site, alice)
  })

  const carried = ({ body }: Page, parameter: string): string =>
    Buffer.from(hiddenFields(body)[parameter] ?? '', 'base64').toString()
  const soap = async (path: string, message: string): Promise<string> => {
    const headers = { 'content-type': 'text/xml' }
    const body = envelope(message)
    return (await fetch(`${site.issuer}${path}`, { method: 'POST', headers, body })).text()
  }

  it('a LogoutResponse is valid and signed, with success and with a status', async () => {
    const done = await alice.open(logoutUrl(site, logoutRequest(site, known)))
    expect(judges.signedIn(carried(done, 'SAMLResponse'), certificates)).toEqual(['LogoutResponse'])
    const unknown = await alice.open(logoutUrl(site, logoutRequest(site, known)))
    const xml = carried(unknown, 'SAMLResponse')
    expect(xml).toContain('status:UnknownPrincipal')
    expect(judges.signedIn(xml, certificates)).toEqual(['LogoutResponse'])
  })

  it('a LogoutRequest is valid and signed', async () => {
    await visitProvider(site, alice, wiki)
    const page = await alice.open(logoutUrl(site, logoutRequest(site, known)))
    const [, frame = ''] = /<iframe src="([^"]*)"/.exec(page.body) ?? []
    const told = await alice.open(new URL(frame, page.url).href)
    expect(judges.signedIn(carried(told, 'SAMLRequest'), certificates)).toEqual(['LogoutRequest'])
  })

  it('a LogoutResponse over SOAP is valid and signed', async () => {
    const { SAMLRequest = '' } = logoutForm(logoutRequest(site, known))
    const answer = await soap('/saml/idp/slo', Buffer.from(SAMLRequest, 'base64').toString())
    const [message = ''] = /<samlp:LogoutResponse .*<\/samlp:LogoutResponse>/s.exec(answer) ?? []
    expect(judges.signedIn(message, certificates)).toEqual(['LogoutResponse'])
  })

  it('an ArtifactResponse is valid, with a response whose signatures hold inside it, and without', async () => {
    const asked = { attributes: { AssertionConsumerServiceIndex: '1' } }
    const { away = '' } = await alice.open(askUrl(site, asked))
    const artifact = new URL(away).searchParams.get('SAMLart') ?? ''
    const resolved = async (): Promise<string[]> => {
      const id = newRequestId()
      const at = new Date().toISOString()
      const xml = `<samlp:ArtifactResolve ${spaces} ID="${id}" Version="2.0" IssueInstant="${at}"><saml:Issuer>${entityId}</saml:Issuer><samlp:Artifact>${artifact}</samlp:Artifact></samlp:ArtifactResolve>`
      const answer = await soap('/saml/idp/artifact', signed(xml, id))
      const [message = ''] =
        /<samlp:ArtifactResponse .*<\/samlp:ArtifactResponse>/s.exec(answer) ?? []
      return judges.signedIn(message, certificates)
    }
    expect(await resolved()).toEqual(['ArtifactResponse', 'Response', 'Assertion'])
    expect(await resolved()).toEqual(['ArtifactResponse'])
  })
})
