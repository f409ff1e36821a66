/** Requests for a new sign-in (OIDC Core §3.1.2.1): a session that goes on with the one from before is none. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { anyBackend } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  authorizeUrl,
  change,
  codeOf,
  exchange,
  newPerson,
  password,
  redirectUri,
} from '../relying-party.ts'

describe.each(anyBackend)('a request for a new sign-in on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let web: TestClient
  let alice: string

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    web = await site.client({
      clientId: 'web',
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
    alice = await addPerson(site, 'alice')
  })
  afterAll(() => site.close())

  /** A step-up in another tab, which asks for what is required of the user, and for no proof. */
  const stepUpUnproved = async (person: ReturnType<typeof newPerson>): Promise<void> => {
    await change(site, `/users/${alice}`, { requiredActions: ['TERMS_AND_CONDITIONS'] })
    const terms = await person.open(`${site.issuer}/login?authorization=account-security-strong`)
    expect(terms.body).toContain('name="decision"')
    expect((await person.submit(terms, { decision: 'accept' })).status).toBe(200)
  }

  it('is not met by a step-up that proves nothing', async () => {
    const person = newPerson(site)
    await person.signIn(`${site.issuer}/login`)
    const signedInAt = Math.floor(now / 1000)
    now += 60_000
    const asked = await person.open(authorizeUrl(site, web, { prompt: 'login' }))
    const handle = new URL(asked.url).searchParams.get('authorization')
    await stepUpUnproved(person)
    const again = await person.open(`${site.issuer}/authorize/${handle}`)
    expect([again.away, again.body.includes('name="password"')]).toEqual([undefined, true])
    const done = await person.submit(again, { username: 'alice', password })
    const { body } = await exchange(site, web, codeOf(done))
    expect(claimsOf(body.id_token)['auth_time']).toBe(signedInAt + 60)
  })

  it('is met by a sign-in of the same user at the same moment', async () => {
    const person = newPerson(site)
    await person.signIn(`${site.issuer}/login`)
    const again = await person.signIn(authorizeUrl(site, web, { prompt: 'login' }))
    expect(codeOf(again)).toMatch(/^[\w-]+$/)
  })
})
