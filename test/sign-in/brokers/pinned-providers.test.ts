/** Steps of a flow that name one provider: the answer of another one passes none of them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import type { SignInBrowser } from '../world.ts'
import { type BrokerWorld, login, openBrokerWorld } from './broker-world.ts'

describe.each(anyBackend)('steps that name a provider on $name', (backend) => {
  let world: BrokerWorld
  const eve = { sub: 'eve', email: 'eve@shop.example', email_verified: true }

  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.provider('weak')
    await world.provider('strong')
    const flow = (alias: string, steps: readonly object[], topLevel = false) =>
      world.must('POST', '/flows', { alias, topLevel, authenticationExecutions: steps })
    await flow('weak-and-code', [
      {
        authenticator: 'identity-provider',
        requirement: 'REQUIRED',
        authenticatorConfig: { provider: 'weak' },
      },
      { authenticator: 'totp', requirement: 'REQUIRED' },
    ])
    await flow('strong-alone', [
      {
        authenticator: 'identity-provider',
        requirement: 'REQUIRED',
        authenticatorConfig: { provider: 'strong' },
      },
    ])
    // Somebody whom the weak provider knows already, with a second factor.
    const browser = world.browser()
    await world.through(browser, eve, 'weak')
    expect(browser.isSignedIn('shop')).toBe(true)
    await world.addTotp((await world.userIdOf(browser)) ?? '')
    await world.setFlow([
      { flowAlias: 'weak-and-code', requirement: 'ALTERNATIVE' },
      { flowAlias: 'strong-alone', requirement: 'ALTERNATIVE' },
    ])
  })
  afterAll(() => world.close())

  /** Chooses the other way of the page. */
  const chooseOther = async (browser: SignInBrowser): Promise<void> => {
    await browser.submit({ step: 'other' })
    const node = /name="method" value="([^"]+)"/.exec(browser.page?.body ?? '')?.[1] ?? ''
    await browser.submit({ method: node })
  }
  const waysIn = ({ page }: SignInBrowser): string[] =>
    [...(page?.body ?? '').matchAll(/broker\/(\w+)\/login/g)].map(([, alias = '']) => alias)

  const departure = ({ page }: SignInBrowser): string =>
    /href="[^"]+\/login(\?sign_in=[^"]+)"/.exec(page?.body ?? '')?.[1] ?? ''

  it('ask for what follows the step of the provider that answered', async () => {
    const browser = world.browser()
    await browser.open(`${login}?stay=`)
    await chooseOther(browser)
    await chooseOther(browser)
    expect(waysIn(browser)).toEqual(['weak'])
    const away = await world.leave(browser, 'weak', departure(browser))
    const page = await world.comeBack(browser, await world.upstream.authorize(away, eve))
    expect(page.body).toContain('name="code"')
    expect(browser.isSignedIn('shop')).toBe(false)
  })

  it('take no answer of another provider, whatever another tab has chosen meanwhile', async () => {
    const browser = world.browser()
    await browser.open(`${login}?stay=`)
    await chooseOther(browser)
    await chooseOther(browser)
    const away = await world.leave(browser, 'weak', departure(browser))
    await chooseOther(browser)
    expect(waysIn(browser)).toEqual(['strong'])
    const page = await world.comeBack(browser, await world.upstream.authorize(away, eve))
    expect(page.body).toContain('name="code"')
    expect(browser.isSignedIn('shop')).toBe(false)
  })

  it('are found by a hint, also where the step is not the first', async () => {
    const browser = world.browser()
    for (const alias of ['weak', 'strong'])
      expect(await world.leave(browser, alias)).toContain(`client-of-${alias}`)
  })
})
