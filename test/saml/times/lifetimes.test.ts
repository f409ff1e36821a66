/** How long an assertion may be presented, and a logout counts, where an assertion is valid for a time of its own. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { addPerson, newPerson } from '../../oidc/relying-party.ts'
import { anyBackend } from '../../support/backends.ts'
import { sender } from '../../xml/keys.ts'
import { addProvider, askUrl, entityId, only, sentOf } from '../fixture.ts'
import {
  framesIn,
  logoutRequest,
  logoutUrl,
  sentTo,
  sloUrl,
  visitProvider,
} from '../logout/logout-fixture.ts'
import { lifetimesOf } from './lifetimes.ts'

const brief = 'https://brief.example'
const long = 'https://long.example'

describe.each(anyBackend)('an assertion with a lifetime of its own on $name', (backend) => {
  let site: OidcSite
  beforeAll(async () => {
    site = await openIssuer(backend)
    const signing = { signingCertificate: sender.certificate, singleLogoutServiceUrl: sloUrl }
    const provider = (id: string, options: object) =>
      addProvider(site, { ...signing, entityId: id, name: id, options })
    await provider(entityId, { subjectConfirmationLifetimeSeconds: 30 })
    await provider(brief, { assertionLifetimeSeconds: 60 })
    await provider(long, { assertionLifetimeSeconds: 1800 })
    await addPerson(site, 'alice')
  }, 60_000)
  afterAll(() => site.close())

  it.each([
    [entityId, 300, 30],
    [brief, 60, 60],
    [long, 1800, 300],
  ])(
    'for %s is valid for %i seconds, and is presented within them (SAML Core §2.4.1.2)',
    async (issuer, valid, presented) => {
      const page = await newPerson(site).signIn(askUrl(site, { issuer }))
      const { issued, notOnOrAfter, confirmedUntil } = lifetimesOf(
        only(sentOf(page).response, 'saml:Assertion'),
      )
      expect([notOnOrAfter - issued, confirmedUntil - issued]).toEqual([
        valid * 1000,
        presented * 1000,
      ])
    },
  )

  it.each([
    [brief, 300],
    [long, 1800],
  ])(
    'is no longer valid at %s when a logout there stops counting (SAML Core §3.7.3.2)',
    async (issuer, seconds) => {
      const alice = newPerson(site)
      const known = await visitProvider(site, alice)
      await visitProvider(site, alice, issuer)
      const [frame = ''] = framesIn(
        await alice.open(logoutUrl(site, logoutRequest(site, known), { relayState: 'r' })),
      )
      const { message } = await sentTo(site, await alice.open(frame), 'samlp:LogoutRequest')
      const { IssueInstant = '', NotOnOrAfter = '' } = message.attributes
      expect(Date.parse(NotOnOrAfter) - Date.parse(IssueInstant)).toBe(seconds * 1000)
    },
  )
})
