/**
 * The ways back from an identity provider that end without a new session: a refused answer leads to where the browser left,
 * and the answers of further tabs lead on once one of them has signed the user in.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../../support/backends.ts'
import { password, type SignInBrowser } from '../../world.ts'
import { type BrokerWorld, heading, login, openBrokerWorld } from '../broker-world.ts'

const redirectUri = 'https://app.example/cb'
const request = new URLSearchParams({
  client_id: 'web',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
})

describe.each(anyBackend)('ways back from an identity provider on $name', (backend) => {
  let world: BrokerWorld
  let count = 0
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.provider('corp')
    await world.settings({ supportedLocales: ['en', 'de'] })
    await world.must('POST', '/clients', {
      clientId: 'web',
      publicClient: true,
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
  })
  afterAll(() => world.close())

  const person = () => {
    count += 1
    return { sub: `sub-${count}`, email: `way-${count}@there.example`, email_verified: true }
  }
  /** The query of the sign-in page that an application led to. */
  const ask = async (browser: SignInBrowser, more = ''): Promise<string> => {
    const { location } = await browser.get(`/realms/shop/authorize?${request}${more}`)
    return new URL(location ?? '', world.server.baseUrl).search
  }
  /** Where it leads from there, over pages of the realm. */
  const target = async (browser: SignInBrowser, path: string): Promise<string> => {
    let next = path.replace(world.server.baseUrl, '')
    for (let steps = 0; steps < 5 && next.startsWith('/'); steps += 1) {
      const answer = await browser.get(next)
      if (answer.status !== 303) return `${answer.status} ${heading(answer)}`
      next = (answer.location ?? '').replace(world.server.baseUrl, '')
    }
    return next
  }
  const backLink = (body: string): string =>
    /<a class="button" href="([^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? 'none'

  it('lead to the application that waits, in the language that it asked for', async () => {
    const browser = world.browser()
    const waiting = await ask(browser, '&ui_locales=de')
    const left = await world.leave(browser, 'corp', waiting)
    const page = await world.comeBack(browser, world.upstream.cancel(left))
    expect([page.status, heading(page)]).toEqual([403, 'Die Anmeldung wurde abgebrochen'])
    expect(backLink(page.body)).toBe(`${login}${waiting}&stay=`)
    await world.addUser('by-password')
    await browser.open(backLink(page.body))
    const { location } = await browser.post(backLink(page.body), {
      _csrf: /name="_csrf" value="([^"]+)"/.exec(browser.page?.body ?? '')?.[1] ?? '',
      username: 'by-password',
      password,
    })
    expect(await target(browser, location ?? '')).toContain(`${redirectUri}?code=`)
  })

  it('lead there from a person who may not sign in, and from a provider that does not answer', async () => {
    const user = person()
    await world.through(world.browser(), user)
    const { id, username } = (await world.userNamed(user.email)) ?? {}
    await world.must('PUT', `/users/${id}`, {
      username: username,
      email: user.email,
      enabled: false,
    })
    const browser = world.browser()
    const waiting = await ask(browser, '&ui_locales=de')
    const left = await world.leave(browser, 'corp', waiting)
    const closed = await world.comeBack(browser, await world.upstream.authorize(left, user))
    expect([closed.status, backLink(closed.body)]).toEqual([403, `${login}${waiting}&stay=`])
    expect(closed.body).toContain('lang="de"')
    world.upstream.down.add('/token')
    const again = await world.leave(browser, 'corp', waiting)
    const away = await world.comeBack(browser, await world.upstream.authorize(again, user))
    world.upstream.down.clear()
    expect([away.status, backLink(away.body)]).toEqual([502, `${login}${waiting}&stay=`])
    expect(away.body).toContain('lang="de"')
  })

  it('lead there where the browser cannot even leave', async () => {
    await world.provider('away', { config: { issuer: world.upstream.issuer, clientId: 'away' } })
    const browser = world.browser()
    // What was read of the provider is too old.
    world.clock.advance(25 * 3_600_000)
    world.upstream.down.add('/.well-known/openid-configuration')
    const waiting = await ask(browser, '&ui_locales=de')
    const page = await browser.get(`/realms/shop/broker/away/login${waiting}`)
    world.upstream.down.clear()
    expect([page.status, backLink(page.body)]).toEqual([502, `${login}${waiting}&stay=`])
    expect(page.body).toContain('lang="de"')
  })

  it('lead there after ten minutes too, while the application waits', async () => {
    const browser = world.browser()
    const waiting = await ask(browser, '&ui_locales=de')
    const left = await world.leave(browser, 'corp', waiting)
    const answer = await world.upstream.authorize(left, person())
    world.clock.advance(10 * 60_000)
    const page = await world.comeBack(browser, answer)
    expect([page.status, heading(page)]).toEqual([403, 'Die Anmeldung ist beendet'])
    expect(backLink(page.body)).toBe(`${login}${waiting}&stay=`)
    // Once: the answer has been used up.
    expect(backLink((await world.comeBack(browser, answer)).body)).toBe(`${login}?stay=`)
  })

  it('lead to the account where a link was refused', async () => {
    await world.addUser('links-nothing')
    const browser = world.browser()
    await browser.signIn('shop', 'links-nothing', password)
    const path = '/realms/shop/account/identities'
    const _csrf = /name="_csrf" value="([^"]+)"/.exec((await browser.get(path)).body)?.[1] ?? ''
    const { body } = await browser.post(path, { _csrf, link: 'corp' })
    const left = /href="(http[^"]+state=[^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const page = await world.comeBack(browser, world.upstream.cancel(left))
    expect([page.status, backLink(page.body)]).toEqual([403, path])
    expect(page.body).toContain('Back to your account')
    expect((await browser.get(path)).status).toBe(200)
  })

  it('lead every tab on to its application once one has signed the user in', async () => {
    const user = person()
    const browser = world.browser()
    const tabs: { readonly answer: string; readonly waiting: string }[] = []
    for (const state of ['one', 'two', 'three']) {
      const waiting = await ask(browser, `&state=${state}`)
      const left = await world.leave(browser, 'corp', waiting)
      tabs.push({ waiting, answer: await world.upstream.authorize(left, user) })
    }
    const ends: string[] = []
    for (const { answer } of tabs) ends.push(await target(browser, answer))
    expect(ends.map((end) => new URL(end).searchParams.get('state'))).toEqual([
      'one',
      'two',
      'three',
    ])
    expect(await world.must('GET', `/users?search=${user.email}`)).toHaveLength(1)
  })

  it('lead nowhere as another user than the one whose session it is', async () => {
    const browser = world.browser()
    const first = await world.leave(browser, 'corp', await ask(browser))
    const waiting = await ask(browser)
    const second = await world.leave(browser, 'corp', waiting)
    const [user, another] = [person(), person()]
    await world.through(world.browser(), another)
    await world.comeBack(browser, await world.upstream.authorize(first, user))
    const page = await world.comeBack(browser, await world.upstream.authorize(second, another))
    expect([page.status, heading(page)]).toEqual([403, 'The sign-in has ended'])
    expect(backLink(page.body)).toBe(`${login}${waiting}&stay=`)
    expect(await world.whoIs(browser)).toBe(user.email)
  })
})
