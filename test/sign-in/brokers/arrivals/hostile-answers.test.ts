/**
 * Whatever an OpenID provider says, in claims of any type: no answer of ours is a failure, a refused person has no account, and nobody
 * becomes a user whom they have not proved.
 */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startUpstream, type Upstream } from '../../../broker/upstream.ts'
import { anyBackend } from '../../../support/backends.ts'
import { type BrokerWorld, heading, openBrokerWorld } from '../broker-world.ts'

const victim = 'victim@shop.example'

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    'a'.repeat(5000),
    'ü'.repeat(255),
    'x\0y',
    '\ud800',
    '\u202eabc',
    '\r\nX: y',
    '__proto__',
    '<script>alert(1)</script>',
    'victim',
    victim,
    'Victim@Shop.Example',
    `${victim} `,
    'vıctim@shop.example',
    'victim@ｓhop.example',
    `${'l'.repeat(300)}@there.example`,
  ),
)
const value = fc.oneof(
  { weight: 3, arbitrary: text },
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1e308, [], {}, 'true', [victim]),
  fc.array(text, { maxLength: 5 }),
  fc.jsonValue(),
)
const names = [
  ...['email', 'email_verified', 'preferred_username', 'given_name', 'family_name', 'sid', 'amr'],
  ...['acr', 'department', 'address', '__proto__', 'tid', 'oid', 'name'],
]
const claims = fc.record(Object.fromEntries(names.map((name) => [name, value])), {
  requiredKeys: [],
})
const tokens = fc.record(
  { expires_in: fc.oneof(value, fc.constant(1e300)), refresh_token: value, scope: value },
  { requiredKeys: [] },
)

describe.each(anyBackend)('answers of a hostile provider on $name', (backend) => {
  let world: BrokerWorld
  let liar: Upstream
  let count = 0
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    liar = await startUpstream()
    liar.now = () => world.clock.now()
    const discoveryUrl = `${liar.issuer}/.well-known/openid-configuration`
    const config = { discoveryUrl, clientId: 'us', clientSecret: 'a secret of ours' }
    await world.provider('liar', { storeToken: true, syncMode: 'FORCE', config })
    for (const claim of ['department', 'address.country', 'email'])
      await world.must('POST', '/identity-providers/liar/mappers', {
        name: claim,
        type: 'attribute',
        claim,
        attribute: `of-${claim}`,
      })
    await world.addUser('victim', { emailVerified: true })
  })
  afterAll(async () => {
    await liar.close()
    await world.close()
  })

  it('end with a page, and never as the victim', async () => {
    const seen = new Set<string>()
    const run = async (
      signed: Record<string, unknown>,
      told: Record<string, unknown>,
      odd: unknown,
      more: Record<string, unknown>,
    ) => {
      count += 1
      const sub = odd ?? `person-${count}`
      liar.lies = {
        userInfo: (truth) => ({ ...truth, ...told, sub }),
        token: (truth) => ({ ...truth, ...more }),
      }
      // The second time is that of a person who is known.
      for (let visit = 0; visit < 2; visit += 1) {
        const browser = world.browser()
        const left = await world.leave(browser, 'liar')
        browser.page = await world.comeBack(browser, liar.agree(left, { ...signed, sub } as never))
        expect(browser.page.status, browser.page.body).toBeLessThan(500)
        seen.add(heading(browser.page))
        if (heading(browser.page) === 'Complete your profile') {
          const name = `named-${count}`
          const done = await browser.submit({ username: name, email: `${name}@there.example` })
          expect(done.status, done.body).toBeLessThan(500)
        }
        expect(await world.whoIs(browser)).not.toBe(victim)
        if (!browser.isSignedIn('shop')) continue
        for (const page of ['profile', 'identities'])
          expect((await browser.get(`/realms/shop/account/${page}`)).status).toBe(200)
      }
    }
    const subject = fc.option(value, { nil: undefined, freq: 1 })
    await fc.assert(
      fc.asyncProperty(
        claims,
        claims,
        fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, subject),
        tokens,
        run,
      ),
      { numRuns: 60, endOnFailure: true },
    )
    expect(seen).toContain('You are signed in')
    expect(await world.must('GET', '/users?search=victim@shop.example')).toHaveLength(1)
  })
})
