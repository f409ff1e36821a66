/**
 * Answers over SOAP to a LogoutRequest of ours. TLS authenticates the service provider too (SAML Profiles §4.4.4.2, Bindings
 * §3.2.2.2): over https a signature may be absent, but one that is there must be good.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { logoutJobs } from '#server/run/background.ts'
import { openReceiver, type Receiver } from '../../audit/receiver.ts'
import { samplesIn, sumOf } from '../../monitoring/exposition.ts'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { addPerson, change, newPerson } from '../../oidc/relying-party.ts'
import { anyBackend } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { sender, stranger } from '../../xml/keys.ts'
import { signed } from '../../xml/messages.ts'
import { addProvider, newRequestId, providerPath } from '../fixture.ts'
import {
  logoutRequest,
  logoutResponse,
  logoutUrl,
  sentTo,
  sloUrl,
  visitProvider,
} from './logout-fixture.ts'
import { envelope } from './peer.ts'

const mail = 'https://mail.example'
const sha512 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512'

describe.each(anyBackend)('answers to LogoutRequests over https on $name', (backend) => {
  let site: OidcSite
  let receiver: Receiver
  let userId: string
  beforeAll(async () => {
    receiver = await openReceiver()
    site = await openIssuer(backend, { env: { IAMCTL_OUTGOING_ALLOW: 'localhost' } })
    userId = await addPerson(site, 'alice')
    await addProvider(site, {
      entityId: mail,
      signingCertificate: sender.certificate,
      singleLogoutServiceSoapUrl: receiver.url('/soap'),
      options: { backChannelSloEnabled: true },
    })
  }, 60_000)
  afterAll(async () => {
    await site.close()
    await receiver.close()
  })
  beforeEach(() => {
    receiver.received.length = 0
  })

  /** How many names are still kept after the service provider was told and answered once. */
  const keptAfter = async (answer: (id: string) => string): Promise<number> => {
    receiver.answer((response, { body }) => {
      const id = / ID="([^"]*)"/.exec(body)?.[1] ?? ''
      response.writeHead(200, { 'content-type': 'text/xml' }).end(envelope(answer(id)))
    })
    const { sessionIndex } = await visitProvider(site, newPerson(site), mail)
    const { body } = await site.admin('GET', '/sessions')
    for (const one of body as { id: string; userId: string }[])
      if (one.userId === userId) await site.admin('DELETE', `/sessions/${one.id}`)
    await runJobs(site.server.areas.jobs, logoutJobs(site.server.areas))
    expect(receiver.received).toHaveLength(1)
    const rows = await site.server.areas.storage.db
      .selectFrom('saml_sessions')
      .selectAll()
      .where('session_index', '=', sessionIndex)
      .execute()
    return rows.length
  }
  const signedAnswer = (id: string, options: Parameters<typeof signed>[2] = {}): string => {
    const xml = logoutResponse(site, id, { issuer: mail })
    return signed(xml, / ID="([^"]*)"/.exec(xml)?.[1] ?? '', options)
  }

  it('count without a signature, and with an indented Issuer', async () => {
    for (const issuer of [mail, `\n  ${mail}\n`]) {
      expect(await keptAfter((id) => logoutResponse(site, id, { issuer }))).toBe(0)
      receiver.received.length = 0
    }
  })

  it.each([
    ['to another request', () => logoutResponse(site, '_other', { issuer: mail })],
    ['in the name of another', (id: string) => logoutResponse(site, id)],
    ['signed by another', (id: string) => signedAnswer(id, { key: stranger.privateKey })],
  ])('do not count %s', async (_what, answer) => {
    expect(await keptAfter(answer)).toBe(1)
  })

  it('count only by the signature algorithms of the service provider', async () => {
    const options = { backChannelSloEnabled: true, requestSignatureAlgorithms: [sha512] }
    await change(site, providerPath(mail), { options })
    expect(await keptAfter(signedAnswer)).toBe(1)
    receiver.received.length = 0
    const by512 = (id: string) => signedAnswer(id, { signatureAlgorithm: sha512 })
    expect(await keptAfter(by512)).toBe(0)
  })

  it('and logouts that service providers ask for are counted', async () => {
    const shop = 'https://shop.example'
    await addProvider(site, {
      entityId: shop,
      signingCertificate: sender.certificate,
      singleLogoutServiceUrl: sloUrl,
    })
    const figure = async (outcome: string) => {
      const { body } = await site.server.anonymous.send('GET', '/monitoring/metrics')
      const labels = { realm: 'acme', outcome }
      return sumOf(samplesIn(String(body)), 'svc_saml_logout_total', labels)
    }
    const before = [await figure('success'), await figure('failure')]
    const alice = newPerson(site)
    const known = await visitProvider(site, alice, shop)
    for (const expected of ['Success', 'Requester/UnknownPrincipal']) {
      const xml = logoutRequest(site, known, { issuer: shop, id: newRequestId() })
      expect((await sentTo(site, await alice.open(logoutUrl(site, xml)))).status).toBe(expected)
    }
    const after = [await figure('success'), await figure('failure')]
    expect(after.map((one, i) => one - (before[i] ?? 0))).toEqual([1, 1])
  })
})
