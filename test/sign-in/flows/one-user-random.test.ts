/**
 * For all flows that the server accepts, of sign-ins and of first sign-ins through an identity provider, and all answers of an
 * attacker without a credential of another user: no session of that user is opened, no credential of that user changes, and no
 * account at the provider is linked to that user. The provider says about the attacker whatever the attacker likes.
 */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FlowDoc } from '#schemas/kinds/sign-in/flow.ts'
import { passageErrors } from '#schemas/rules/sign-in/flow-passage.ts'
import { personOf } from '../../self-service/person.ts'
import { anyBackend } from '../../support/backends.ts'
import { amount } from '../../support/run/chance.ts'
import { type BrokerWorld, openBrokerWorld } from '../brokers/broker-world.ts'
import { password, type SignInBrowser } from '../world.ts'
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
const firstLogin = 'first-login-random'

const doc = (authenticationExecutions: readonly Execution[]) =>
  ({ authenticationExecutions }) as unknown as FlowDoc

const requirement = fc.oneof(
  { weight: 4, arbitrary: fc.constant('REQUIRED' as const) },
  { weight: 1, arbitrary: fc.constantFrom('ALTERNATIVE' as const, 'CONDITIONAL') },
)
const execution = (...authenticators: readonly string[]) =>
  fc.record({ authenticator: fc.constantFrom(...authenticators), requirement })
const naming = execution('identify', 'username-password')
/** Beside the name, as in the built-in flow. */
const provider = { authenticator: 'identity-provider', requirement: 'ALTERNATIVE' }
const steps = fc.oneof(
  { weight: 3, arbitrary: naming },
  { weight: 4, arbitrary: execution('password', 'totp', 'email-code', 'terms') },
  { weight: 1, arbitrary: execution('identity-provider') },
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
const brokerSteps = execution(
  'broker-link-or-create',
  'broker-confirm-link',
  'broker-review-profile',
  'password',
  'email-code',
  'webauthn-passwordless',
  'totp',
  'terms',
)

const flows = fc
  .record({
    first: naming,
    hasProvider: fc.boolean(),
    rest: fc.array(fc.oneof({ weight: 4, arbitrary: steps }, part), { minLength: 0, maxLength: 3 }),
    condition: fc.constantFrom(
      'condition-user-has-factor',
      'condition-acr',
      'condition-new-device',
    ),
    inner: fc.array(steps, { minLength: 1, maxLength: 3 }),
  })
  .map(({ first, hasProvider, rest, condition, inner }) => ({
    browser: [
      ...(hasProvider ? [{ ...first, requirement: 'ALTERNATIVE' }, provider] : [first]),
      ...rest,
    ] as unknown as Execution[],
    inner: [{ authenticator: condition, requirement: 'REQUIRED' }, ...inner] as Execution[],
  }))
  .filter(
    ({ browser, inner }) => passageErrors(doc(browser), { find: () => doc(inner) }).length === 0,
  )

const builtInFirstLogin = [
  { authenticator: 'broker-link-or-create', requirement: 'ALTERNATIVE' },
  { flowAlias: 'first-broker-login-link', requirement: 'ALTERNATIVE' },
] as unknown as Execution[]

const firstLogins = fc.oneof(
  { weight: 1, arbitrary: fc.constant(builtInFirstLogin) },
  {
    weight: 2,
    arbitrary: fc
      .array(brokerSteps, { minLength: 1, maxLength: 4 })
      .map((executions) => executions as unknown as Execution[])
      .filter(
        (executions) =>
          passageErrors(doc(executions), { find: () => undefined, place: 'first-login' }).length ===
          0,
      ),
  },
)

describe.each(anyBackend)('strangers on $name', (backend) => {
  let world: BrokerWorld
  let stranger: Stranger
  let [strangerId, boss, bossId] = ['', 'boss', '']
  let [signedIn, arrived] = [0, 0]
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
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
    await setFirstLogin('POST', '/flows', [{ authenticator: 'broker-link-or-create' }])
    await world.provider('corp', { firstLoginFlow: firstLogin })
    await world.provider('doubted', { firstLoginFlow: firstLogin, trustEmail: false })
  })
  afterAll(() => world?.close())

  const setFirstLogin = (method: string, path: string, executions: readonly object[]) =>
    world.must(method, path, {
      alias: firstLogin,
      authenticationExecutions: executions.map((one) => ({ requirement: 'REQUIRED', ...one })),
    })

  const ofBoss = async () =>
    JSON.stringify([
      await world.linksOf(bossId),
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

  /** Through a provider, if the page leads to one, which says what the attacker likes. */
  const comeThrough = async (browser: SignInBrowser, die: number): Promise<boolean> => {
    const paths = [
      ...(browser.page?.body ?? '').matchAll(/href="([^"]*\/broker\/\w+\/login[^"]*)"/g),
    ]
    const path = paths[die % (paths.length || 1)]?.[1]
    if (path === undefined) return false
    const left = await browser.get(path.replaceAll('&amp;', '&'))
    if (left.status !== 303 || left.location === null) return false
    const claims = { sub: `evil-${die % 3}`, amr: die % 2 === 0 ? ['mfa'] : [] }
    const said = [
      { email: `${boss}@shop.example`, email_verified: true },
      { email: `${boss}@shop.example`, email_verified: false },
      { preferred_username: boss },
      { email: stranger.email, email_verified: true },
    ]
    const user = { ...claims, ...said[die % said.length] }
    await world.comeBack(browser, await world.upstream.authorize(left.location, user))
    arrived += 1
    return true
  }

  const attack = async (browser: SignInBrowser, dice: readonly number[]): Promise<void> => {
    await browser.open(starts[(dice[0] ?? 0) % starts.length] ?? login)
    for (const die of dice.slice(1)) {
      if (die % 3 === 0 && (await comeThrough(browser, die))) continue
      const { own, hostile } = await answersTo(world, browser, stranger, boss)
      const answers = own.length === 0 || die % 5 < 1 ? hostile : own
      const { status } = await browser.submit(answers[die % answers.length] ?? {})
      // The next code of the app is another one.
      world.clock.advance(31_000)
      if (browser.isSignedIn('shop') && die % 3 === 0) await browser.open(starts[1] ?? login)
      else if (status >= 400) await browser.open(starts[die % starts.length] ?? login)
    }
  }

  it('sign in as nobody but themselves, and change nothing of another user', async () => {
    const dice = fc.array(fc.nat(10_000), { minLength: 7, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(
        flows,
        firstLogins,
        dice,
        fc.boolean(),
        async ({ browser, inner }, first, rolled, hasSession) => {
          await world.setFlow(browser, inner)
          await setFirstLogin('PUT', `/flows/${firstLogin}`, first)
          const one = hasSession ? (await personOf(world, strangerId)).browser : world.browser()
          const before = await ofBoss()
          await attack(one, rolled)
          if (!hasSession && one.isSignedIn('shop')) signedIn += 1
          expect(await ofBoss()).toBe(before)
        },
      ),
      { numRuns: amount(15, 30, 600) },
    )
    // They do get in as themselves: the attack goes through the pages, and not past them.
    expect(signedIn).toBeGreaterThan(0)
    expect(arrived).toBeGreaterThan(0)
  }, 600_000)
})
