/** Single sign-on for a SAML service provider, over HTTP (SAML Profiles §4.1). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLogger } from '#server/platform/logger.ts'
import { statement } from '#server/storage/statements.ts'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { addPerson, change, newPerson, type Person, password } from '../oidc/relying-party.ts'
import { backends } from '../support/backends.ts'
import { sender } from '../xml/keys.ts'
import {
  acsUrl,
  addProvider,
  askUrl,
  authnRequest,
  entityId,
  newRequestId,
  only,
  providerPath,
  sentOf,
  signedForm,
  statusOf,
  verifiedOf,
} from './fixture.ts'

const ac = 'urn:oasis:names:tc:SAML:2.0:ac:classes'

describe.each(backends)('single sign-on on $name', (backend) => {
  let site: OidcSite
  const lines: string[] = []
  let aliceId: string
  let alice: Person
  beforeAll(async () => {
    const destination = { write: (line: string) => void lines.push(line) }
    site = await openIssuer(backend, { logger: createLogger({ level: 'warn', destination }) })
    await addProvider(site, { signingCertificate: sender.certificate })
    aliceId = await addPerson(site, 'alice')
    await addPerson(site, 'bob')
    alice = newPerson(site)
    await alice.signIn(askUrl(site))
  }, 60_000)
  afterAll(() => site.close())

  it('gives a RelayState back that is longer than 80 bytes, and warns of it', async () => {
    const warnings = () => lines.filter((line) => line.includes('RelayState'))
    const ask = (relayState: string) => alice.open(askUrl(site, {}, { relayState }))
    const [longest, longer] = ['ü'.repeat(40), `${'ü'.repeat(40)}x`]
    expect(sentOf(await ask(longest)).relayState).toBe(longest)
    expect(warnings()).toEqual([])
    expect(sentOf(await ask(longer)).relayState).toBe(longer)
    expect(warnings().map((line) => JSON.parse(line))).toMatchObject([{ entityId, bytes: 81 }])
    const most = 'x'.repeat(4096)
    expect(sentOf(await ask(most)).relayState).toBe(most)
  })

  it('refuses a RelayState of more than 4096 bytes, and stores none', async () => {
    const page = await alice.open(askUrl(site, {}, { relayState: 'x'.repeat(4097) }))
    expect(page.status).toBe(400)
    expect(page.body).toContain('the RelayState is longer than 4096 bytes')
    const form = { ...signedForm(site), RelayState: 'x'.repeat(4097) }
    expect((await site.post('/saml/idp/sso', form)).status).toBe(400)
  })

  it('leads through the sign-in form to a signed response at the service provider', async () => {
    const id = newRequestId()
    const relayState = 'a "state" <&> ü+%20'
    const page = await newPerson(site).signIn(askUrl(site, { id }, { relayState }))
    expect(page.status).toBe(200)
    const told = await verifiedOf(site, page)
    expect([told.url, told.relayState, statusOf(told)]).toEqual([acsUrl, relayState, 'Success'])
    expect(told.response.attributes).toMatchObject({
      Destination: acsUrl,
      InResponseTo: id,
      Version: '2.0',
    })
    expect(only(told.assertion, 'saml:Issuer').text).toBe(site.issuer)
    expect(told.format).toBe('persistent')
    expect(told.nameId).not.toBe(aliceId)
    expect(only(told.assertion, 'saml:Subject', 'saml:NameID').attributes).toMatchObject({
      NameQualifier: site.issuer,
      SPNameQualifier: entityId,
    })
    const confirmation = only(told.assertion, 'saml:Subject', 'saml:SubjectConfirmation')
    expect(confirmation.attributes['Method']).toBe('urn:oasis:names:tc:SAML:2.0:cm:bearer')
    expect(only(confirmation, 'saml:SubjectConfirmationData').attributes).toMatchObject({
      InResponseTo: id,
      Recipient: acsUrl,
    })
    const audience = only(
      told.assertion,
      'saml:Conditions',
      'saml:AudienceRestriction',
      'saml:Audience',
    )
    expect(audience.text).toBe(entityId)
    expect(told.contextClass).toBe(`${ac}:PasswordProtectedTransport`)
    expect(told.attributes).toEqual({ username: ['alice'], email: ['alice@acme.example'] })
    expect(told.xml).not.toContain('alice</saml:NameID>')
  })

  it('names the service provider on the sign-in page, and no client of the same name', async () => {
    await site.client({ clientId: entityId, name: 'Not asked' })
    const { body } = await newPerson(site).open(askUrl(site))
    expect(body).toContain('to continue to The &lt;Shop&gt;.')
    expect(body).not.toContain('Not asked')
  })

  it('uses the session again, and knows the user by the same name', async () => {
    const [first, second] = [await alice.open(askUrl(site)), await alice.open(askUrl(site))]
    const [one, two] = [await verifiedOf(site, first), await verifiedOf(site, second)]
    expect(one.nameId).toBe(two.nameId)
    expect(one.response.attributes['ID']).not.toBe(two.response.attributes['ID'])
    const index = (told: typeof one) =>
      only(told.assertion, 'saml:AuthnStatement').attributes['SessionIndex']
    expect(index(one)).toBe(index(two))
  })

  it('gives each service provider a SessionIndex of its own, so that they cannot compare users', async () => {
    const issuer = 'https://second.example'
    await addProvider(site, { entityId: issuer })
    const indexAt = async (asked: object) =>
      only(
        (await verifiedOf(site, await alice.open(askUrl(site, asked)))).assertion,
        'saml:AuthnStatement',
      ).attributes['SessionIndex']
    expect(await indexAt({})).toMatch(/^_/)
    expect(await indexAt({ issuer })).not.toBe(await indexAt({}))
  })

  it('takes a signed request as a form from another site, whose cookies do not come along', async () => {
    const crossSite = await site.post('/saml/idp/sso', { ...signedForm(site), RelayState: 'r s' })
    expect(crossSite.status).toBe(303)
    const next = `${site.server.baseUrl}${crossSite.headers.get('location')}`
    const told = await verifiedOf(site, await alice.open(next))
    expect([statusOf(told), told.relayState]).toEqual(['Success', 'r s'])
    expect((await alice.open(next)).status).toBe(403)
  })

  it('answers a request once (replay)', async () => {
    const url = askUrl(site)
    expect(statusOf(sentOf(await alice.open(url)))).toBe('Success')
    expect(statusOf(sentOf(await alice.open(url)))).toBe('Requester/RequestDenied')
  })

  it('sends an answer to assertion consumer services that are registered, and nowhere else', async () => {
    const acs = [{ index: 4, url: 'https://sp.example/four', binding: 'HTTP-POST' }]
    await change(site, providerPath(), {
      acs,
      options: { additionalAcsUrls: ['https://sp.example/more?a=b&c'] },
    })
    await addProvider(site, {
      entityId: 'https://other.example',
      assertionConsumerServiceUrl: 'https://other.example/acs',
    })
    const at = async (attributes: Record<string, string>) => {
      const page = await alice.open(askUrl(site, { attributes }))
      return page.status === 200 ? sentOf(page).url : page.status
    }
    const url = (value: string) => ({ AssertionConsumerServiceURL: value })
    expect(await at(url('https://sp.example/more?a=b&c'))).toBe('https://sp.example/more?a=b&c')
    expect(await at({ AssertionConsumerServiceIndex: '4' })).toBe('https://sp.example/four')
    const post = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST'
    expect(await at({ ...url(acsUrl), ProtocolBinding: post })).toBe(acsUrl)
    for (const refused of [
      url('https://other.example/acs'),
      url('https://sp.example/acs/'),
      url('https://SP.example/acs'),
      url('https://sp.example/acs?x=1'),
      url('https://sp.example:443/acs'),
      url('javascript:alert(1)'),
      url(''),
      { ...url('https://sp.example/four'), AssertionConsumerServiceIndex: '4' },
      {
        AssertionConsumerServiceIndex: '4',
        ProtocolBinding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
      },
      {
        ...url('https://other.example/acs'),
        ProtocolBinding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
      },
    ])
      expect([refused, await at(refused)]).toEqual([refused, 400])
  })

  it('tells at the default address of an index that is unknown (SAML Core §3.4.1)', async () => {
    const acs = [{ index: 4, url: 'https://sp.example/four', binding: 'HTTP-POST' }]
    await change(site, providerPath(), { acs })
    for (const index of ['5', '04', '-1', 'four', ''])
      for (const key of [undefined, sender.privateKey]) {
        const attributes = { AssertionConsumerServiceIndex: index }
        const asked = askUrl(site, { attributes }, { relayState: 'r', ...(key ? { key } : {}) })
        const sent = sentOf(await alice.open(asked))
        expect([index, sent.url, statusOf(sent), sent.relayState]).toEqual([
          index,
          acsUrl,
          'Requester/RequestUnsupported',
          'r',
        ])
        expect(sent.xml).not.toContain('saml:Assertion')
      }
  })

  it.each(['HTTP-Redirect', 'HTTP-Artifact', 'PAOS'])(
    'answers a request for the binding %s, which is not registered, with UnsupportedBinding by the one that is',
    async (name) => {
      const attributes = { ProtocolBinding: `urn:oasis:names:tc:SAML:2.0:bindings:${name}` }
      const sent = sentOf(await alice.open(askUrl(site, { attributes })))
      expect([sent.url, statusOf(sent)]).toEqual([acsUrl, 'Requester/UnsupportedBinding'])
    },
  )

  it.each([
    ['1.1', 'VersionMismatch/RequestVersionTooLow'],
    ['2.1', 'VersionMismatch/RequestVersionTooHigh'],
    ['10.0', 'VersionMismatch/RequestVersionTooHigh'],
  ])(
    'tells the version that it does not speak: %s (SAML Core §4.1.3.3)',
    async (Version, status) => {
      const sent = sentOf(await alice.open(askUrl(site, { attributes: { Version } })))
      expect([sent.url, statusOf(sent)]).toEqual([acsUrl, status])
    },
  )

  it('signs in whatever set of attributes is asked for: the realm decides what it releases (SAML Core §3.4.1)', async () => {
    const attributes = '<saml:Attribute Name="username"'
    for (const AttributeConsumingServiceIndex of ['0', '7', '65536', 'x']) {
      const page = await alice.open(
        askUrl(site, { attributes: { AttributeConsumingServiceIndex } }),
      )
      const told = await verifiedOf(site, page)
      expect([statusOf(told), told.xml.includes(attributes)]).toEqual(['Success', true])
    }
  })

  it('knows an Issuer that stands on a line of its own', async () => {
    const page = await alice.open(askUrl(site, { issuer: `\n  ${entityId}\n` }))
    expect(statusOf(sentOf(page))).toBe('Success')
  })

  it('takes a request whose clock is almost three minutes fast (Kantara IIP-G01)', async () => {
    const page = await alice.open(askUrl(site, { at: Date.now() + 170_000 }))
    expect(statusOf(sentOf(page))).toBe('Success')
  })

  it.each([
    ['another Issuer', { issuer: 'https://unknown.example' }],
    ['another Destination', { attributes: { Destination: 'https://other.example/sso' } }],
    ['an old IssueInstant', { at: Date.now() - 9 * 60_000 }],
    ['an IssueInstant to come', { at: Date.now() + 4 * 60_000 }],
    [
      'an IssueInstant in another zone',
      { attributes: { IssueInstant: '2026-11-17T07:00:00+01:00' } },
    ],
    ['no IssueInstant', { attributes: { IssueInstant: null } }],
    ['no ID', { attributes: { ID: null } }],
    ['no Version', { attributes: { Version: null } }],
    ['a Version that is none', { attributes: { Version: 'two' } }],
  ])('shows a page with a request id for %s, and leads nowhere', async (_what, asked) => {
    const page = await alice.open(askUrl(site, asked))
    expect([page.status, page.away]).toEqual([400, undefined])
    expect(page.body).toMatch(/<code>[0-9a-f-]{36}<\/code>/)
    expect(page.body).not.toContain('SAMLResponse')
  })

  it('tells what it is not: no request, twice, no base64, another message', async () => {
    for (const query of [
      '',
      'SAMLRequest=',
      'SAMLRequest=AAAA&SAMLRequest=AAAA',
      'SAMLRequest=%3Cx%3E',
      'SAMLResponse=AAAA',
    ])
      expect((await alice.open(`${site.issuer}/saml/idp/sso?${query}`)).status).toBe(400)
    const logout = authnRequest(site).replaceAll('AuthnRequest', 'LogoutRequest')
    const form = { SAMLRequest: Buffer.from(logout).toString('base64') }
    expect((await site.post('/saml/idp/sso', form)).status).toBe(400)
    const twice = 'SAMLRequest=AAAA&SAMLRequest=AAAA'
    expect((await site.post('/saml/idp/sso', twice)).status).toBe(400)
  })

  it('answers once under the address that waits for a user', async () => {
    const person = newPerson(site)
    const page = await person.signIn(askUrl(site))
    expect([statusOf(sentOf(page)), page.url]).toEqual([
      'Success',
      expect.stringContaining('/sso/'),
    ])
    const again = await person.open(page.url)
    expect([again.status, again.body.includes('SAMLResponse')]).toEqual([403, false])
  })

  it('ends on a page where the address of the answer goes while the user signs in', async () => {
    const url = 'https://sp.example/short-lived'
    const acs = [{ index: 9, url, binding: 'HTTP-POST' }]
    await addProvider(site, { entityId: 'https://moves.example', acs })
    const person = newPerson(site)
    const attributes = { AssertionConsumerServiceIndex: '9' }
    const asked = await person.open(askUrl(site, { issuer: 'https://moves.example', attributes }))
    await change(site, providerPath('https://moves.example'), { acs: [] })
    const late = await person.submit(asked, { username: 'bob', password })
    expect([late.status, late.away, late.body.includes(url)]).toEqual([400, undefined, false])
    expect(late.body).not.toContain('SAMLResponse')
  })

  it('ends on a page where sign-in may no longer start here while the user signs in', async () => {
    const issuer = 'https://portal.example'
    await addProvider(site, { entityId: issuer, options: { idpInitiatedSsoEnabled: true } })
    const person = newPerson(site)
    const url = `${site.issuer}/saml/idp/initiate?entityId=${encodeURIComponent(issuer)}`
    const asked = await person.open(url)
    expect(asked.body).toContain('name="password"')
    await change(site, providerPath(issuer), { options: {} })
    const late = await person.submit(asked, { username: 'bob', password })
    expect([late.status, late.body.includes('SAMLResponse')]).toEqual([403, false])
    await change(site, providerPath(issuer), {
      enabled: false,
      options: { idpInitiatedSsoEnabled: true },
    })
    const dead = await alice.open(url)
    expect([dead.status, dead.body.includes('SAMLResponse')]).toEqual([400, false])
  })

  it('writes one event for each answer, with the service provider and the user', async () => {
    await alice.open(askUrl(site))
    const [event] = await site.events('SAML_SSO')
    expect(event).toMatchObject({
      outcome: 'SUCCESS',
      actor: aliceId,
      resourceType: 'saml-clients',
    })
    await alice.open(askUrl(site, { attributes: { Destination: 'https://x.example' } }))
    const [refused] = await site.events('SAML_SSO')
    expect(refused).toMatchObject({ outcome: 'FAILURE' })
    expect(refused?.detail).toContain('Destination')
  })

  it('shows the service provider in the sessions of the user', async () => {
    const { body } = await site.admin('GET', '/sessions')
    const own = body.filter((one: { userId: string }) => one.userId === aliceId)
    expect(own.flatMap((one: { clients: object }) => Object.values(one.clients))).toContain(
      entityId,
    )
  })

  it('tells nothing of a disabled user, also where the session is still there', async () => {
    const bob = newPerson(site)
    expect(statusOf(sentOf(await bob.signIn(askUrl(site), 'bob')))).toBe('Success')
    const { storage } = site.server.areas
    const set = (enabled: 0 | 1) =>
      storage.commit([
        statement(storage.db.updateTable('users').set({ enabled }).where('username', '=', 'bob')),
      ])
    await set(0)
    const page = await bob.open(askUrl(site))
    await set(1)
    expect([page.body.includes('name="password"'), page.body.includes('SAMLResponse')]).toEqual([
      true,
      false,
    ])
  })

  it('is dead where the service provider, the user or the realm is disabled', async () => {
    const begun = newPerson(site)
    const waiting = await begun.open(askUrl(site))
    await change(site, providerPath(), { enabled: false })
    expect((await alice.open(askUrl(site))).status).toBe(400)
    const late = await begun.submit(waiting, {
      username: 'bob',
      password,
    })
    expect([late.status, late.body.includes('SAMLResponse')]).toEqual([400, false])
    await change(site, providerPath(), { enabled: true })

    await change(site, `/users/${aliceId}`, { enabled: false })
    const page = await alice.open(askUrl(site))
    expect(page.body).toContain('name="password"')
    const refused = await alice.submit(page, { username: 'alice', password })
    expect(refused.body).not.toContain('SAMLResponse')
    await change(site, `/users/${aliceId}`, { enabled: true })

    await site.admin('PUT', '/settings', { enabled: false })
    expect((await alice.open(askUrl(site))).status).toBe(404)
    expect((await site.get('/saml/idp/metadata')).status).toBe(404)
    expect((await site.get(`/saml/idp/initiate?entityId=${entityId}`)).status).toBe(404)
    await site.admin('PUT', '/settings', { enabled: true })
  })
})
