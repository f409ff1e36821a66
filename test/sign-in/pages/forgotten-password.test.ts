/** A forgotten password within the sign-in for an application, and the texts of its pages, over HTTP with real mail. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { openWorld, password, type SignInBrowser, tokenIn, type World } from '../world.ts'

const login = '/realms/shop/login'
const redirectUri = 'https://app.example/cb'
const fresh = 'another secret, long enough 9'

describe.each(backends)('a forgotten password on $name', (backend) => {
  let world: World
  let count = 0
  let username = ''
  beforeAll(async () => {
    world = await openWorld(backend)
    await world.must('POST', '/clients', {
      clientId: 'web',
      publicClient: true,
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
    // Its users have no number: nothing is sent there.
    await world.must('PUT', '/messaging/providers', {
      channel: 'SMS',
      driver: 'http',
      config: { url: 'https://sms.example/send' },
    })
  })
  afterAll(() => world.close())
  beforeEach(async () => {
    count += 1
    username = `user-${count}`
    await world.addUser(username, { emailVerified: true })
    await world.setFlow([{ authenticator: 'username-password' }])
    await template('reset-password', true)
    await world.forgetMail()
  })

  const template = (templateKey: string, enabled: boolean) =>
    world.must('PUT', '/messaging/templates', {
      templateKey,
      channel: templateKey === 'otp-sms' ? 'SMS' : 'EMAIL',
      locale: 'en',
      subject: 'Link',
      body: 'Here: {{link}} or {{code}}.',
      enabled,
    })

  /** Comes from the application, and follows redirects to the page. */
  const comeFromApplication = async (browser: SignInBrowser): Promise<void> => {
    const query = new URLSearchParams({
      client_id: 'web',
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      state: 'the-state',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    })
    const answer = await browser.get(`/realms/shop/authorize?${query}`)
    await browser.open(answer.location ?? '')
  }
  const linkOf = (browser: SignInBrowser, path: string): string =>
    new RegExp(`href="([^"]*${path}[^"]*)"`)
      .exec(browser.page?.body ?? '')?.[1]
      ?.replaceAll('&amp;', '&') ?? '/none'
  const follow = async (browser: SignInBrowser, location: string | null): Promise<string> => {
    let next = location ?? ''
    while (next.startsWith('/')) next = (await browser.get(next)).location ?? ''
    return next
  }
  const reset = async (browser: SignInBrowser, link: string): Promise<void> => {
    expect((await browser.open(link)).body).toContain('Choose a new password?')
    await browser.submit({ token: tokenIn(link) })
    await browser.submit({ password: fresh, passwordConfirm: fresh })
  }
  /** Sends the form of the page, and goes where it leads, also to an application. */
  const signInWith = async (browser: SignInBrowser, secret: string): Promise<string> => {
    const body = browser.page?.body ?? ''
    const action = /<form[^>]*action="([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const _csrf = /name="_csrf" value="([^"]+)"/.exec(body)?.[1] ?? ''
    const answer = await browser.post(action, { _csrf, username, password: secret })
    return follow(browser, answer.location)
  }

  it.each([
    ['name and password on one page', [{ authenticator: 'username-password' }]],
    [
      'name and password on two pages',
      [{ authenticator: 'identify' }, { authenticator: 'password' }],
    ],
  ])('leads back to the application that began the sign-in: %s', async (_, executions) => {
    await world.setFlow(executions)
    const browser = world.browser()
    await comeFromApplication(browser)
    if (executions.length > 1) await browser.submit({ username })
    await browser.open(linkOf(browser, '/login/forgot'))
    expect(linkOf(browser, '/login\\?')).toContain('authorization=')
    await browser.submit({ username })
    await reset(browser, await world.mailedLink())
    expect(browser.page?.body).toContain('Your password is changed')
    if (executions.length > 1) await browser.submit({ username })
    const landed = new URL(await signInWith(browser, fresh))
    expect(landed.origin + landed.pathname).toBe(redirectUri)
    expect(landed.searchParams.get('code')).toBeTruthy()
    expect(landed.searchParams.get('state')).toBe('the-state')
  })

  it('may be set anew in another browser, where nothing waits, and is good in the first', async () => {
    const [browser, phone] = [world.browser(), world.browser()]
    await comeFromApplication(browser)
    const began = browser.path
    await browser.open(linkOf(browser, '/login/forgot'))
    await browser.submit({ username })
    await reset(phone, await world.mailedLink())
    expect(phone.page?.status).toBe(200)
    expect(phone.page?.body).toContain('Your password is changed')
    await browser.open(began)
    const landed = new URL(await signInWith(browser, fresh))
    expect(landed.searchParams.get('code')).toBeTruthy()
  })

  it('says of a link that was used, or is too old, that a new one is needed', async () => {
    const browser = world.browser()
    await comeFromApplication(browser)
    const again = linkOf(browser, '/login/forgot')
    await browser.open(again)
    await browser.submit({ username })
    const used = await world.mailedLink()
    await reset(browser, used)
    await browser.open(again)
    await browser.submit({ username })
    const late = await world.mailedLink()
    world.clock.advance(31 * 60_000)
    for (const link of [used, late]) {
      const page = await browser.open(link)
      expect(page.status).toBe(403)
      expect(page.body).toContain('This link has expired')
      expect(page.body).toContain(`href="${login}"`)
    }
  })

  it('has a page that says what to do where a link to sign in is opened in another browser', async () => {
    await world.setFlow([{ authenticator: 'identify' }, { authenticator: 'email-link' }])
    const browser = world.browser()
    await comeFromApplication(browser)
    await browser.submit({ username })
    const answers = new Set<string>()
    for (const link of [
      await world.mailedLink(),
      `${login}/${'x'.repeat(43)}?token=${'y'.repeat(43)}`,
    ]) {
      const page = await world.browser().open(link)
      expect(page.status).toBe(403)
      expect(page.headers.get('content-type')).toContain('text/html')
      expect(page.body).toContain('Open this in the browser where you started')
      expect(page.body).toContain('start again in this one')
      expect(page.body).toContain(`href="${login}"`)
      answers.add(page.body.replaceAll(/<code>[^<]*<\/code>/g, ''))
    }
    // The page is the same for a link that was never sent.
    expect(answers.size).toBe(1)
  })

  it.each([
    ['forgot', [{ authenticator: 'username-password' }]],
    ['', [{ authenticator: 'identify' }, { authenticator: 'email-link' }]],
    ['', [{ authenticator: 'identify' }, { authenticator: 'email-code' }]],
    ['', [{ authenticator: 'identify' }, { authenticator: 'sms-code' }]],
  ])('names no address and claims no message before a proof: %s %j', async (path, executions) => {
    await world.setFlow(executions)
    const pages = new Set<string>()
    for (const name of [username, `${username}@shop.example`, 'nobody', 'nobody@shop.example']) {
      const browser = world.browser()
      await browser.open(path === '' ? login : `${login}/${path}`)
      const { body } = await browser.submit({ username: name })
      const [intro = ''] = /<p class="intro">[^<]*<\/p>/.exec(body) ?? []
      expect(intro).toContain('If there is such an account')
      pages.add(intro)
    }
    expect(pages.size).toBe(1)
  })

  it.each([
    ['reset-password', 'forgot', [{ authenticator: 'username-password' }]],
    ['magic-link-email', '', [{ authenticator: 'identify' }, { authenticator: 'email-link' }]],
    ['otp-email', '', [{ authenticator: 'identify' }, { authenticator: 'email-code' }]],
    ['otp-sms', '', [{ authenticator: 'identify' }, { authenticator: 'sms-code' }]],
  ])(
    'says that it does not work where %s is not enabled, whoever asks',
    async (key, path, executions) => {
      await template(key, false)
      await world.setFlow(executions)
      const answers: unknown[] = []
      for (const name of [username, 'nobody']) {
        const browser = world.browser()
        await browser.open(path === '' ? login : `${login}/${path}`)
        const { status, body } = await browser.submit({ username: name })
        expect(body).not.toMatch(/is on its way|was sent/)
        expect(body).toContain('This does not work at the moment')
        answers.push([status, body.replaceAll(/[\w-]{43,}/g, '').replaceAll(name, '')])
      }
      expect(answers[1]).toEqual(answers[0])
      await world.settle()
      expect(world.mail.mails).toEqual([])
      await template(key, true)
    },
  )

  it('does not claim a code after the password where the message is not enabled', async () => {
    await template('otp-email', false)
    await world.setFlow([{ authenticator: 'username-password' }, { authenticator: 'email-code' }])
    const browser = world.browser()
    await browser.open(login)
    const { body } = await browser.submit({ username, password })
    expect(body).not.toMatch(/is on its way|was sent/)
    expect(browser.isSignedIn('shop')).toBe(false)
    await template('otp-email', true)
  })

  it('does not claim a code to an address that is to be verified where the message is not enabled', async () => {
    await template('verify-email', false)
    await world.settings({ verifyEmail: true })
    await world.addUser('unverified', { emailVerified: false })
    const browser = world.browser()
    await browser.open(login)
    const { body } = await browser.submit({ username: 'unverified', password })
    await world.settings({ verifyEmail: null })
    await template('verify-email', true)
    expect(body).not.toMatch(/is on its way|was sent/)
    expect(body).toContain('This does not work at the moment')
    expect(browser.isSignedIn('shop')).toBe(false)
  })
})
