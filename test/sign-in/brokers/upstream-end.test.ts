/** A session that came from a SAML provider ends with the session there (SAML Core §2.7.2, Profiles §4.1.4.3). */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readElement, readQuery, xmlName } from '#server/xml/index.ts'
import { at, attribute, idp, nameId, now, sp } from '../../broker/saml/answers.ts'
import { answering, posted } from '../../broker/saml/fixture.ts'
import { anyBackend } from '../../support/backends.ts'
import { sender } from '../../xml/keys.ts'
import type { SignInBrowser } from '../world.ts'
import { type BrokerWorld, login, openBrokerWorld } from './broker-world.ts'

const minutes = 60
const statement = (until?: number): string =>
  `<saml:AuthnStatement AuthnInstant="${at(-1)}"${until === undefined ? '' : ` SessionNotOnOrAfter="${at(until)}"`}><saml:AuthnContext><saml:AuthnContextClassRef>urn:x</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`

describe.each(anyBackend)('the end of a session at a SAML provider on $name', (backend) => {
  let world: BrokerWorld
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.must('POST', '/identity-providers', {
      alias: 'saml',
      protocol: 'saml',
      trustEmail: true,
      config: {
        spEntityId: sp,
        idpEntityId: idp,
        ssoUrl: 'https://idp.example/sso',
        idpSigningCertificate: sender.x509.toString(),
      },
    })
  })
  beforeEach(() => world.clock.advance(now - world.clock.now()))
  afterAll(() => world.close())

  const pass = (seconds: number) => world.clock.advance(seconds * 1000)
  const signIn = async (
    name: string,
    authn: string,
    browser = world.browser(),
  ): Promise<SignInBrowser> => {
    const address = await world.leave(browser, 'saml')
    const { received, relayState = '' } = readQuery(address.slice(address.indexOf('?') + 1))
    const request = readElement(received, { root: xmlName('samlp:AuthnRequest') })
    const email = attribute('email', `${name}@there.example`)
    const xml = answering({ request }).answer({
      nameId: nameId(name),
      authn,
      attributes: `<saml:AttributeStatement>${email}</saml:AttributeStatement>`,
    })
    const back = await browser.post(
      '/realms/shop/broker/saml/endpoint',
      posted(xml, { relayState }),
    )
    await world.comeBack(browser, back.location ?? '')
    return browser
  }
  const isAlive = async (browser: SignInBrowser): Promise<boolean> =>
    (await browser.get('/realms/shop/account/sessions')).status === 200

  it('ends the session here, within the skew of the clocks', async () => {
    const browser = await signIn('ends', statement(10 * minutes))
    pass(10 * minutes)
    expect(await isAlive(browser)).toBe(true)
    pass(1 * minutes + 1)
    expect(await isAlive(browser)).toBe(false)
  })

  it('is the earliest of several, and nothing where the provider names none', async () => {
    const browser = await signIn('several', statement(20 * minutes) + statement(10 * minutes))
    const endless = await signIn('endless', statement())
    pass(12 * minutes)
    expect([await isAlive(browser), await isAlive(endless)]).toEqual([false, true])
  })

  it('makes no session longer than those of the realm', async () => {
    const { ssoSessionMaxLifespan } = await world.must('GET', '/settings')
    const browser = await signIn('long', statement(ssoSessionMaxLifespan + 60 * minutes))
    for (let passed = 0; passed < ssoSessionMaxLifespan; passed += 10 * minutes) {
      expect(await isAlive(browser)).toBe(true)
      pass(10 * minutes)
    }
    pass(1)
    expect(await isAlive(browser)).toBe(false)
  })

  it('moves with a new sign-in there', async () => {
    const browser = await signIn('again', statement(10 * minutes))
    await signIn('again', statement(20 * minutes), browser)
    pass(12 * minutes)
    expect(await isAlive(browser)).toBe(true)
  })

  it('stays where a factor of the realm strengthens the session', async () => {
    await world.setFlow(
      [
        { authenticator: 'username-password', requirement: 'ALTERNATIVE' },
        { authenticator: 'identity-provider', requirement: 'ALTERNATIVE' },
        { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
      ],
      [
        { authenticator: 'condition-acr', authenticatorConfig: { acr: '2' } },
        { authenticator: 'totp' },
      ],
    )
    const first = await signIn('stronger', statement())
    const code = await world.addTotp((await world.userIdOf(first)) ?? '')
    const browser = await signIn('stronger', statement(20 * minutes))
    pass(5 * minutes)
    await browser.open(`${login}?authorization=account-security-strong`)
    expect(browser.page?.body).toContain('name="code"')
    await browser.submit({ code: code() })
    expect(await isAlive(browser)).toBe(true)
    pass(17 * minutes)
    expect(await isAlive(browser)).toBe(false)
  })
})
