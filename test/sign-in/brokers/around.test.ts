/** Sign-ins through identity providers within what is around them: clients, organizations, levels and administrators. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { acsUrl, askUrl, entityId } from '../../saml/fixture.ts'
import { anyBackend } from '../../support/backends.ts'
import { password, type SignInBrowser } from '../world.ts'
import { type BrokerWorld, heading, login, openBrokerWorld } from './broker-world.ts'

const redirectUri = 'http://127.0.0.1:9/callback'

describe.each(anyBackend)('around sign-ins through identity providers on $name', (backend) => {
  let world: BrokerWorld
  let count = 0
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.must('POST', '/clients', {
      clientId: 'web',
      publicClient: true,
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
      consentRequired: false,
    })
    await world.must('POST', '/organizations', {
      alias: 'nordwind',
      name: 'Nordwind',
      domains: [{ name: 'nordwind.example', verified: true }, { name: 'claimed.example' }],
    })
    await world.must('POST', '/organizations', { alias: 'suedwind', name: 'Südwind' })
    await world.provider('corp')
    await world.provider('staff', { organization: 'nordwind', displayName: 'Nordwind SSO' })
    await world.provider('south', { organization: 'suedwind' })
    await world.provider('quiet', { organization: 'suedwind', hideOnLogin: true })
  })
  afterAll(() => world.close())

  const person = (fields: Record<string, unknown> = {}) => {
    count += 1
    return { sub: `s-${count}`, email: `p-${count}@there.example`, email_verified: true, ...fields }
  }
  const authorize = (more: Record<string, string> = {}) =>
    `/realms/shop/authorize?${new URLSearchParams({
      client_id: 'web',
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      ...more,
    })}`
  /** Follows redirects of ours until one leads elsewhere. */
  const follow = async (browser: SignInBrowser, path: string): Promise<string> => {
    let answer = await browser.get(path)
    while (answer.status === 303 || answer.status === 302) {
      const next = answer.location ?? ''
      if (/^https?:/.test(next) && !next.startsWith(world.server.baseUrl)) return next
      answer = await browser.get(next.replace(world.server.baseUrl, ''))
    }
    return answer.body
  }
  const sessionOf = (email: string) =>
    world.server.areas.storage.db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['sessions.amr', 'sessions.acr', 'sessions.sid'])
      .where('users.email', '=', email)
      .orderBy('sessions.created_at', 'desc')
      .executeTakeFirst()

  it('goes from a client to the provider that it hints at, and back with a code', async () => {
    const browser = world.browser()
    const hints = { kc_idp_hint: 'corp', login_hint: 'me@there.example' }
    const there = await follow(browser, authorize(hints))
    const answer = await world.upstream.authorize(there, person())
    expect(world.upstream.asked.get('login_hint')).toBe('me@there.example')
    const back = await follow(browser, answer.replace(world.server.baseUrl, ''))
    expect(new URL(back).searchParams.get('code')).toMatch(/.+/)
  })

  it('answers a service provider of SAML for a person from the provider', async () => {
    await world.must('POST', '/saml-clients', {
      entityId,
      name: 'Service',
      assertionConsumerServiceUrl: acsUrl,
    })
    const browser = world.browser()
    const issuer = `${world.server.baseUrl}/realms/shop`
    const page = await follow(browser, askUrl({ issuer }).replace(world.server.baseUrl, ''))
    const path = /href="([^"]*broker\/corp\/login[^"]*)"/.exec(page)?.[1] ?? ''
    const left = await browser.get(path.replaceAll('&amp;', '&'))
    const answer = await world.upstream.authorize(left.location ?? '', person())
    const body = await follow(browser, answer.replace(world.server.baseUrl, ''))
    expect(body).toContain('name="SAMLResponse"')
    expect(body).toContain(`action="${acsUrl}"`)
  })

  it('shows the sign-in page where the hint names none that is offered', async () => {
    for (const alias of ['quiet', 'nothing', '../x'])
      expect(await follow(world.browser(), authorize({ kc_idp_hint: alias }))).toContain(
        'Continue with Provider corp',
      )
  })

  it('asks the provider to ask again where the client wants a fresh sign-in', async () => {
    const browser = world.browser()
    const user = person()
    await world.through(browser, user)
    const there = await follow(browser, authorize({ prompt: 'login', kc_idp_hint: 'corp' }))
    expect(new URL(there).searchParams.get('prompt')).toBe('login')
  })

  it('keeps the session there with the session here', async () => {
    const user = person({ sid: 'upstream-session' })
    await world.through(world.browser(), user)
    const session = await sessionOf(user.email)
    const row = await world.server.areas.storage.db
      .selectFrom('broker_sessions')
      .selectAll()
      .where('sid', '=', session?.sid ?? '')
      .executeTakeFirst()
    expect(row).toMatchObject({ subject: user.sub, upstream_sid: 'upstream-session' })
  })

  it.each([
    [undefined, '1'],
    [['pwd'], '1'],
    [['pwd', 'rba'], '1'],
    [['otp', 'hwk'], '1'],
    [['pwd', 'otp'], '2'],
    [['mfa'], '2'],
  ])('takes the methods %j there for level %s, and never for our own', async (amr, acr) => {
    const user = person(amr ? { amr } : {})
    await world.through(world.browser(), user)
    const session = await sessionOf(user.email)
    expect([session?.acr, JSON.parse(session?.amr ?? '[]')[0]]).toEqual([acr, 'fed'])
    expect(session?.amr).not.toContain('pwd')
  })

  it('asks for the second factor here where the provider proved one', async () => {
    const user = person()
    await world.through(world.browser(), user)
    const row = await world.userNamed(user.email)
    const code = await world.addTotp(String(row?.['id']))
    const strong = world.browser()
    await world.through(strong, { ...user, amr: ['mfa'] })
    expect(strong.isSignedIn('shop')).toBe(true)
    const browser = world.browser()
    await world.through(browser, user)
    expect(browser.isSignedIn('shop')).toBe(false)
    await browser.submit({ code: code() })
    expect((await sessionOf(user.email))?.acr).toBe('2')
  })

  it('admits no administrator by the provider alone', async () => {
    const user = person({ amr: ['mfa'] })
    await world.through(world.browser(), user)
    const row = await world.userNamed(user.email)
    await world.must('POST', `/users/${row?.['id']}/roles`, { name: 'admin' })
    const browser = world.browser()
    const page = await world.through(browser, user)
    expect([page.status, browser.isSignedIn('shop')]).toEqual([403, false])
    const code = await world.addTotp(String(row?.['id']))
    await world.through(browser, user)
    await browser.submit({ code: code() })
    expect(browser.isSignedIn('shop')).toBe(true)
  })

  describe('of an organization', () => {
    const toOrganization = async (address: string) => {
      const browser = world.browser()
      await browser.open(login)
      await browser.submit({ step: 'organization' })
      const page = await browser.submit({ username: address })
      return { browser, page }
    }

    it('finds the provider by a verified domain, for known and unknown people alike', async () => {
      await world.addUser('known', { email: 'known@nordwind.example' })
      for (const name of ['known', 'unknown']) {
        const { page } = await toOrganization(`${name}@NORDWIND.example`)
        expect(heading(page)).toBe('Continue with your organization')
        expect(page.body).toContain('Continue with Nordwind SSO')
      }
      for (const address of ['a@claimed.example', 'a@nothing.example', 'known']) {
        const { page } = await toOrganization(address)
        expect([page.status, page.body.includes('No organization with this address')]).toEqual([
          400,
          true,
        ])
      }
    })

    it('makes its people members, and vouches for its own domains alone', async () => {
      const { browser, page } = await toOrganization('nora@nordwind.example')
      const path = /href="([^"]*broker\/staff\/login[^"]*)"/.exec(page.body)?.[1] ?? ''
      const left = await browser.get(path.replaceAll('&amp;', '&'))
      const user = person({ email: 'nora@nordwind.example' })
      const answer = await world.upstream.authorize(left.location ?? '', user)
      expect(world.upstream.asked.get('login_hint')).toBe('nora@nordwind.example')
      await world.comeBack(browser, answer)
      expect(await world.whoIs(browser)).toBe('nora@nordwind.example')
      const outsider = person()
      await world.through(world.browser(), outsider, 'staff')
      const rows = await world.server.areas.storage.db
        .selectFrom('users')
        .innerJoin('organization_members', 'organization_members.user_id', 'users.id')
        .select(['users.email', 'users.email_verified'])
        .where('users.email', 'in', ['nora@nordwind.example', outsider.email])
        .orderBy('users.email')
        .execute()
      expect(rows).toEqual([
        { email: 'nora@nordwind.example', email_verified: 1 },
        { email: outsider.email, email_verified: 0 },
      ])
    })

    it('is dead for a request of another organization, and shown for its own', async () => {
      const other = await follow(world.browser(), authorize({ organization: 'suedwind' }))
      expect(other).toContain('Provider south')
      expect(other).not.toContain('Nordwind SSO')
      const browser = world.browser()
      await follow(browser, authorize({ organization: 'suedwind' }))
      const page = await follow(
        browser,
        authorize({ organization: 'suedwind', kc_idp_hint: 'staff' }),
      )
      expect(page).toContain('<h1>Sign in</h1>')
      const own = authorize({ organization: 'suedwind', kc_idp_hint: 'quiet' })
      expect(await follow(world.browser(), own)).toContain(`${world.upstream.issuer}/authorize`)
    })
  })

  it('lets a person with a password choose it where the flow does, and no other', async () => {
    await world.setFlow([
      { authenticator: 'identify' },
      { authenticator: 'identity-provider', requirement: 'ALTERNATIVE' },
      { authenticator: 'password', requirement: 'ALTERNATIVE' },
    ])
    await world.addUser('nils', { email: 'nils@nordwind.example', emailVerified: true })
    const browser = world.browser()
    await browser.open(login)
    await browser.submit({ username: 'nils@nordwind.example' })
    expect(heading(browser.page ?? ({} as never))).toBe('Continue with your organization')
    await browser.submit({ step: 'other' })
    const node = /name="method" value="([^"]+)"/.exec(browser.page?.body ?? '')?.[1] ?? ''
    await browser.submit({ method: node })
    await browser.submit({ password })
    expect(browser.isSignedIn('shop')).toBe(true)
    const plain = world.browser()
    await plain.open(login)
    await plain.submit({ username: 'somebody@nothing.example' })
    expect(plain.page?.body).toContain('name="password"')
  })
})
