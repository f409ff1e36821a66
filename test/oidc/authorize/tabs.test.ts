/** Sign-in pages in several tabs: the user signs in in one of them, and then sends the form of another. */

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
  },
)
