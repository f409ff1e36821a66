/** A message that was answered is refused for as long as it would be taken otherwise, also once the rest is forgotten. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { addPerson, newPerson, type Person, password } from '../../oidc/relying-party.ts'
import { anyBackend } from '../../support/backends.ts'
import { sender } from '../../xml/keys.ts'
import {
  acsUrl,
  addProvider,
  askUrl,
  entityId,
  newRequestId,
  sentOf,
  statusOf,
} from '../fixture.ts'
import {
  framesIn,
  isSignedIn,
  logoutForm,
  logoutRequest,
  logoutUrl,
  sentTo,
  sloUrl,
  visitProvider,
} from '../logout/logout-fixture.ts'

const minuteMs = 60_000
const other = 'https://other.example'
const wiki = 'https://wiki.example'

describe.each(anyBackend)('messages that come again, on $name', (backend) => {
  let ahead = 0
  let site: OidcSite
  let alice: Person
  beforeAll(async () => {
    site = await openIssuer(backend, { clock: { now: () => Date.now() + ahead } })
    await addProvider(site, {
      signingCertificate: sender.certificate,
      singleLogoutServiceUrl: sloUrl,
    })
    await addProvider(site, { entityId: other, assertionConsumerServiceUrl: `${other}/acs` })
    await addProvider(site, { entityId: wiki, singleLogoutServiceUrl: `${wiki}/slo` })
    await addPerson(site, 'alice')
    await addPerson(site, 'bob')
    alice = newPerson(site)
    await alice.signIn(askUrl(site))
  }, 60_000)
  afterAll(() => site.close())
  beforeEach(() => {
    ahead = 0
  })

  /** Some minutes later, everything that has expired is forgotten. */
  const wait = async (minutes: number): Promise<void> => {
    ahead += minutes * minuteMs
    const { storage, tokens } = site.server.areas
    await storage.commit(tokens.grantsStore.forgetStatements())
  }
  const statusAt = async (url: string) => statusOf(sentOf(await alice.open(url)))

  it('find an AuthnRequest answered until it is too old, the clock of its sender ahead', async () => {
    const url = askUrl(site, { at: Date.now() + 2.9 * minuteMs })
    expect(await statusAt(url)).toBe('Success')
    await wait(10.8)
    expect(await statusAt(url)).toBe('Requester/RequestDenied')
    await wait(0.2)
    expect((await alice.open(url)).status).toBe(400)
  })

  it('find an AuthnRequest answered that waits for its user in another browser', async () => {
    const url = askUrl(site)
    const another = newPerson(site)
    const page = await another.open(url)
    await wait(7)
    expect(await statusAt(url)).toBe('Success')
    await wait(22)
    const late = await another.submit(page, { username: 'alice', password })
    expect(statusOf(sentOf(late))).toBe('Requester/RequestDenied')
  })

  it('are those of the service provider that chose the ID: another may choose the same', async () => {
    const asked = { id: newRequestId() }
    expect(sentOf(await alice.open(askUrl(site, asked))).url).toBe(acsUrl)
    const own = sentOf(await alice.open(askUrl(site, { ...asked, issuer: other })))
    expect([own.url, statusOf(own)]).toEqual([`${other}/acs`, 'Success'])
  })

  it('end no later session of the user, by whatever binding a LogoutRequest comes again', async () => {
    const bob = newPerson(site)
    const visit = () => visitProvider(site, bob, entityId, 'bob')
    const { nameId, format } = await visit()
    const inside = `<saml:NameID xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" Format="${format}">${nameId}</saml:NameID>`
    const known = { nameId, format, sessionIndex: '' }
    const xml = logoutRequest(site, known, { at: Date.now() + 2.9 * minuteMs, inside })
    expect((await sentTo(site, await bob.open(logoutUrl(site, xml)))).status).toBe('Success')
    expect(await isSignedIn(site, bob)).toBe(false)
    await visit()
    await wait(10.8)
    for (const page of [
      await bob.open(logoutUrl(site, xml)),
      await bob.open(`${site.issuer}/saml/idp/slo`, logoutForm(xml)),
    ])
      expect((await sentTo(site, page)).status).toBe('Requester/RequestDenied')
    ahead = 0
    expect(await isSignedIn(site, bob)).toBe(true)
  })

  it('tell another service provider once, where the page of a logout is opened in the same moment', async () => {
    const bob = newPerson(site)
    const known = await visitProvider(site, bob, entityId, 'bob')
    await visitProvider(site, bob, wiki)
    const { headers } = await fetch(logoutUrl(site, logoutRequest(site, known)), {
      redirect: 'manual',
    })
    const page = new URL(headers.get('location') ?? '', site.issuer).href
    const pages = await Promise.all(Array.from({ length: 8 }, () => bob.open(page)))
    expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 200))
    expect(pages.flatMap(framesIn)).toHaveLength(1)
  })
})
