/**
 * For all flows that the server accepts, and all answers of an attacker without a credential of another user: no session
 * of that user is opened, and no credential of that user changes.
 */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FlowDoc } from '#schemas/kinds/sign-in/flow.ts'
import { passageErrors } from '#schemas/rules/sign-in/flow-passage.ts'
import { personOf } from '../../self-service/person.ts'
import { anyBackend } from '../../support/backends.ts'
import { isLong } from '../../support/run/chance.ts'
import { openWorld, password, type SignInBrowser, type World } from '../world.ts'
import { answersTo, type Stranger } from './stranger.ts'

type Execution = FlowDoc['authenticationExecutions'][number]

const login = '/realms/shop/login'
const starts = [
  login,
  `${login}?authorization=account-security-strong`,
  `${login}/forgot`,
  `${login}/forgot?authorization=account-security-strong`,
]
const sub = 'browser-second-factor'

const requirement = fc.oneof(
  { weight: 4, arbitrary: fc.constant('REQUIRED' as const) },
  { weight: 1, arbitrary: fc.constantFrom('ALTERNATIVE' as const, 'CONDITIONAL') },
)
const execution = (...authenticators: readonly string[]) =>
  fc.record({ authenticator: fc.constantFrom(...authenticators), requirement })
const naming = execution('identify', 'username-password')
const steps = fc.oneof(
  { weight: 3, arbitrary: naming },
  { weight: 4, arbitrary: execution('password', 'totp', 'email-code', 'terms') },
  {
    weight: 2,
    arbitrary: execution(
      'webauthn',
      'webauthn-passwordless',
      'email-link',
      'recovery-code',
      'register',
      'organization',
      'reset-password',
    ),
  },
)
const part = fc.record({ flowAlias: fc.constant(sub), requirement })

const flows = fc
  .record({
    first: naming,
    rest: fc.array(fc.oneof({ weight: 4, arbitrary: steps }, part), { minLength: 0, maxLength: 3 }),
    condition: fc.constantFrom(
      'condition-user-has-factor',
      'condition-acr',
      'condition-new-device',
    ),
    inner: fc.array(steps, { minLength: 1, maxLength: 3 }),
  })
  .map(({ first, rest, condition, inner }) => ({
    browser: [first, ...rest] as unknown as Execution[],
    inner: [{ authenticator: condition, requirement: 'REQUIRED' }, ...inner] as Execution[],
  }))
  .filter(({ browser, inner }) => {
    const doc = (authenticationExecutions: Execution[]) =>
      ({ authenticationExecutions }) as unknown as FlowDoc
    return passageErrors(doc(browser), { find: () => doc(inner) }).length === 0
  })

describe.each(anyBackend)('strangers on $name', (backend) => {
  let world: World
  let stranger: Stranger
  let [strangerId, boss, bossId] = ['', 'boss', '']
  let signedIn = 0
  beforeAll(async () => {
    world = await openWorld(backend)
    await world.settings({ bruteForceProtected: false, registrationAllowed: true })
    strangerId = await world.addUser('mallory', { emailVerified: true })
    stranger = {
      username: 'mallory',
      password,
      email: 'mallory@shop.example',
      code: await world.addTotp(strangerId),
    }
    bossId = await world.addUser(boss, { emailVerified: true })
    await world.must('PUT', `/users/${bossId}/password`, { newPassword: 'of the boss alone 55' })
  })
  afterAll(() => world?.close())

  const ofBoss = async () =>
    JSON.stringify([
      await world.server.areas.storage.db
        .selectFrom('sessions')
        .select('id')
        .where('user_id', '=', bossId)
        .execute(),
      await world.server.areas.storage.db
        .selectFrom('credentials')
        .select(['id', 'type', 'secret'])
        .where('user_id', '=', bossId)
        .orderBy('id')
        .execute(),
      await world.server.areas.storage.db
        .selectFrom('users')
        .select(['email', 'attributes', 'required_actions'])
        .where('id', '=', bossId)
        .execute(),
    ])

  const attack = async (browser: SignInBrowser, dice: readonly number[]): Promise<void> => {
    await browser.open(starts[(dice[0] ?? 0) % starts.length] ?? login)
    for (const die of dice.slice(1)) {
      const { own, hostile } = await answersTo(world, browser, stranger, boss)
      const answers = own.length === 0 || die % 5 < 2 ? hostile : own
      const { status } = await browser.submit(answers[die % answers.length] ?? {})
      // The next code of the app is another one.
      world.clock.advance(31_000)
      if (browser.isSignedIn('shop') && die % 3 === 0) await browser.open(starts[1] ?? login)
      else if (status >= 400) await browser.open(starts[die % starts.length] ?? login)
    }
  }

  it('sign in as nobody but themselves, and change nothing of another user', async () => {
    const dice = fc.array(fc.nat(10_000), { minLength: 6, maxLength: 10 })
    await fc.assert(
      fc.asyncProperty(
        flows,
        dice,
        fc.boolean(),
        async ({ browser, inner }, rolled, hasSession) => {
          await world.setFlow(browser, inner)
          const one = hasSession ? (await personOf(world, strangerId)).browser : world.browser()
          const before = await ofBoss()
          await attack(one, rolled)
          if (!hasSession && one.isSignedIn('shop')) signedIn += 1
          expect(await ofBoss()).toBe(before)
        },
      ),
      { numRuns: isLong ? 600 : 40 },
    )
    // They do get in as themselves: the attack goes through the pages, and not past them.
    expect(signedIn).toBeGreaterThan(0)
  }, 600_000)
})
