/** The other applications of a session that ends: told in frames of a page, or over SOAP (SAML Profiles §4.4). */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { logoutJobs } from '#server/run/background.ts'
import { readSigned, xmlName } from '#server/xml/index.ts'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import {
  addPerson,
  authorizeUrl,
  change,
  codeOf,
  exchange,
  newPerson,
  newVerifier,
  type Person,
  redirectUri,
} from '../../oidc/relying-party.ts'
import { backends } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { sender, stranger } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { addProvider, newRequestId, only, providerPath } from '../fixture.ts'
import {
  asynchronous,
  continueIn,
  framesIn,
  isSignedIn,
  type Known,
  keysOf,
  logoutForm,
  logoutRequest,
  logoutResponse,
  logoutUrl,
  sentTo,
  sloUrl,
  statesIn,
  subjectOf,
  visitProvider,
} from './logout-fixture.ts'
import { envelope, openPeer, type Peer } from './peer.ts'

const env = { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' }
const shop = 'https://sp.example/metadata'
const wiki = 'https://wiki.example'
const wikiSlo = 'https://wiki.example/slo'
const mail = 'https://mail.example'

describe.each(backends)('the other applications of a session on $name', (backend) => {
  let ahead = 0
  const clock: Clock = { now: () => Date.now() + ahead }
  let site: OidcSite
  let peer: Peer
  let alice: Person
  let known: Known
  let userId: string
  beforeAll(async () => {
    site = await openIssuer(backend, { clock, env })
    peer = await openPeer()
    const signing = { signingCertificate: sender.certificate }
    await addProvider(site, { ...signing, singleLogoutServiceUrl: sloUrl })
    await addProvider(site, {
      ...signing,
      entityId: wiki,
      name: 'Wiki',
      singleLogoutServiceUrl: wikiSlo,
    })
    await addProvider(site, {
      ...signing,
      entityId: mail,
      name: 'Mail',
      singleLogoutServiceUrl: 'https://mail.example/slo',
      singleLogoutServiceSoapUrl: peer.url,
      options: { backChannelSloEnabled: true },
    })
    await addProvider(site, { entityId: 'https://old.example', name: 'Old' })
    userId = await addPerson(site, 'alice')
  }, 60_000)
  afterAll(async () => {
    peer.close()
    await site.close()
  })
  beforeEach(async () => {
    ahead = 0
    peer.envelopes.length = 0
    peer.answer = success
    alice = newPerson(site)
    known = await visitProvider(site, alice)
  })

  const success = (id: string) => {
    const xml = logoutResponse(site, id, { issuer: mail })
    const own = / ID="([^"]*)"/.exec(xml)?.[1] ?? ''
    return { status: 200, body: envelope(signed(xml, own)) }
  }
  const jobs = () => runJobs(site.server.areas.jobs, logoutJobs(site.server.areas))
  const waiting = () =>
    site.server.areas.storage.db
      .selectFrom('jobs')
      .selectAll()
      .where('queue', '=', 'logout')
      .where('state', '=', 'waiting')
      .execute()
  const askAtShop = () =>
    alice.open(logoutUrl(site, logoutRequest(site, known), { relayState: 'r' }))

  /** An OIDC client that is told in a frame. */
  const visitPortal = async (): Promise<void> => {
    const app = await site.client({
      clientId: `app-${newRequestId()}`,
      name: 'Portal',
      redirectUris: [redirectUri],
      grantTypes: ['authorization_code'],
      frontchannelLogout: true,
      frontchannelLogoutUri: 'https://app.example/frame',
    })
    const { challenge, verifier } = newVerifier()
    const asked = { code_challenge: challenge, code_challenge_method: 'S256' }
    const code = codeOf(await alice.open(authorizeUrl(site, app, asked)))
    const { status } = await exchange(site, app, code, { code_verifier: verifier })
    expect(status).toBe(200)
  }

  describe('in the browser', () => {
    it('are told in frames, answer, and then the service provider that asked hears of success', async () => {
      const wikiKnown = await visitProvider(site, alice, wiki)
      const page = await askAtShop()
      expect(await isSignedIn(site, newPerson(site))).toBe(false)
      expect([page.status, statesIn(page)]).toEqual([200, { Wiki: 'Signing out' }])
      const policy = page.headers.get('content-security-policy') ?? ''
      const own = new URL(site.issuer).origin
      expect(/frame-src ([^;]*)/.exec(policy)?.[1]?.split(' ').toSorted()).toEqual(
        [own, 'https://wiki.example'].toSorted(),
      )
      expect(policy).not.toContain('unsafe')
      const [frame = ''] = framesIn(page)
      const told = await sentTo(site, await alice.open(frame), 'samlp:LogoutRequest')
      expect(told.url).toBe(wikiSlo)
      expect(told.message.attributes).toMatchObject({ Destination: wikiSlo, Version: '2.0' })
      expect(only(told.message, 'saml:NameID').text).toBe(wikiKnown.nameId)
      expect(only(told.message, 'samlp:SessionIndex').text).toBe(wikiKnown.sessionIndex)
      const status = async () => (await alice.open(`${page.url}/status`)).body
      expect(await status()).toContain('PENDING')
      const answer = logoutResponse(site, told.message.attributes['ID'] ?? '', { issuer: wiki })
      const answered = await alice.open(logoutUrl(site, answer, { parameter: 'SAMLResponse' }))
      expect(answered.status).toBe(200)
      expect(answered.headers.get('content-security-policy')).toContain("frame-ancestors 'self'")
      expect(answered.headers.get('x-frame-options')).toBe('SAMEORIGIN')
      expect(await status()).toContain('DONE')
      const heard = await sentTo(site, await alice.open(page.url))
      expect([heard.url, heard.status, heard.relayState]).toEqual([sloUrl, 'Success', 'r'])
    })

    it('are listed with what is missing where one does not answer, and PartialLogout is told', async () => {
      await visitProvider(site, alice, wiki)
      await visitProvider(site, alice, 'https://old.example')
      const page = await askAtShop()
      expect(statesIn(page)).toEqual({ Wiki: 'Signing out', Old: 'Not confirmed' })
      expect(page.body).toContain('http-equiv="refresh"')
      ahead = 5000
      const over = await alice.open(page.url)
      expect(statesIn(over)).toEqual({ Wiki: 'Not confirmed', Old: 'Not confirmed' })
      expect([framesIn(over), over.body.includes('http-equiv')]).toEqual([[], false])
      const heard = await sentTo(site, await alice.open(continueIn(over)))
      expect([heard.status, heard.relayState]).toEqual(['Success/PartialLogout', 'r'])
    })

    it('are told once, whatever is reloaded', async () => {
      await visitProvider(site, alice, wiki)
      const page = await askAtShop()
      expect(framesIn(page)).toHaveLength(1)
      expect(framesIn(await alice.open(page.url))).toEqual([])
    })

    it('are listed for ten minutes, in the realm of the session alone', async () => {
      await visitProvider(site, alice, wiki)
      const page = await askAtShop()
      await site.server.createRealm('elsewhere')
      const elsewhere = page.url.replace('/realms/acme/', '/realms/elsewhere/')
      expect((await alice.open(elsewhere)).status).toBe(400)
      expect((await alice.open(`${elsewhere}/status`)).status).toBe(400)
      expect((await alice.open(page.url)).status).toBe(200)
      ahead = 10 * 60_000 + 1
      expect((await alice.open(page.url)).status).toBe(400)
      expect((await alice.open(`${page.url}/status`)).status).toBe(400)
    })

    it('may refuse, which is shown at once and recorded', async () => {
      await visitProvider(site, alice, wiki)
      const page = await askAtShop()
      const told = await sentTo(
        site,
        await alice.open(framesIn(page)[0] ?? ''),
        'samlp:LogoutRequest',
      )
      const id = told.message.attributes['ID'] ?? ''
      const answer = logoutResponse(site, id, { issuer: wiki, status: 'Responder' })
      await alice.open(logoutUrl(site, answer, { parameter: 'SAMLResponse' }))
      expect(statesIn(await alice.open(page.url))).toEqual({ Wiki: 'Not confirmed' })
      const [event] = await site.events('LOGOUT')
      expect(event).toMatchObject({ outcome: 'FAILURE' })
      expect(event?.detail).toContain('Responder')
    })

    it('may not know the user, who then has no session there', async () => {
      await visitProvider(site, alice, wiki)
      const page = await askAtShop()
      const frame = await alice.open(framesIn(page)[0] ?? '')
      const told = await sentTo(site, frame, 'samlp:LogoutRequest')
      const status = 'Responder/UnknownPrincipal'
      const id = told.message.attributes['ID'] ?? ''
      const answer = logoutResponse(site, id, { issuer: wiki, status })
      await alice.open(logoutUrl(site, answer, { parameter: 'SAMLResponse' }))
      expect((await sentTo(site, await alice.open(page.url))).status).toBe('Success')
    })

    it.each([
      ['unsigned', { key: null }, {}],
      ['by another key', { key: stranger.privateKey }, {}],
      ['to another request', {}, { attributes: { InResponseTo: '_other' } }],
      ['to no request', {}, { attributes: { InResponseTo: null } }],
      ['from another service provider', {}, { issuer: shop }],
      ['for another endpoint', {}, { attributes: { Destination: 'https://x.example' } }],
      ['for no endpoint', {}, { attributes: { Destination: null } }],
      ['of long ago', {}, { attributes: { IssueInstant: '2026-01-01T00:00:00Z' } }],
      ['of another that refuses', {}, { issuer: shop, status: 'Responder' }],
    ])(
      'give answers that are verified: one %s counts for nothing',
      async (_what, options, more) => {
        // With no session there but this one.
        const own = `https://own.example/${newRequestId()}`
        await addProvider(site, {
          entityId: own,
          name: 'Own',
          singleLogoutServiceUrl: wikiSlo,
          signingCertificate: sender.certificate,
        })
        await visitProvider(site, alice, own)
        const page = await askAtShop()
        const told = await sentTo(
          site,
          await alice.open(framesIn(page)[0] ?? ''),
          'samlp:LogoutRequest',
        )
        const id = told.message.attributes['ID'] ?? ''
        const answer = logoutResponse(site, id, { issuer: own, ...more })
        const url = logoutUrl(site, answer, { parameter: 'SAMLResponse', ...options })
        expect((await alice.open(url)).status).toBe(400)
        expect(statesIn(await alice.open(page.url))).toEqual({ Own: 'Signing out' })
      },
    )

    it('take part by HTTP-POST, with a link where there are no scripts', async () => {
      await change(site, providerPath(wiki), { singleLogoutServiceBinding: 'HTTP-POST' })
      await visitProvider(site, alice, wiki)
      const page = await askAtShop()
      expect(page.body).toMatch(/<noscript><a href="[^"]*" target="_blank" rel="noopener">/)
      const frame = await alice.open(framesIn(page)[0] ?? '')
      await change(site, providerPath(wiki), { singleLogoutServiceBinding: 'HTTP-Redirect' })
      expect(frame.headers.get('content-security-policy')).toContain("frame-ancestors 'self'")
      const told = await sentTo(site, frame, 'samlp:LogoutRequest')
      expect(told.url).toBe(wikiSlo)
      const answer = logoutResponse(site, told.message.attributes['ID'] ?? '', { issuer: wiki })
      const form = logoutForm(answer, 'SAMLResponse')
      expect((await site.post('/saml/idp/slo', form)).status).toBe(200)
      expect((await sentTo(site, await alice.open(page.url))).status).toBe('Success')
    })

    it('are told when the user signs out here, and so are OIDC clients of the session', async () => {
      await visitPortal()
      await visitProvider(site, alice, wiki)
      const asked = await alice.open(`${site.issuer}/logout`)
      const page = await alice.submit(asked, {})
      expect(statesIn(page)).toEqual({
        'The &lt;Shop&gt;': 'Signing out',
        Wiki: 'Signing out',
        Portal: 'Notified',
      })
      expect(framesIn(page)).toHaveLength(3)
      expect(page.body).toContain('https://app.example/frame?')
      expect(await isSignedIn(site, alice)).toBe(false)
      ahead = 5000
      const over = await alice.open(page.url)
      expect(over.body).toContain('You are signed out')
      expect(statesIn(over)).toMatchObject({ Wiki: 'Not confirmed' })
    })

    it('of OIDC are told too when a service provider ends the session', async () => {
      await visitPortal()
      const page = await askAtShop()
      expect(page.body).toContain('https://app.example/frame?')
      // The page goes on by itself, once the frame had time to load.
      expect(page.body).toContain('data-status=')
      expect((await alice.open(`${page.url}/status`)).body).toContain('PENDING')
      ahead = 2000
      expect((await alice.open(`${page.url}/status`)).body).toContain('DONE')
      expect((await sentTo(site, await alice.open(page.url))).status).toBe('Success')
    })

    it('are told too where the service provider that asked wants no answer, and the page stays', async () => {
      await visitPortal()
      const xml = logoutRequest(site, known, { inside: asynchronous + subjectOf(known) })
      const page = await alice.open(logoutUrl(site, xml))
      expect(page.body).toContain('https://app.example/frame?')
      ahead = 2000
      const over = await alice.open(`${page.url}?continue=true`)
      expect([over.status, over.away, statesIn(over)]).toEqual([
        200,
        undefined,
        { Portal: 'Notified' },
      ])
    })

    it('of OIDC are not said to have confirmed anything', async () => {
      await visitPortal()
      const page = await alice.submit(await alice.open(`${site.issuer}/logout`), {})
      const frame = framesIn(page).find((url) => url.startsWith(site.issuer)) ?? ''
      const told = await sentTo(site, await alice.open(frame), 'samlp:LogoutRequest')
      const answer = logoutResponse(site, told.message.attributes['ID'] ?? '')
      await alice.open(logoutUrl(site, answer, { parameter: 'SAMLResponse' }))
      ahead = 2000
      const over = await alice.open(page.url)
      expect(over.body).toContain('have been notified')
      expect(over.body).not.toContain('have confirmed')
    })
  })

  describe('over SOAP', () => {
    it('are told by a signed LogoutRequest, and the service provider that asked hears how it went', async () => {
      const mailKnown = await visitProvider(site, alice, mail)
      const page = await askAtShop()
      expect(statesIn(page)).toEqual({ Mail: 'Signing out' })
      await jobs()
      const keys = await keysOf(site)
      const path = [xmlName('soap:Body'), xmlName('samlp:LogoutRequest')]
      const [sent = ''] = peer.envelopes
      const { element } = readSigned(sent, { root: xmlName('soap:Envelope'), path, keys })
      expect(element.attributes['Destination']).toBe(peer.url)
      expect(only(element, 'saml:NameID').text).toBe(mailKnown.nameId)
      expect(only(element, 'samlp:SessionIndex').text).toBe(mailKnown.sessionIndex)
      expect(peer.headers[0]).toMatchObject({ 'content-type': 'text/xml; charset=utf-8' })
      expect((await sentTo(site, await alice.open(page.url))).status).toBe('Success')
      expect(peer.envelopes).toHaveLength(1)
    })

    it.each([
      [
        'when an administrator ends the session',
        async () => {
          const { body } = await site.admin('GET', '/sessions')
          for (const one of body as { id: string; userId: string }[])
            if (one.userId === userId) await site.admin('DELETE', `/sessions/${one.id}`)
        },
      ],
      [
        'when the user is disabled',
        async () => {
          await change(site, `/users/${userId}`, { enabled: false })
          await change(site, `/users/${userId}`, { enabled: true })
        },
      ],
      [
        'when the user signs out here',
        async () => {
          await alice.submit(await alice.open(`${site.issuer}/logout`), {})
        },
      ],
    ])('are told %s', async (_when, end) => {
      const { nameId } = await visitProvider(site, alice, mail)
      await end()
      await jobs()
      const last = peer.envelopes.at(-1) ?? ''
      expect(last).toContain(`>${nameId}</saml:NameID>`)
    })

    it.each([
      ['503', () => ({ status: 503, body: '' })],
      ['what is no XML', () => ({ status: 200, body: 'ok' })],
      ['another request', () => success('_other')],
      ['with an HTTP error', (id: string) => ({ ...success(id), status: 500 })],
      [
        'without a signature',
        (id: string) => ({
          status: 200,
          body: envelope(logoutResponse(site, id, { issuer: mail })),
        }),
      ],
      [
        'signed by another',
        (id: string) => {
          const xml = logoutResponse(site, id, { issuer: mail })
          const own = / ID="([^"]*)"/.exec(xml)?.[1] ?? ''
          return { status: 200, body: envelope(signed(xml, own, { key: stranger.privateKey })) }
        },
      ],
      [
        'in the name of another',
        (id: string) => {
          const xml = logoutResponse(site, id, { issuer: wiki })
          const own = / ID="([^"]*)"/.exec(xml)?.[1] ?? ''
          return { status: 200, body: envelope(signed(xml, own)) }
        },
      ],
      [
        'with a failure',
        (id: string) => {
          const xml = logoutResponse(site, id, { issuer: mail, status: 'Responder' })
          const own = / ID="([^"]*)"/.exec(xml)?.[1] ?? ''
          return { status: 200, body: envelope(signed(xml, own)) }
        },
      ],
    ])('are told again where they answer %s, until it has arrived', async (_what, wrong) => {
      await visitProvider(site, alice, mail)
      peer.answer = wrong
      const page = await askAtShop()
      await jobs()
      expect(peer.envelopes).toHaveLength(1)
      expect(await waiting()).toHaveLength(1)
      ahead = 11_000
      expect(statesIn(await alice.open(page.url))).toEqual({ Mail: 'Being notified' })
      peer.answer = success
      await jobs()
      expect([peer.envelopes.length, await waiting()]).toEqual([2, []])
    })
  })

  describe('and the SOAP endpoint', () => {
    const soap = async (xml: string) => {
      const reply = await fetch(`${site.issuer}/saml/idp/slo`, {
        method: 'POST',
        headers: { 'content-type': 'text/xml', soapaction: '"x"' },
        body: envelope(xml),
      })
      return { status: reply.status, body: await reply.text() }
    }
    const ask = (asked: Parameters<typeof logoutRequest>[2] = {}) => {
      const id = newRequestId()
      return signed(logoutRequest(site, known, { ...asked, id }), id)
    }
    const statusIn = async (text: string): Promise<string> => {
      const keys = await keysOf(site)
      const path = [xmlName('soap:Body'), xmlName('samlp:LogoutResponse')]
      const { element } = readSigned(text, { root: xmlName('soap:Envelope'), path, keys })
      return (
        [...text.matchAll(/StatusCode Value="[^"]*:(\w+)"/g)].map(([, one]) => one).join('/') +
        (element.attributes['InResponseTo'] ? '' : '!')
      )
    }

    it('ends the session, and answers signed', async () => {
      const { status, body } = await soap(ask())
      expect([status, await statusIn(body)]).toEqual([200, 'Success'])
      expect(await isSignedIn(site, alice)).toBe(false)
    })

    it('ends the session without an answer where none is wanted', async () => {
      const asked = ask({ inside: asynchronous + subjectOf(known) })
      expect(await soap(asked)).toEqual({ status: 204, body: '' })
      expect(await isSignedIn(site, alice)).toBe(false)
    })

    it('says PartialLogout where another application can be told in a browser alone', async () => {
      await visitProvider(site, alice, wiki)
      expect(await statusIn((await soap(ask())).body)).toBe('Success/PartialLogout')
    })

    it('says PartialLogout where another application has still to confirm it over SOAP', async () => {
      await visitProvider(site, alice, mail)
      expect(await statusIn((await soap(ask())).body)).toBe('Success/PartialLogout')
    })

    it('says PartialLogout where a page of an OIDC client would have to be framed', async () => {
      await visitPortal()
      expect(await statusIn((await soap(ask())).body)).toBe('Success/PartialLogout')
    })

    it('says UnknownPrincipal for a session that is not there', async () => {
      await soap(ask())
      expect(await statusIn((await soap(ask())).body)).toBe('Requester/UnknownPrincipal')
    })

    it('answers a fault to what is unsigned, old, or wrapped', async () => {
      const id = newRequestId()
      const bare = logoutRequest(site, known, { id })
      for (const [xml, told] of [
        [bare, 403],
        [signed(bare, id, { key: stranger.privateKey }), 403],
        [ask({ at: Date.now() - 9 * 60_000 }), 403],
        // No message of SAML.
        [`${bare}${ask()}`, 400],
        ['<x/>', 400],
      ] as const) {
        const { status, body } = await soap(xml)
        expect([status, body.includes('<soap:Fault>')]).toEqual([told, true])
      }
      expect(await isSignedIn(site, alice)).toBe(true)
    })
  })
})
