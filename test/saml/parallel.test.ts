/** Many users at one service provider in the same moment: nothing is shared, lost or written twice. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { newPerson, type Person } from '../oidc/relying-party.ts'
import { addUser, openSession } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { addProvider, askUrl, newRequestId, only, sentOf, statusOf, toldOf } from './fixture.ts'

const many = 200

describe.each(backends)('parallel single sign-on on $name', (backend) => {
  let site: OidcSite
  beforeAll(async () => {
    site = await openIssuer(backend)
    await addProvider(site)
  }, 60_000)
  afterAll(() => site.close())

  /** A user whose browser has a session. */
  const signedIn = async (username: string): Promise<Person & { readonly userId: string }> => {
    const user = await addUser(site, { username })
    const { cookie } = await openSession(site, user)
    const person = newPerson(site)
    const cut = cookie.indexOf('=')
    person.jar.set(cookie.slice(0, cut), cookie.slice(cut + 1))
    return { ...person, userId: user.id }
  }

  const successes = async (): Promise<readonly { readonly actor: string }[]> =>
    (await site.admin('GET', '/events?type=SAML_SSO&outcome=SUCCESS&size=500')).body.items

  it(`answers ${many} users with IDs of their own, and writes one event for each`, async () => {
    const people: Awaited<ReturnType<typeof signedIn>>[] = []
    for (let index = 0; index < many; index += 1) people.push(await signedIn(`user-${index}`))
    const requests = people.map(() => newRequestId())
    const sent = await Promise.all(
      people.map(async (person, index) =>
        sentOf(await person.open(askUrl(site, { id: requests[index] ?? '' }))),
      ),
    )
    const told = sent.map(({ response }) => toldOf(only(response, 'saml:Assertion')))
    const distinct = (values: readonly (string | undefined)[]): number => new Set(values).size
    expect(sent.map(({ response }) => response.attributes['InResponseTo'])).toEqual(requests)
    const ids = [
      ...sent.map(({ response }) => response.attributes['ID']),
      ...told.map(({ assertion }) => assertion.attributes['ID']),
    ]
    expect(distinct(ids)).toBe(2 * many)
    for (const id of ids) expect(id).toMatch(/^_[0-9a-f]{32,}$/)
    expect(distinct(told.map(({ nameId }) => nameId))).toBe(many)
    const indexOf = (assertion: (typeof told)[number]['assertion']) =>
      only(assertion, 'saml:AuthnStatement').attributes['SessionIndex']
    expect(distinct(told.map(({ assertion }) => indexOf(assertion)))).toBe(many)
    expect(told.map(({ attributes }) => attributes['username'])).toEqual(
      people.map((_, index) => [`user-${index}`]),
    )
    const actors = (await successes()).map(({ actor }) => actor)
    expect(actors.toSorted()).toEqual(people.map(({ userId }) => userId).toSorted())
  })

  it('answers one request once, however often it comes in the same moment', async () => {
    const before = (await successes()).length
    const person = await signedIn('hasty')
    const url = askUrl(site)
    const pages = await Promise.all(Array.from({ length: 20 }, () => person.open(url)))
    const statuses = pages.map((page) => statusOf(sentOf(page)))
    expect(statuses.filter((status) => status === 'Success')).toHaveLength(1)
    expect(statuses.filter((status) => status === 'Requester/RequestDenied')).toHaveLength(19)
    expect((await successes()).length).toBe(before + 1)
  })
})
