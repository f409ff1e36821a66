/** `oidc-provider` signs people in for an application behind Apache; a sign-out on any side ends the sessions of all. */

import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { logoutJobs } from '#server/run/background.ts'
import { password } from '../../../oidc/relying-party.ts'
import { backends } from '../../../support/backends.ts'
import { runJobs } from '../../../support/jobs.ts'
import { type BrokerSite, openBrokerSite } from './fixture.ts'

describe.each(backends.slice(-1))('oidc-provider as an identity provider, on $name', (backend) => {
  let broker: BrokerSite
  beforeAll(async () => {
    broker = await openBrokerSite(backend)
  })
  afterAll(() => broker?.close())
  afterEach(() => expect(broker.upstream.errors).toEqual([]))

  const person = (login: string, fields: object = {}) => {
    const claims = { email: `${login}@there.example`, email_verified: true, ...fields }
    broker.upstream.accounts.set(login, claims)
    return claims
  }
  const signIn = async (page: Page, login: string): Promise<void> => {
    await broker.leaveFor(page, 'Provider corp')
    await broker.upstream.signIn(page, login)
  }

  it('makes the account at the first sign-in: PKCE, nonce and state there, iss in the answer', async () => {
    person('nora', { given_name: 'Nora', family_name: 'Holm', preferred_username: 'nora' })
    const page = await broker.visit()
    const seen: URL[] = []
    page.on('request', (request) => seen.push(new URL(request.url())))
    await signIn(page, 'nora')
    const claims = await broker.shown(page)
    expect(claims).toMatchObject({
      oidc_claim_iss: broker.site.issuer,
      oidc_claim_email: 'nora@there.example',
      oidc_claim_preferred_username: 'nora',
      oidc_claim_given_name: 'Nora',
    })
    const asked = seen.find(({ href }) => href.startsWith(`${broker.upstream.issuer}/auth?`))
    expect(Object.fromEntries(asked?.searchParams ?? [])).toMatchObject({
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
    })
    const back = seen.find(({ pathname }) => pathname.endsWith('/broker/corp/endpoint'))
    expect(back?.searchParams.get('iss')).toBe(broker.upstream.issuer)
    expect(await broker.linksOf(claims['oidc_claim_sub'] ?? '')).toEqual(['nora'])

    person('nora', { email: 'renamed@there.example' })
    const again = await broker.visit()
    await signIn(again, 'nora')
    expect(await broker.shown(again)).toMatchObject({ oidc_claim_sub: claims['oidc_claim_sub'] })
  })

  it('links an account with the address once its password is proved, and finds it by the subject then', async () => {
    const { email } = person('ole')
    const userId = await broker.addUser('ole-local', { email, emailVerified: true })
    const page = await broker.visit()
    await signIn(page, 'ole')
    await page.getByRole('heading', { name: 'We found an account' }).waitFor()
    await page.getByRole('button', { name: 'Sign in and link' }).click()
    await page.getByLabel('Password').fill('not the password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    expect(await broker.linksOf(userId)).toEqual([])
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(await broker.shown(page)).toMatchObject({ oidc_claim_sub: userId })
    expect(await broker.linksOf(userId)).toEqual(['ole'])
    const again = await broker.visit()
    await signIn(again, 'ole')
    expect(await broker.shown(again)).toMatchObject({ oidc_claim_sub: userId })
  })

  const endThere = (page: Page) => page.getByRole('button', { name: 'Yes, sign me out' }).click()

  it('is signed out with the application, and the browser comes back to it', async () => {
    person('per')
    const page = await broker.visit()
    await signIn(page, 'per')
    await broker.shown(page)
    const { origin } = new URL(broker.bye)
    await page.goto(`${origin}/secure/cb?logout=${encodeURIComponent(broker.bye)}`)
    await page.waitForURL(`${broker.upstream.issuer}/session/end?*`)
    await endThere(page)
    await page.waitForURL(broker.bye)
    await broker.leaveFor(page, 'Provider corp')
    await page.waitForURL(`${broker.upstream.issuer}/interaction/*`)
  })

  it('is signed out from our own page, and the browser comes back to it', async () => {
    person('pia')
    const page = await broker.visit()
    await signIn(page, 'pia')
    await broker.shown(page)
    await page.goto(`${broker.site.issuer}/logout`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${broker.upstream.issuer}/session/end?*`)
    await endThere(page)
    await page.waitForURL(`${broker.site.issuer}/logout`)
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
    await page.goto(`${broker.site.issuer}/login`)
    await page.getByRole('link', { name: 'Continue with Provider corp' }).click()
    await page.waitForURL(`${broker.upstream.issuer}/interaction/*`)
  })

  it('tells by a logout token that its session has ended: so do ours and the one of the application', async () => {
    person('quin')
    const [page, other] = [await broker.visit(), await broker.visit()]
    for (const one of [page, other]) {
      await signIn(one, 'quin')
      await broker.shown(one)
    }
    await page.goto(`${broker.upstream.issuer}/session/end`)
    await endThere(page)
    await page.waitForURL(`${broker.upstream.issuer}/session/end/success*`)
    const { areas } = broker.site.server
    await runJobs(areas.jobs, logoutJobs(areas))
    const isProtected = async (one: Page): Promise<boolean> => {
      await one.goto(broker.application)
      return (await one.getByRole('link', { name: 'Continue with Provider corp' }).count()) === 1
    }
    await expect.poll(() => isProtected(page), { timeout: 20_000 }).toBe(true)
    expect(await isProtected(other)).toBe(false)
    const events = await broker.site.events('LOGOUT')
    expect(events[0]?.detail).toBe('identity provider corp')
  })
})
