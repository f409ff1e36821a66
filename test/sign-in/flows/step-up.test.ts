/** Step-up: only the missing factors are asked for, and tokens name the methods in use. */

import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { openWorld, password, type SignInBrowser, type World } from '../world.ts'

const [backend] = backends

describe('stepping up', () => {
  let world: World
  const redirectUri = 'https://app.example/callback'
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')

  beforeAll(async () => {
    if (!backend) return
    world = await openWorld(backend)
    await world.must('POST', '/clients', {
      clientId: 'app',
      publicClient: true,
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
  })
  afterAll(() => world?.close())

  const authorize = (more: Record<string, string> = {}) =>
    `/realms/shop/authorize?${new URLSearchParams({
      client_id: 'app',
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...more,
    })}`

  /** Follows redirects of our own; the answer for the client is where it would be sent. */
  const follow = async (browser: SignInBrowser, path: string): Promise<URL | undefined> => {
    for (let target = path; ; ) {
      const answer = await browser.open(target)
      if (answer.location === null) return undefined
      if (answer.location.startsWith(redirectUri)) return new URL(answer.location)
      target = answer.location.replace(world.server.baseUrl, '')
    }
  }
  const claimsOf = async (callback: URL | undefined) => {
    const answer = await fetch(`${world.server.baseUrl}/realms/shop/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: 'app',
        code: callback?.searchParams.get('code') ?? '',
        redirect_uri: redirectUri,
        code_verifier: verifier,
      }),
    })
    const { id_token } = (await answer.json()) as { id_token: string }
    return JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString())
  }

  it('asks for the second factor alone, where the session has the first', async () => {
    const userId = await world.addUser('stella')
    const code = await world.addTotp(userId)
    await world.setFlow(
      [
        { authenticator: 'username-password' },
        { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
      ],
      [
        { authenticator: 'condition-acr', authenticatorConfig: { acr: '2' } },
        { authenticator: 'totp' },
      ],
    )
    const browser = world.browser()
    await follow(browser, authorize())
    const plain = await browser.submit({ username: 'stella', password })
    const callback = plain.location?.startsWith(redirectUri)
      ? new URL(plain.location)
      : await follow(browser, plain.location ?? '')
    expect(await claimsOf(callback)).toMatchObject({ acr: '1', amr: ['pwd'] })

    expect(await follow(browser, authorize({ acr_values: '2' }))).toBeUndefined()
    expect(browser.page?.body).toContain('name="code"')
    expect(browser.page?.body).not.toContain('name="password"')
    const stronger = await browser.submit({ code: code() })
    const second = stronger.location?.startsWith(redirectUri)
      ? new URL(stronger.location)
      : await follow(browser, stronger.location ?? '')
    expect(await claimsOf(second)).toMatchObject({ acr: '2', amr: ['pwd', 'otp'] })

    const third = await follow(browser, authorize({ acr_values: '2' }))
    expect(await claimsOf(third)).toMatchObject({ acr: '2' })

    // An essential claim has one of the values that were asked for (OIDC Core §5.5.1.1).
    for (const [values, acr] of [
      [['1'], '1'],
      [['1', '2'], '2'],
      [['2', '1'], '2'],
      [['gold', '1'], '1'],
    ] as const) {
      const claims = JSON.stringify({ id_token: { acr: { essential: true, values } } })
      const answer = await follow(browser, authorize({ claims, prompt: 'none' }))
      expect([values, (await claimsOf(answer)).acr]).toEqual([values, acr])
    }

    // In the order of preference (§5.5.1): a new sign-in aims at the first.
    const preferring = world.browser()
    const claims = JSON.stringify({ id_token: { acr: { essential: true, values: ['2', '1'] } } })
    await follow(preferring, authorize({ claims }))
    const { location } = await preferring.submit({ username: 'stella', password })
    expect(location).toBeNull()
    expect(preferring.page?.body).toContain('name="code"')
  })

  it('tells the client where an essential level was not reached, and whom nobody can serve', async () => {
    await world.addUser('solo')
    const browser = world.browser()
    const claims = JSON.stringify({ id_token: { acr: { essential: true, value: '7' } } })
    await follow(browser, authorize())
    await browser.submit({ username: 'solo', password })
    const answer = await follow(browser, authorize({ claims }))
    expect(answer?.searchParams.get('error')).toBe('unmet_authentication_requirements')
  })
})
