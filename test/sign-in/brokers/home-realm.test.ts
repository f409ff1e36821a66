/** Home-realm discovery: an address leads to the provider of its organization, and tells nothing about who has an account. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { password } from '../world.ts'
import { type BrokerWorld, heading, login, openBrokerWorld } from './broker-world.ts'

describe.each(anyBackend)('home-realm discovery on $name', (backend) => {
  let world: BrokerWorld
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.must('POST', '/organizations', {
      alias: 'nordwind',
      name: 'Nordwind',
      domains: [{ name: 'nordwind.example', verified: true }, { name: 'claimed.example' }],
    })
    await world.provider('staff', { organization: 'nordwind', displayName: 'Nordwind SSO' })
    await world.setFlow([
      { authenticator: 'identify' },
      { authenticator: 'identity-provider', requirement: 'ALTERNATIVE' },
      { authenticator: 'password', requirement: 'ALTERNATIVE' },
    ])
    await world.addUser('nils', { email: 'nils@nordwind.example', emailVerified: true })
    await world.addUser('olga', { email: 'olga@other.example', emailVerified: true })
  })
  afterAll(() => world.close())

  const asked = async (address: string) => {
    const browser = world.browser()
    await browser.open(login)
    const begun = performance.now()
    const page = await browser.submit({ username: address })
    return { browser, page, ms: performance.now() - begun }
  }
  /** The page without the address and without what is new on every page. */
  const plain = (body: string, address: string): string =>
    body
      .replaceAll(address, 'ADDRESS')
      .replaceAll(encodeURIComponent(address), 'ADDRESS')
      .replaceAll(/[A-Za-z0-9_-]{20,}/g, 'TOKEN')

  const shown = async (address: string): Promise<string> => {
    const { page } = await asked(address)
    return `${page.status} ${plain(page.body, address)}`
  }

  it('shows one page to all people of a verified domain, known here or not', async () => {
    const known = await shown('nils@nordwind.example')
    expect(known).toContain('Nordwind SSO')
    expect(await shown('nobody@nordwind.example')).toBe(known)
    expect(await shown('NILS@Nordwind.Example')).toBe(known)
  })

  it('shows the page of every other user to people of an unknown or unverified domain', async () => {
    const known = await shown('olga@other.example')
    expect(known).toContain('name="password"')
    for (const address of ['nobody@other.example', 'a@nothing.example', 'a@claimed.example'])
      expect(await shown(address)).toBe(known)
    // A subdomain is another domain.
    expect(await shown('a@mail.nordwind.example')).toBe(known)
  })

  it('takes as long for an unknown domain as for that of a user', async () => {
    const [known, unknown]: [number[], number[]] = [[], []]
    for (let i = 0; i < 30; i += 1) {
      known.push((await asked('olga@other.example')).ms)
      unknown.push((await asked(`nobody-${i}@nothing.example`)).ms)
    }
    // The fastest of each: what others do on the machine makes an answer slower, never faster.
    const ratio = Math.min(...known) / Math.min(...unknown)
    expect(Math.max(ratio, 1 / ratio), JSON.stringify({ known, unknown })).toBeLessThan(1.5)
  })

  it('leaves a person with a password the choice where the flow offers it', async () => {
    const { browser } = await asked('nils@nordwind.example')
    await browser.submit({ step: 'other' })
    const node = /name="method" value="([^"]+)"/.exec(browser.page?.body ?? '')?.[1] ?? ''
    await browser.submit({ method: node })
    await browser.submit({ password })
    expect(browser.isSignedIn('shop')).toBe(true)
  })

  it('leads nowhere else once the organization is closed or its provider disabled', async () => {
    const usual = await shown('olga@other.example')
    await world.provider('staff', { organization: 'nordwind', enabled: false })
    expect(await shown('nils@nordwind.example')).toBe(usual)
    await world.provider('staff', { organization: 'nordwind', displayName: 'Nordwind SSO' })
    const { page } = await asked('nils@nordwind.example')
    expect(heading(page)).toBe('Continue with your organization')
    const organization = await world.must('GET', '/organizations/nordwind')
    await world.must('PUT', '/organizations/nordwind', { ...organization, enabled: false })
    expect(await shown('nils@nordwind.example')).toBe(usual)
  })
})
