/** The application that sign-in pages name, and the fields that they keep after a refusal. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { openWorld, password, type SignInBrowser, type World } from '../world.ts'

const login = '/realms/shop/login'
const redirectUri = 'https://app.example/cb'
const attack = `<script>alert(1)</script>"'><img src=x>`

describe.each(backends)('the sign-in page on $name', (backend) => {
  let world: World
  let browser: SignInBrowser
  const ids: Record<string, string> = {}
  const addClient = async (clientId: string, more: Record<string, unknown> = {}) => {
    const { id } = await world.must('POST', '/clients', {
      clientId,
      publicClient: true,
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
      ...more,
    })
    ids[clientId] = id
  }
  beforeAll(async () => {
    world = await openWorld(backend)
    await addClient('web', { name: 'Fahrplan & Karten' })
    await addClient('nameless')
    await addClient('evil', { name: attack })
    await addClient('closed', { name: 'Closed shop' })
    await world.settings({ registrationAllowed: true, termsUrl: 'https://shop.example/terms' })
    await world.addUser('anna')
  })
  afterAll(() => world.close())
  beforeEach(() => {
    browser = world.browser()
  })

  const begin = async (clientId: string): Promise<string> => {
    const query = new URLSearchParams({
      client_id: clientId,
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    })
    return (await browser.get(`/realms/shop/authorize?${query}`)).location ?? ''
  }
  const bodyOf = async (path: string): Promise<string> => (await browser.open(path)).body

  it('names the application that the sign-in is for, also after a wrong password', async () => {
    expect(await bodyOf(await begin('web'))).toContain('to continue to Fahrplan &amp; Karten.')
    const refused = await browser.submit({ username: 'anna', password: 'wrong' })
    expect(refused.status).toBe(401)
    expect(refused.body).toContain('to continue to Fahrplan &amp; Karten.')
    expect(await bodyOf(await begin('nameless'))).toContain('to continue to nameless.')
  })

  it('names it on the pages that lead from there, and beside a welcome of the realm', async () => {
    const path = await begin('web')
    for (const page of ['/login/register', '/login/forgot'])
      expect(await bodyOf(path.replace('/login', page)), page).toContain('Fahrplan &amp; Karten')
    await world.settings({ welcomeText: 'Good to see you.' })
    const body = await bodyOf(path)
    await world.settings({ welcomeText: null })
    expect(body).toContain('Good to see you.')
    expect(body).toContain('Fahrplan &amp; Karten')
  })

  it('offers no passkeys at an IP address, for which browsers make none (WebAuthn Level 3, §5.1.3)', async () => {
    expect(world.server.baseUrl).toContain('//127.0.0.1:')
    expect(await bodyOf(login)).not.toContain('webauthn')
    await world.settings({ webAuthnPolicyRpId: 'shop.example' })
    const named = await bodyOf(login)
    await world.settings({ webAuthnPolicyRpId: null })
    expect(named).toContain('data-webauthn="get"')
  })

  it('shows a name as text, whatever it holds', async () => {
    const body = await bodyOf(await begin('evil'))
    expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(body).not.toContain('<script>')
    expect(body).not.toContain('<img')
  })

  it('names no application where none waits, or where it is not one that may sign users in', async () => {
    for (const path of [login, `${login}?authorization=account-profile`])
      expect(await bodyOf(path), path).not.toContain('continue to')
    const path = await begin('closed')
    await world.must('PUT', `/clients/${ids['closed']}`, {
      clientId: 'closed',
      name: 'Closed shop',
      publicClient: true,
      enabled: false,
    })
    expect(await bodyOf(path)).not.toContain('Closed shop')
  })

  const box = (name: string): string =>
    new RegExp(`<input type="checkbox" name="${name}"[^>]*>`).exec(browser.page?.body ?? '')?.[0] ??
    'no box'

  it.each([
    ['a password that is too short', { username: 'berta', password: 'x' }],
    ['no username', { username: ' ', password }],
  ])('keeps the tick at the terms, and what was typed, after %s', async (_title, wrong) => {
    await browser.open(`${login}/register`)
    expect(box('terms')).not.toContain('checked')
    const typed = { email: 'berta@shop.example', firstName: 'Berta' }
    expect((await browser.submit({ ...typed, ...wrong, terms: 'true' })).status).toBe(400)
    expect(box('terms')).toContain(' checked')
    expect(browser.page?.body).toContain('value="berta@shop.example"')
    await browser.submit({ ...typed, ...wrong })
    expect(box('terms')).not.toContain('checked')
  })

  it('keeps the boxes of other forms as the user left them', async () => {
    await world.settings({ rememberMe: true })
    await browser.open(login)
    await browser.submit({ username: '', password, rememberMe: 'true' })
    expect(box('rememberMe')).toContain(' checked')
    const userId = await world.addUser('carla')
    await world.must('PUT', `/users/${userId}/required-actions`, ['UPDATE_PASSWORD'])
    await browser.open(login)
    await browser.submit({ username: 'carla', password })
    expect(box('signOutOthers')).toContain(' checked')
    const mismatch = { password: 'x', passwordConfirm: 'y' }
    await browser.submit(mismatch)
    expect(box('signOutOthers')).not.toContain('checked')
    await browser.submit({ ...mismatch, signOutOthers: 'true' })
    expect(box('signOutOthers')).toContain(' checked')
  })
})
