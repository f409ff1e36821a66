/** Sessions of a clock that was wrong: what they say in assertions follows from the clock of now (SAML Core §2.7.2). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../../oidc/fixture.ts'
import { addPerson, newPerson } from '../../oidc/relying-party.ts'
import { backends } from '../../support/backends.ts'
import { addProvider, askUrl, only, sentOf } from '../fixture.ts'
import { brokenRules, lifetimesOf } from './lifetimes.ts'

const hourMs = 3_600_000

describe.each(backends)('a clock that jumps, on $name', (backend) => {
  let site: OidcSite
  let offset = 0
  const clock = { now: () => Date.now() + offset }
  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    await addProvider(site)
    await addPerson(site, 'alice')
  }, 60_000)
  afterAll(() => site.close())

  it('never makes an assertion about a sign-in to come, or a session longer than sessions are', async () => {
    const { ssoSessionMaxLifespan } = (await site.admin('GET', '/settings')).body
    const alice = newPerson(site)
    for (const hours of [0, 1, 0, -1, 0, 1]) {
      offset = hours * hourMs
      const now = clock.now()
      const { response } = sentOf(await alice.signIn(askUrl(site, { at: now })))
      const lifetimes = lifetimesOf(only(response, 'saml:Assertion'))
      const expected = { now, sessionMs: ssoSessionMaxLifespan * 1000 }
      expect([hours, brokenRules(lifetimes, expected)]).toEqual([hours, []])
    }
  })
})
