/** Sign-in pages in several tabs: the user signs in in one of them, and then sends the form of another. */

import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  authorizeUrl,
  codeOf,
  newPerson,
  password,
  redirectUri,
} from '../relying-party.ts'

describe.each(anyBackend)(
  'the form of a sign-in page, after a sign-in in another tab, on $name',
  (backend) => {
    let site: OidcSite
    let web: TestClient

    beforeAll(async () => {
      site = await openIssuer(backend)
      web = await site.client({
        clientId: 'web',
        grantTypes: ['authorization_code'],
        redirectUris: [redirectUri],
      })
      await addPerson(site, 'alice')
      await addPerson(site, 'bob')
    })
    afterAll(() => site.close())

    /** Alice signs in in the first tab; the page of the second one is as it was. */
    const twoTabs = async () => {
      const person = newPerson(site)
      const first = await person.open(authorizeUrl(site, web))
      const second = await person.open(authorizeUrl(site, web))
      codeOf(await person.submit(first, { username: 'alice', password }))
      return { person, second }
    }

    it('goes on as the user who is signed in', async () => {
      for (const username of ['alice', 'Alice@acme.example']) {
        const { person, second } = await twoTabs()
        expect(codeOf(await person.submit(second, { username, password }))).toMatch(/^[\w-]+$/)
      }
    })

    it('goes on to the page of the realm where nothing waits', async () => {
      const person = newPerson(site)
      const [first, second] = [
        await person.open(`${site.issuer}/login`),
        await person.open(`${site.issuer}/login`),
      ]
      await person.submit(first, { username: 'alice', password })
      const done = await person.submit(second, { username: 'alice', password })
      expect([done.status, done.body.includes('name="password"')]).toEqual([200, false])
    })

    it('is shown again to another user, who does not get the session of the first', async () => {
      const { person, second } = await twoTabs()
      const again = await person.submit(second, { username: 'bob', password })
      expect([again.status, again.away]).toEqual([403, undefined])
      codeOf(await person.submit(again, { username: 'bob', password }))
      const { body } = await person.open(`${site.issuer}/login`)
      expect(body).toContain('bob')
    })

    it('is shown again where the request wants a sign-in that is newer than the session', async () => {
      const person = newPerson(site)
      await person.signIn(`${site.issuer}/login`)
      const asked = await person.open(authorizeUrl(site, web, { prompt: 'login' }))
      const again = await person.submit(asked, { username: 'alice', password, _csrf: 'another' })
      expect([again.away, again.body.includes('name="password"')]).toEqual([undefined, true])
    })

    /** A user with an authenticator app, and that app. */
    const addCautious = async (username: string): Promise<() => string> => {
      const userId = await addPerson(site, username)
      const { body } = await site.admin('POST', `/users/${userId}/credentials`, { type: 'otp' })
      const totp = new TOTP({ secret: Secret.fromBase32(body.secret) })
      return () => totp.generate()
    }

    it('for a code goes on as the user who is signed in, and to the sign-in page as another', async () => {
      const code = await addCautious('carla')
      await addCautious('dora')
      const person = newPerson(site)
      const stepOf = (username: string) => person.signIn(authorizeUrl(site, web), username)
      const steps = [await stepOf('carla'), await stepOf('carla'), await stepOf('dora')] as const
      const [first, second, other] = steps
      const done = await person.submit(first, { code: code() })
      codeOf(done)
      codeOf(await person.submit(second, { code: '000000' }))
      const asked = await person.submit(other, { code: '000000' })
      expect([asked.away, asked.status]).toEqual([undefined, 200])
      expect(asked.body).toContain('name="password"')
    })

    it('leads, after going back to it, to the page that says who is signed in', async () => {
      const code = await addCautious('emma')
      const person = newPerson(site)
      const first = await person.open(authorizeUrl(site, web))
      const second = await person.submit(first, { username: 'emma', password })
      codeOf(await person.submit(second, { code: code() }))
      for (const { url } of [first, second]) {
        const back = await person.open(url)
        expect([back.status, back.url]).toEqual([200, `${site.issuer}/login`])
        expect(back.body).toContain('You are signed in')
      }
    })

    it('says that the sign-in is over, and not that cookies are blocked, once the user has signed out', async () => {
      const code = await addCautious('fiona')
      const person = newPerson(site)
      const step = await person.signIn(authorizeUrl(site, web), 'fiona')
      codeOf(await person.submit(step, { code: code() }))
      await person.submit(await person.open(`${site.issuer}/login`), {})
      const back = await person.open(step.url)
      expect(back.status).toBe(403)
      expect(back.body).not.toContain('blocks cookies')
      expect(back.body).toContain('href="/realms/acme/login"')
    })
  },
)

describe.each(anyBackend)('a browser that keeps no cookies, on $name', (backend) => {
  let site: OidcSite
  let web: TestClient
  beforeAll(async () => {
    site = await openIssuer(backend)
    web = await site.client({
      clientId: 'web',
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
    await addPerson(site, 'alice')
  })
  afterAll(() => site.close())

  it('is told so, by the page that an application leads to and by every form', async () => {
    const person = newPerson(site)
    const blocked = 'Your browser blocks cookies'
    const page = await person.open(authorizeUrl(site, web))
    const { url } = page
    person.jar.clear()
    const arrived = await person.open(url, undefined, { 'sec-fetch-site': 'cross-site' })
    expect([arrived.status, arrived.body.includes(blocked)]).toEqual([403, true])
    for (const form of [page, await person.open(`${site.issuer}/login`)]) {
      person.jar.clear()
      const answer = await person.submit(form, { username: 'alice', password })
      expect([answer.status, answer.body.includes(blocked)]).toEqual([403, true])
      expect(answer.body).toContain('href="/realms/acme/login"')
    }
    // A bookmark that a browser opens as its first page.
    person.jar.clear()
    const typed = await person.open(url, undefined, { 'sec-fetch-site': 'none' })
    expect(typed.body).toContain('This page has expired')
    expect(typed.body).toContain('href="/realms/acme/login"')
  })
})
