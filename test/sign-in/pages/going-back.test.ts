/** Users who go back in their browser, send a form again, or sign in and out in another tab meanwhile. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { openWorld, password, type SignInBrowser, type World } from '../world.ts'

const login = '/realms/shop/login'
const redirectUri = 'https://app.example/cb'

describe.each(backends)('going back on $name', (backend) => {
  let world: World
  let browser: SignInBrowser
  let username = ''
  let count = 0
  beforeAll(async () => {
    world = await openWorld(backend)
    await world.must('POST', '/clients', {
      clientId: 'web',
      publicClient: true,
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
    await world.settings({ registrationAllowed: true })
  })
  afterAll(() => world.close())
  beforeEach(() => {
    count += 1
    username = `anna-${count}`
    browser = world.browser()
    // An address may register only so often.
    world.clock.advance(3_600_000)
    return world.settings({ verifyEmail: false })
  })

  const query = new URLSearchParams({
    client_id: 'web',
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  })
  /** The handle of a request that waits for the sign-in. */
  const begin = async (): Promise<string> => {
    const { location } = await browser.get(`/realms/shop/authorize?${query}`)
    return new URL(location ?? '', world.server.baseUrl).search
  }
  const csrfIn = (body: string): string => /name="_csrf" value="([^"]+)"/.exec(body)?.[1] ?? ''
  const person = () => ({ username, email: `${username}@shop.example`, password })

  it('to the form of a registration that has ended leads on, and does not call the name taken', async () => {
    const { body } = await browser.open(`${login}/register`)
    await browser.submit(person())
    expect(browser.isSignedIn('shop')).toBe(true)
    const stale = { ...person(), _csrf: csrfIn(body) }
    expect(await browser.post(`${login}/register`, stale)).toMatchObject({ location: login })
    await browser.open(`${login}/register`)
    expect((await browser.submit(person())).body).toContain('You are signed in')
  })

  it('to a registration for an application leads to the page that tells who is signed in', async () => {
    const path = `${login}/register${await begin()}`
    const { body } = await browser.open(path)
    expect((await browser.submit(person())).status).toBe(303)
    await browser.get((browser.path ?? '').replace(world.server.baseUrl, ''))
    const again = await browser.post(path, { ...person(), _csrf: csrfIn(body) })
    expect([again.status, again.location]).toEqual([303, login])
    expect(await browser.get(path)).toMatchObject({ status: 303, location: login })
  })

  it('from the code for a new address leads to it again, in this browser alone', async () => {
    await world.settings({ verifyEmail: true })
    await browser.open(`${login}/register`)
    await browser.submit(person())
    const first = browser.path
    await browser.open(`${login}/register`)
    expect((await browser.submit(person())).body).toContain('Confirm your email address')
    expect(browser.path).not.toBe(first)

    const other = world.browser()
    await other.open(`${login}/register`)
    expect((await other.submit(person())).status).toBe(400)
    await browser.submit({ code: await world.mailedCode() })
    expect(browser.isSignedIn('shop')).toBe(true)
  })

  it('and sending the form several times at once fails nowhere', async () => {
    await world.settings({ verifyEmail: true })
    const { body } = await browser.open(`${login}/register`)
    await browser.submit(person())
    const again = { ...person(), _csrf: csrfIn(body) }
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => browser.post(`${login}/register`, again)),
    )
    expect(answers.map(({ status }) => status).filter((one) => one !== 303 && one !== 400)).toEqual(
      [],
    )
    expect(answers.some(({ status }) => status === 303)).toBe(true)
  })

  it('to a sign-in that is of no browser any more offers a new one for the same application', async () => {
    const userId = await world.addUser(username)
    await world.must('PUT', `/users/${userId}/required-actions`, ['TERMS_AND_CONDITIONS'])
    const waiting = await begin()
    await browser.open(`${login}${waiting}`)
    await browser.submit({ username, password })
    browser.cookies.delete('iam-login-shop')
    const { status, body } = await browser.get(browser.path)
    expect([status, body.includes(`href="${login}${waiting}"`)]).toEqual([403, true])
    expect(body).toContain('This sign-in has ended')
    const other = world.browser()
    await other.open(login)
    expect((await other.get(browser.path)).body).toContain(`href="${login}"`)
  })
})
