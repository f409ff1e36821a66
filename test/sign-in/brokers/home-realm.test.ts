/** Home-realm discovery: an address leads to the provider of its organization, and tells nothing about who has an account. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { watchWork } from '../../support/database/work.ts'
import type { Answer } from '../fixture.ts'
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
    for (const [name, domain] of [
      ['nora', 'nordwind.example'],
      ['otto', 'other.example'],
    ] as const)
      await world.addUser(name, { email: `${name}@${domain}`, enabled: false })
  })
  afterAll(() => world.close())

  const asked = async (address: string) => {
    const browser = world.browser()
    await browser.open(login)
    const done = watchWork(world.server.areas.storage)
    const page = await browser.submit({ username: address })
    return { browser, page, work: done() }
  }
  const namesIn = ({ headers, setCookies }: Answer): readonly string[] => [
    ...[...headers.keys()].sort(),
    ...setCookies.map((line) => line.replace(/=[^;]*/, '')),
  ]
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

  it('asks the same of the database for people who have an account and who have none', async () => {
    // Both pages once: what the server keeps in memory is asked for once.
    for (const domain of ['other.example', 'nordwind.example']) await asked(`first@${domain}`)
    const done = async (address: string) => {
      const { page, work } = await asked(address)
      return { status: page.status, headers: namesIn(page), work }
    }
    for (const [known, ...others] of [
      ['olga@other.example', 'otto@other.example', 'a@other.example', 'a@nothing.example', 'olga-'],
      ['nils@nordwind.example', 'nora@nordwind.example', 'a@nordwind.example'],
    ] as const) {
      const ofKnown = await done(known)
      expect(ofKnown.work.some((text) => text.startsWith('insert into "sign_ins"'))).toBe(true)
      for (const address of others) expect(await done(address), address).toEqual(ofKnown)
    }
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
