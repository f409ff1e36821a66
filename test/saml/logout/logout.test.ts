/** Single logout that a service provider asks for, over HTTP (SAML Profiles §4.4). */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { encrypted } from '../../broker/saml/answers.ts'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import {
  addPerson,
  authorizeUrl,
  change,
  codeOf,
  exchange,
  newPerson,
  newVerifier,
  type Page,
  type Person,
  redirectUri,
} from '../../oidc/relying-party.ts'
import { backends } from '../../support/backends.ts'
import { sender, stranger } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import {
  addProvider,
  askUrl,
  authnRequest,
  entityId,
  newRequestId,
  only,
  providerPath,
  sentOf,
  signedForm,
  verifiedOf,
} from '../fixture.ts'
import {
  asynchronous,
  isSignedIn,
  type Known,
  logoutForm,
  logoutRequest,
  logoutUrl,
  sentTo,
  sloUrl,
  subjectOf,
  visitProvider,
} from './logout-fixture.ts'

const other = 'https://other.example'
const sha1 = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'

describe.each(backends)('single logout on $name', (backend) => {
  let site: OidcSite
  let aliceId: string
  let alice: Person
  let known: Known
  beforeAll(async () => {
    site = await openIssuer(backend)
    await addProvider(site, {
      signingCertificate: sender.certificate,
      singleLogoutServiceUrl: sloUrl,
    })
    await addProvider(site, {
      entityId: other,
      assertionConsumerServiceUrl: 'https://other.example/acs',
      signingCertificate: stranger.certificate,
    })
    aliceId = await addPerson(site, 'alice')
    await addPerson(site, 'bob')
  }, 60_000)
  afterAll(() => site.close())
  beforeEach(async () => {
    alice = newPerson(site)
    known = await visitProvider(site, alice)
  })

  it('ends the session by redirect, and answers at the single logout service with the RelayState', async () => {
    const id = newRequestId()
    const relayState = 'a "state" <&> ü+%20'
    const page = await alice.open(
      logoutUrl(site, logoutRequest(site, known, { id }), { relayState }),
    )
    const answer = await sentTo(site, page)
    expect([answer.url, answer.relayState, answer.status]).toEqual([sloUrl, relayState, 'Success'])
    expect(answer.message.attributes).toMatchObject({ InResponseTo: id, Destination: sloUrl })
    expect(page.headers.getSetCookie().join()).toMatch(/Expires=Thu, 01 Jan 1970/i)
    expect(await isSignedIn(site, alice)).toBe(false)
  })

  it('answers at the address for responses where there is one (SAML Metadata §2.2.2)', async () => {
    const done = 'https://sp.example/slo/done'
    await change(site, providerPath(), { singleLogoutServiceResponseUrl: done })
    const page = await alice.open(logoutUrl(site, logoutRequest(site, known)))
    await change(site, providerPath(), { singleLogoutServiceResponseUrl: undefined })
    const { url, message, status } = await sentTo(site, page)
    expect([url, message.attributes['Destination'], status]).toEqual([done, done, 'Success'])
  })

  it('takes a request as a form from another site, and answers by a form where that is registered', async () => {
    await change(site, providerPath(), { singleLogoutServiceBinding: 'HTTP-POST' })
    const form = { ...logoutForm(logoutRequest(site, known)), RelayState: 'r s' }
    const endless = { ...form, RelayState: 'x'.repeat(4097) }
    expect((await site.post('/saml/idp/slo', endless)).status).toBe(400)
    const { status, body, headers } = await site.post('/saml/idp/slo', form)
    const answer = await sentTo(site, { url: '', status, body, headers })
    await change(site, providerPath(), { singleLogoutServiceBinding: 'HTTP-Redirect' })
    expect([answer.url, answer.relayState, answer.status]).toEqual([sloUrl, 'r s', 'Success'])
    expect(await isSignedIn(site, alice)).toBe(false)
  })

  it('ends the session with everything that was issued within it, and writes one event', async () => {
    const client = await site.client({
      clientId: `app-${newRequestId()}`,
      redirectUris: [redirectUri],
      grantTypes: ['authorization_code', 'refresh_token'],
    })
    const { challenge, verifier } = newVerifier()
    const asked = { code_challenge: challenge, code_challenge_method: 'S256' }
    const code = codeOf(await alice.open(authorizeUrl(site, client, asked)))
    const { body: tokens } = await exchange(site, client, code, { code_verifier: verifier })
    const refresh = () =>
      site.post('/token', {
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token,
        client_id: client.clientId,
        client_secret: client.secret,
      })
    await alice.open(logoutUrl(site, logoutRequest(site, known)))
    expect((await refresh()).body.error).toBe('invalid_grant')
    const [event] = await site.events('LOGOUT')
    expect(event).toMatchObject({
      outcome: 'SUCCESS',
      actor: aliceId,
      resourceType: 'saml-clients',
    })
  })

  it('ends all sessions of the user at the service provider where no SessionIndex is given', async () => {
    const second = newPerson(site)
    await visitProvider(site, second)
    // Indented messages are common.
    const inside = `<saml:NameID Format="${known.format}">\n  ${known.nameId}\n</saml:NameID>`
    await alice.open(logoutUrl(site, logoutRequest(site, known, { inside })))
    expect([await isSignedIn(site, alice), await isSignedIn(site, second)]).toEqual([false, false])
  })

  it('leaves other sessions of the user alone where a SessionIndex is given', async () => {
    const second = newPerson(site)
    await visitProvider(site, second)
    await alice.open(logoutUrl(site, logoutRequest(site, known)))
    expect([await isSignedIn(site, alice), await isSignedIn(site, second)]).toEqual([false, true])
  })

  it.each([170, -120])(
    'takes a request whose clock is %i seconds ahead (Kantara IIP-G01)',
    async (seconds) => {
      const at = Date.now() + seconds * 1000
      const attributes = { NotOnOrAfter: new Date(at).toISOString() }
      await alice.open(logoutUrl(site, logoutRequest(site, known, { at, attributes })))
      expect(await isSignedIn(site, alice)).toBe(false)
    },
  )

  it('takes the transient name of any sign-on in the session (SAML Core §8.3.8)', async () => {
    const policy =
      '<samlp:NameIDPolicy Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient"/>'
    const visit = async () => verifiedOf(site, await alice.open(askUrl(site, { inside: policy })))
    const { nameId } = await visit()
    await visit()
    const inside = `<saml:NameID>${nameId}</saml:NameID><samlp:SessionIndex>${known.sessionIndex}</samlp:SessionIndex>`
    await alice.open(logoutUrl(site, logoutRequest(site, known, { inside })))
    expect(await isSignedIn(site, alice)).toBe(false)
  })

  const refusedOnPage = async (url: string): Promise<void> => {
    const page = await alice.open(url)
    expect([page.status, page.away, page.body.includes('SAMLResponse')]).toEqual([
      400,
      undefined,
      false,
    ])
    expect(await isSignedIn(site, alice)).toBe(true)
  }

  it.each([
    ['unsigned', { key: null }],
    ['signed by another key', { key: stranger.privateKey }],
    ['signed with SHA-1', { algorithm: sha1 }],
    ['changed', { spoil: (query: string) => query.replace('RelayState=x', 'RelayState=y') }],
    ['with a second SAMLRequest', { spoil: (query: string) => `${query}&SAMLRequest=AAAA` }],
  ])('refuses a request that is %s (redirect; GHSA-vx8m-6fhw-pccw)', async (_what, options) => {
    await refusedOnPage(
      logoutUrl(site, logoutRequest(site, known), { relayState: 'x', ...options }),
    )
  })

  it.each([
    ['old', { at: Date.now() - 9 * 60_000 }],
    ['from the future', { at: Date.now() + 4 * 60_000 }],
    ['expired', { attributes: { NotOnOrAfter: new Date(Date.now() - 4 * 60_000).toISOString() } }],
    ['limited by no time', { attributes: { NotOnOrAfter: 'soon' } }],
    ['for another endpoint', { attributes: { Destination: 'https://x.example/slo' } }],
    ['for no endpoint', { attributes: { Destination: null } }],
    ['for the endpoint of sign-on', { attributes: { Destination: 'SSO' } }],
    ['of no version', { attributes: { Version: null } }],
    ['without an ID', { attributes: { ID: null } }],
    ['of an unknown sender', { issuer: 'https://unknown.example' }],
  ])('refuses a signed request that is %s', async (_what, asked) => {
    const xml = logoutRequest(site, known, asked)
    const sso = `${site.issuer}/saml/idp/sso`
    await refusedOnPage(logoutUrl(site, xml.replace('"SSO"', `"${sso}"`)))
  })

  it('tells the service provider where the user has no such session there', async () => {
    for (const [what, wrong] of [
      ['index', { ...known, sessionIndex: '_other' }],
      ['name', { ...known, nameId: 'bob' }],
      ['format', { ...known, format: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress' }],
    ] as const) {
      const page = await alice.open(logoutUrl(site, logoutRequest(site, wrong)))
      const { status } = await sentTo(site, page)
      expect([what, status]).toEqual([what, 'Requester/UnknownPrincipal'])
    }
    for (const [inside, wanted] of [
      [
        `<saml:NameID SPNameQualifier="https://x.example">${known.nameId}</saml:NameID>`,
        'Requester/UnknownPrincipal',
      ],
      [
        `<saml:NameID NameQualifier="https://x.example">${known.nameId}</saml:NameID>`,
        'Requester/UnknownPrincipal',
      ],
      [
        `<samlp:SessionIndex>${known.sessionIndex}</samlp:SessionIndex>`,
        'Requester/RequestUnsupported',
      ],
    ] as const) {
      const page = await alice.open(logoutUrl(site, logoutRequest(site, known, { inside })))
      expect([inside, (await sentTo(site, page)).status]).toEqual([inside, wanted])
    }
    expect(await isSignedIn(site, alice)).toBe(true)
    const [event] = await site.events('LOGOUT')
    expect(event).toMatchObject({ outcome: 'FAILURE' })
  })

  it('says that it cannot read a name that is encrypted: its metadata has no key for encryption', async () => {
    const { body } = await site.get('/saml/idp/metadata')
    expect(body).not.toContain('use="encryption"')
    const inside = await encrypted(`<saml:NameID>${known.nameId}</saml:NameID>`, 'EncryptedID')
    const page = await alice.open(logoutUrl(site, logoutRequest(site, known, { inside })))
    const { message, status } = await sentTo(site, page)
    expect(status).toBe('Requester/RequestUnsupported')
    expect(only(message, 'samlp:Status', 'samlp:StatusMessage').text).toContain('send it as NameID')
    expect(await isSignedIn(site, alice)).toBe(true)
  })

  it('tells the version of SAML that it does not speak, and ends nothing', async () => {
    const xml = logoutRequest(site, known, { attributes: { Version: '3.0' } })
    const { status } = await sentTo(site, await alice.open(logoutUrl(site, xml)))
    expect(status).toBe('VersionMismatch/RequestVersionTooHigh')
    expect(await isSignedIn(site, alice)).toBe(true)
  })

  it('tells that a NameID stands twice, ends nothing, and records it', async () => {
    const inside = subjectOf(known) + subjectOf({ ...known, nameId: 'x' })
    const xml = logoutRequest(site, known, { inside })
    const { status } = await sentTo(site, await alice.open(logoutUrl(site, xml)))
    expect(status).toBe('Requester/RequestUnsupported')
    expect(await isSignedIn(site, alice)).toBe(true)
    const [event] = await site.events('LOGOUT')
    expect(event).toMatchObject({ outcome: 'FAILURE' })
    expect(event?.detail).toContain('more than one saml:NameID')
  })

  it("does not end a session for a service provider that it is not at (another one's session)", async () => {
    const xml = logoutRequest(site, known, { issuer: other })
    const [before] = await site.events('LOGOUT')
    const page = await alice.open(logoutUrl(site, xml, { key: stranger.privateKey }))
    // It has no single logout service: the page tells it, and no address of the request is used.
    expect([page.status, page.away]).toEqual([400, undefined])
    expect(await isSignedIn(site, alice)).toBe(true)
    const after = await site.events('LOGOUT')
    expect(after[0]).toMatchObject({ outcome: 'FAILURE' })
    expect(after[1]).toEqual(before)
  })

  it('answers a request once (replay)', async () => {
    const inside = `<saml:NameID>${known.nameId}</saml:NameID>`
    const url = logoutUrl(site, logoutRequest(site, known, { inside }))
    expect((await sentTo(site, await alice.open(url))).status).toBe('Success')
    await visitProvider(site, alice)
    expect((await sentTo(site, await alice.open(url))).status).toBe('Requester/RequestDenied')
    expect(await isSignedIn(site, alice)).toBe(true)
  })

  describe('forms', () => {
    const post = async (xml: string): Promise<void> => {
      const form = { SAMLRequest: Buffer.from(xml).toString('base64') }
      const { status, headers, body } = await site.post('/saml/idp/slo', form)
      expect([status, headers.get('location')]).toEqual([400, null])
      expect(body).not.toContain('SAMLResponse')
      expect(await isSignedIn(site, alice)).toBe(true)
    }

    it('refuses an unsigned request, and one by another key', async () => {
      const id = newRequestId()
      const xml = logoutRequest(site, known, { id })
      await post(xml)
      await post(signed(xml, id, { key: stranger.privateKey }))
    })

    it('refuses a LogoutRequest that is made of a captured AuthnRequest', async () => {
      const captured = Buffer.from(signedForm(site)['SAMLRequest'] ?? '', 'base64').toString()
      await post(captured)
      await post(captured.replaceAll('AuthnRequest', 'LogoutRequest'))
      await post(
        captured
          .replaceAll('AuthnRequest', 'LogoutRequest')
          .replace('</samlp:LogoutRequest>', `${subjectOf(known)}</samlp:LogoutRequest>`),
      )
      const id = newRequestId()
      const attributes = { Destination: `${site.issuer}/saml/idp/slo` }
      await post(signed(authnRequest(site, { id, attributes, inside: subjectOf(known) }), id))
    })

    it('refuses a signed assertion of ours inside a forged LogoutRequest (GHSA-63ch-w8pw-4mf2)', async () => {
      const { xml } = sentOf(await alice.open(askUrl(site)))
      const assertion = /<saml:Assertion .*<\/saml:Assertion>/s.exec(xml)?.[0] ?? ''
      expect(assertion).toContain('<ds:Signature')
      await post(logoutRequest(site, known, { inside: `${assertion}${subjectOf(known)}` }))
      const around = `<samlp:Extensions>${assertion}</samlp:Extensions>${subjectOf(known)}`
      await post(logoutRequest(site, known, { inside: around }))
    })

    it('refuses every way to wrap a signed LogoutRequest (XSW)', async () => {
      const bob = { ...known, nameId: 'victim' }
      const id = newRequestId()
      const whole = signed(logoutRequest(site, bob, { id }), id)
      const signature = /<ds:Signature .*<\/ds:Signature>/s.exec(whole)?.[0] ?? ''
      const bare = whole.replace(signature, '')
      const forged = (inside: string, asked: { id?: string } = {}) =>
        logoutRequest(site, known, { ...asked, inside: `${inside}${subjectOf(known)}` })
      const extensions = (inside: string) => `<samlp:Extensions>${inside}</samlp:Extensions>`
      for (const wrapped of [
        forged(extensions(whole)),
        forged(`${signature}${extensions(bare)}`),
        forged(
          signature.replace('</ds:Signature>', `<ds:Object>${bare}</ds:Object></ds:Signature>`),
        ),
        forged(extensions(`${signature}${bare}`)),
        forged(signature, { id }),
        forged(`${signature}${extensions(bare)}`, { id }),
        whole.replace('>victim<', `>${known.nameId}<`),
        whole.replace('>victim<', `>${known.nameId}<!---->victim<`),
        whole.replace('</samlp:LogoutRequest>', `${subjectOf(known)}</samlp:LogoutRequest>`),
        `${whole}${logoutRequest(site, known)}`,
        `${logoutRequest(site, known)}${whole}`,
      ])
        await post(wrapped)
    })
  })

  it('does nothing for a service provider that is disabled', async () => {
    await change(site, providerPath(), { enabled: false })
    const page = await alice.open(logoutUrl(site, logoutRequest(site, known)))
    await change(site, providerPath(), { enabled: true })
    expect(page.status).toBe(400)
    expect(await isSignedIn(site, alice)).toBe(true)
  })

  it('answers a request that wants no answer by a page (SAML V2.0 Asynchronous Single Logout §2.2)', async () => {
    const asked = (inside: string) =>
      alice.open(logoutUrl(site, logoutRequest(site, known, { inside: asynchronous + inside })))
    const told = ({ status, away, body }: Page) => [status, away, body.includes('SAMLResponse')]
    const unknown = subjectOf({ ...known, nameId: 'unknown' })
    expect(told(await asked(unknown))).toEqual([400, undefined, false])
    expect(await isSignedIn(site, alice)).toBe(true)
    expect(told(await asked(subjectOf(known)))).toEqual([200, undefined, false])
    expect(await isSignedIn(site, alice)).toBe(false)
  })

  it('shows a page where the service provider has no single logout service', async () => {
    await change(site, providerPath(), { singleLogoutServiceUrl: undefined })
    const xml = logoutRequest(site, known, { attributes: { Consent: 'https://evil.example' } })
    const page = await alice.open(logoutUrl(site, xml, { relayState: 'https://evil.example' }))
    await change(site, providerPath(), { singleLogoutServiceUrl: sloUrl })
    expect([page.status, page.away, page.body.includes('evil')]).toEqual([200, undefined, false])
    expect(await isSignedIn(site, alice)).toBe(false)
  })

  it('offers the endpoint in the metadata, for all three bindings', async () => {
    const { body } = await site.get('/saml/idp/metadata')
    const services = [...String(body).matchAll(/<md:SingleLogoutService [^>]*>/g)].join()
    for (const binding of ['HTTP-Redirect', 'HTTP-POST', 'SOAP'])
      expect(services).toContain(`bindings:${binding}"`)
    const { body: endpoints } = await site.admin('GET', '/endpoints')
    expect(endpoints.samlSlo).toBe(`${site.issuer}/saml/idp/slo`)
    expect(entityId).not.toBe(other)
  })
})
