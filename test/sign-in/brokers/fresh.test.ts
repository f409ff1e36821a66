/**
 * A fresh sign-in at providers that do not tell when a person signed in: an application never gets it unproved, the pages of the
 * account take what such a provider can do.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import type { SignInBrowser } from '../world.ts'
import { type BrokerWorld, heading, openBrokerWorld } from './broker-world.ts'

const redirectUri = 'http://127.0.0.1:9/callback'
const unconfirmed = 'Your new sign-in is not confirmed'

describe.each(anyBackend)('a fresh sign-in at a provider without auth_time on $name', (backend) => {
  let world: BrokerWorld
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.must('POST', '/clients', {
      clientId: 'web',
      publicClient: true,
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
      consentRequired: false,
    })
    const config = {
      discoveryUrl: `${world.upstream.issuer}/.well-known/openid-configuration`,
      clientId: 'us',
      clientSecret: 'a secret of the client there',
    }
    await world.provider('gitlab', {
      protocol: 'gitlab',
      config: { ...config, issuer: world.upstream.issuer },
    })
    await world.provider('google', { protocol: 'google', config })
  })
  afterAll(() => world.close())

  const untold = { sub: 'ada', email: 'ada@there.example', auth_time: undefined }
  const authorize = (more: Record<string, string>): string =>
    `/realms/shop/authorize?${new URLSearchParams({
      client_id: 'web',
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      ...more,
    })}`
  /** Follows redirects of ours until a page, or until one leads elsewhere. */
  const follow = async (browser: SignInBrowser, path: string) => {
    let answer = await browser.get(path)
    for (;;) {
      const next = answer.location ?? ''
      const isOurs = next.startsWith('/') || next.startsWith(world.server.baseUrl)
      if ((answer.status !== 303 && answer.status !== 302) || !isOurs) return answer
      answer = await browser.get(next.replace(world.server.baseUrl, ''))
    }
  }
  /** What an application gets that sends the browser to the provider. */
  const asked = async (alias: string, more: Record<string, string>, browser = world.browser()) => {
    const there = await follow(browser, authorize({ kc_idp_hint: alias, ...more }))
    if (!there.location?.startsWith(world.upstream.issuer)) return there
    const answer = await world.upstream.authorize(there.location, untold)
    return follow(browser, answer.replace(world.server.baseUrl, ''))
  }

  it.each([{ prompt: 'login' }, { max_age: '0' }])(
    'is not claimed to an application that asks for %j',
    async (more) => {
      const browser = world.browser()
      const plain = await asked('gitlab', {}, browser)
      expect(plain.location).toMatch(/^http:\/\/127\.0\.0\.1:9\/callback\?.*code=/)
      const refused = await asked('gitlab', more, browser)
      expect([refused.status, heading(refused)]).toEqual([403, unconfirmed])
      expect(refused.body).toContain('Provider gitlab')
      expect(refused.location).toBe(null)
    },
  )

  it('is not even asked for where the provider never tells', async () => {
    const browser = world.browser()
    expect((await asked('gitlab', {}, browser)).location).toMatch(/code=/)
    const refused = await asked('google', { prompt: 'login' }, browser)
    expect([refused.status, heading(refused)]).toEqual([403, unconfirmed])
  })

  it.each([{ prompt: 'login' }, { max_age: '0' }])(
    'is any sign-in where the browser has no session, although the application asks for %j',
    async (more) => {
      expect((await asked('gitlab', more)).location).toMatch(/code=/)
    },
  )

  it('is accepted where it is told', async () => {
    const browser = world.browser()
    const hints = { kc_idp_hint: 'gitlab', prompt: 'login' }
    const { location } = await follow(browser, authorize(hints))
    const told = { sub: 'ada', email: 'ada@there.example' }
    const answer = await world.upstream.authorize(location ?? '', told)
    const back = await follow(browser, answer.replace(world.server.baseUrl, ''))
    expect(back.location).toMatch(/code=/)
  })

  it('does for the pages of the account by a new ID token, and not by an old one', async () => {
    const browser = world.browser()
    await world.through(browser, untold, 'gitlab')
    const again = async (user: typeof untold) => {
      const there = await world.leave(browser, 'gitlab', '?authorization=account-security-fresh')
      expect(new URL(there).searchParams.get('prompt')).toBe('login')
      const answer = await world.upstream.authorize(there, user)
      return browser.get(answer.replace(world.server.baseUrl, ''))
    }
    expect((await again(untold)).location).toMatch(/account\/security$/)
    world.upstream.tokens.age = 120
    const old = await again(untold)
    world.upstream.tokens.age = 0
    expect([old.status, heading(old)]).toEqual([403, unconfirmed])
  })

  it('never raises the level of a session', async () => {
    const browser = world.browser()
    await world.through(browser, untold, 'gitlab')
    const strong = { ...untold, amr: ['pwd', 'otp'] }
    const there = await world.leave(browser, 'gitlab', '?authorization=account-security-strong')
    const answer = await world.upstream.authorize(there, strong)
    const refused = await browser.get(answer.replace(world.server.baseUrl, ''))
    expect([refused.status, heading(refused)]).toEqual([403, unconfirmed])
  })
})
