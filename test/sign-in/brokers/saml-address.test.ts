/** A SAML provider never says whether it verified an address: `trustEmail` of its document decides alone. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readElement, readQuery, xmlName } from '#server/xml/index.ts'
import { attribute, idp, nameId, now, sp } from '../../broker/saml/answers.ts'
import { answering, posted } from '../../broker/saml/fixture.ts'
import { anyBackend } from '../../support/backends.ts'
import { sender } from '../../xml/keys.ts'
import { type BrokerWorld, openBrokerWorld } from './broker-world.ts'

describe.each(anyBackend)('a first sign-in through SAML on $name', (backend) => {
  let world: BrokerWorld
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    world.clock.advance(now - Date.now())
  })
  afterAll(() => world.close())

  const signIn = async (alias: string, email: string) => {
    const browser = world.browser()
    const address = await world.leave(browser, alias)
    const { received, relayState = '' } = readQuery(address.slice(address.indexOf('?') + 1))
    const request = readElement(received, { root: xmlName('samlp:AuthnRequest') })
    const xml = answering({ request }).answer({
      nameId: nameId(`subject of ${email}`),
      attributes: `<saml:AttributeStatement>${attribute('email', email)}</saml:AttributeStatement>`,
    })
    const back = await browser.post(
      `/realms/shop/broker/${alias}/endpoint`,
      posted(xml, { relayState }),
    )
    expect(back.status, back.body).toBe(303)
    await world.comeBack(browser, back.location ?? '')
    return world.userNamed(email)
  }

  it.each([
    [true, 1],
    [false, 0],
  ])(
    'with trustEmail %s makes an account whose address is verified: %s',
    async (trustEmail, verified) => {
      const alias = `saml-${trustEmail}`
      await world.must('POST', '/identity-providers', {
        alias,
        protocol: 'saml',
        trustEmail,
        config: {
          spEntityId: sp,
          idpEntityId: idp,
          ssoUrl: 'https://idp.example/sso',
          idpSigningCertificate: sender.x509.toString(),
        },
      })
      const user = await signIn(alias, `${alias}@there.example`)
      expect(user).toMatchObject({ email_verified: verified })
    },
  )
})
