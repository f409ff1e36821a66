/**
 * Attacks on factors: enrolment and removal without sufficient proof, empty and malformed answers, guessing and forgery.
 */

import { beforeEach, describe, expect, it } from 'vitest'
import { authenticators } from '#schemas/drivers/authenticators.ts'
import { insertRows } from '#server/storage/statements.ts'
import { type Operation, operationsIn, readDocument } from '../../openapi/document.ts'
import { newPasskey, type Oddities } from '../../self-service/passkey.ts'
import { personOf } from '../../self-service/person.ts'
import { withNewcomers } from '../../sign-in/newcomers.ts'
import { password, type SignInBrowser, type World } from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'
import { send } from '../../support/server.ts'

const [backend] = backends
if (!backend) throw new Error('there is no database to test on')

const login = '/realms/shop/login'
const fresh = 'another secret, long enough 9'

describe('factors under attack', () => {
  let world: World
  let username = ''
  let userId = ''
  let count = 0
  withNewcomers(
    backend,
    'anna',
    async (...arrived) => {
      ;[world, username, count] = arrived
      userId = await world.addUser(username, { emailVerified: true })
    },
    (opened) => opened.settings({ failureFactor: 1000, registrationAllowed: true }),
  )

  const withFactor = () =>
    world.setFlow(
      [
        { authenticator: 'username-password' },
        { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
      ],
      [
        { authenticator: 'condition-user-has-factor' },
        { authenticator: 'totp', requirement: 'ALTERNATIVE' },
        { authenticator: 'recovery-code', requirement: 'ALTERNATIVE' },
      ],
    )
  const begin = async (fields: Record<string, string>, page = login) => {
    const browser = world.browser()
    await browser.open(page)
    await browser.submit(fields)
    return browser
  }
  const csrfOf = (browser: SignInBrowser) => browser.cookies.get('XSRF-TOKEN') ?? ''
  const addPasskey = async (id: string, used = 0) => {
    const {
      storage,
      users: { store: users },
      given: { clock },
    } = world.server.areas
    const user = await users.find('shop', id)
    if (!user) throw new Error(`no user ${id}`)
    const passkey = newPasskey(world.server.baseUrl)
    const row = { ...passkey.credentialOf(user, clock.now()), used }
    await storage.commit(insertRows(storage.db, 'credentials', [row]))
    return passkey
  }

  describe('what users do about themselves', () => {
    let routes: Operation[] = []
    let credential = ''
    beforeEach(async () => {
      routes = operationsIn(await readDocument(world.server)).filter(({ path }) =>
        path.startsWith('/realms/{realm}/account'),
      )
      await withFactor()
      await world.addTotp(userId)
      const rows = await world.must('GET', `/users/${userId}/credentials`)
      credential = rows.find(({ type }: { type: string }) => type === 'otp').id
    })

    /** Bodies that are accepted with permission. */
    const bodies: Record<string, object> = {
      'replace-own-profile': { email: 'x@evil.example', firstName: null, lastName: null },
      'replace-own-password': { currentPassword: password, newPassword: fresh },
      'confirm-own-totp': { ticket: 'x', code: '123456' },
      'confirm-own-webauthn': { response: {} },
      'confirm-own-recovery-codes': { ticket: 'x' },
      'erase-own-account': { password },
      'request-own-erasure': { password },
    }
    const forms = {
      remove: () => credential,
      email: () => 'x@evil.example',
      currentPassword: () => password,
      password: () => fresh,
      passwordConfirm: () => fresh,
      username: () => username,
      code: () => '123456',
      saved: () => 'true',
    }
    const tryAll = async (cookie: string, csrf: string, wanted: readonly Operation[]) =>
      Promise.all(
        wanted.map(async ({ method, path, operationId, requestBody }) => {
          const url = path.replace('{realm}', 'shop').replace(/\{\w+\}/, credential)
          const isForm = Object.keys(requestBody?.content ?? {}).some((type) =>
            type.includes('form'),
          )
          const fields = Object.entries(forms).map(([name, value]) => [name, value()] as const)
          const json = requestBody ? (bodies[operationId] ?? {}) : undefined
          const body = isForm
            ? new URLSearchParams({ ...Object.fromEntries(fields), _csrf: csrf }).toString()
            : json
          const answer = await send(world.server.app, method, url, body, {
            cookie,
            'x-xsrf-token': csrf,
            ...(isForm ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
          })
          return { name: `${method} ${path}`, ...answer }
        }),
      )
    const state = async () => {
      const {
        storage,
        users: { store: users },
      } = world.server.areas
      const of = (table: 'credentials' | 'device_enrolments' | 'erasure_requests') =>
        storage.db.selectFrom(table).selectAll().where('user_id', '=', userId).execute()
      return JSON.stringify([
        await users.find('shop', userId),
        await of('credentials'),
        await of('device_enrolments'),
        await of('erasure_requests'),
      ])
    }

    it('is out of reach for a sign-in that has not ended, at every address (CVE-2025-3910, CVE-2026-3429, GHSA-wc43-73w7-x2f5)', async () => {
      const half = await begin({ username, password })
      expect(half.page?.body).toContain('name="code"')
      const before = await state()
      const answers = await tryAll(half.cookieHeader(), csrfOf(half), routes)
      expect(answers.length).toBeGreaterThan(30)
      for (const { name, status, headers } of answers) {
        expect([401, 303], name).toContain(status)
        if (status === 303) expect(String(headers['location']), name).toContain(`${login}?`)
      }
      expect(await state()).toBe(before)
    })

    it('changes no credential by a sign-in without the second factor, at any address', async () => {
      // Ending other sessions, revoking consents, agents and shares of resources give nobody power over the account.
      const harmless =
        /-sessions?(-page)?$|-consent$|-applications-page$|-agents?(-page)?$|-shar(e|ing)(-page)?$|-own-(resource|policy)$/
      const wanted = routes.filter(
        ({ method, operationId }) => method !== 'GET' && !harmless.test(operationId),
      )
      expect(wanted.length).toBeGreaterThan(12)
      const weak = await personOf(world, userId)
      const before = await state()
      const cookie = weak.browser.cookieHeader()
      for (const { name, status, headers, body } of await tryAll(
        cookie,
        csrfOf(weak.browser),
        wanted,
      ))
        if (status === 303) expect(String(headers['location']), name).toContain('-strong')
        else expect([status, body.code], name).toEqual([403, 'step-up'])
      expect(await state()).toBe(before)
    })
  })

  const nothings: Record<string, string>[] = [
    {},
    { code: '', token: '', response: '', password: '', passwordConfirm: '' },
    { code: '\u0000', token: 'x', check: 'nonsense', saved: 'nonsense', decision: 'nonsense' },
    { code: '0'.repeat(5000), response: 'null', organization: 'nonsense' },
    { response: '{"id":[],"response":{"userHandle":7}}' },
    { check: 'true', saved: 'true' },
    { step: 'nonsense' },
    { method: '__proto__' },
  ]

  const asked = authenticators.map(({ id }) => id).filter((id) => !/^(condition|broker)-/.test(id))
  const first = ['identify', 'username-password', 'webauthn-passwordless', 'qr', 'register']

  it.each(asked)(
    'fails closed on answers that are none: %s (CVE-2026-49443, CVE-2024-47070)',
    async (authenticator) => {
      if (authenticator === 'totp') await world.addTotp(userId)
      if (authenticator.startsWith('webauthn')) await addPasskey(userId)
      if (authenticator === 'recovery-code')
        await world.must('POST', `/users/${userId}/credentials`, { type: 'recovery-codes' })
      if (authenticator === 'organization')
        for (const alias of ['acme', 'umbrella']) {
          const { id } = await world.must('POST', '/organizations', { alias, name: alias })
          await world.must('PUT', `/organizations/${id}/members/${userId}`)
        }
      const afterName = first.includes(authenticator)
        ? []
        : [{ authenticator: authenticator === 'password' ? 'identify' : 'username-password' }]
      const end = authenticator === 'identify' ? [{ authenticator: 'password' }] : []
      await world.setFlow(
        authenticator === 'register' || authenticator === 'reset-password'
          ? [{ authenticator: 'username-password' }]
          : [...afterName, { authenticator }, ...end],
      )
      const pages: Record<string, string> = {
        register: `${login}/register`,
        'reset-password': `${login}/forgot`,
      }
      const page = pages[authenticator] ?? login
      const browser =
        afterName.length > 0 ? await begin({ username, password }, page) : world.browser()
      if (afterName.length === 0) await browser.open(page)
      const [path, _csrf] = [browser.path, csrfOf(browser)]
      const doubled = `_csrf=${_csrf}&code=1&code=2&token=a&token=b&check=true&check=true`
      for (const form of [...nothings.map((one) => ({ ...one, _csrf })), doubled]) {
        const { status } = await browser.post(path, form)
        expect(status, JSON.stringify(form)).toBeLessThan(500)
        expect(browser.isSignedIn('shop'), JSON.stringify(form)).toBe(false)
      }
    },
  )

  it('feeds one counter by every door that takes a secret (CVE-2026-9798)', async () => {
    await withFactor()
    const { codes } = await world.must('POST', `/users/${userId}/credentials`, {
      type: 'recovery-codes',
    })
    const code = await world.addTotp(userId)
    await world.must('POST', '/clients', {
      clientId: `old-${count}`,
      publicClient: true,
      grantTypes: ['password'],
    })
    const person = await personOf(world, userId, { amr: ['pwd', 'otp'], acr: '2' })
    const wrongCode = () => (code() === '123456' ? '654321' : '123456')
    const doors: (() => Promise<unknown>)[] = [
      () => begin({ username, password: 'wrong' }),
      async () => (await begin({ username, password })).submit({ code: wrongCode() }),
      async () => {
        const browser = await begin({ username, password })
        const choice = await browser.submit({ step: 'other' })
        await browser.submit({
          method: /name="method" value="([^"]+)"/.exec(choice.body)?.[1] ?? '',
        })
        return browser.submit({ code: `${codes[0]}x` })
      },
      () => person.api('PUT', '/password', { currentPassword: 'wrong', newPassword: fresh }),
      () => person.api('DELETE', '/gdpr', { password: 'wrong' }),
      () => person.api('POST', '/gdpr/erasure-request', { password: 'wrong' }),
      () =>
        send(
          world.server.app,
          'POST',
          '/realms/shop/token',
          new URLSearchParams({
            grant_type: 'password',
            client_id: `old-${count}`,
            username,
            password: 'wrong',
          }).toString(),
          { 'content-type': 'application/x-www-form-urlencoded' },
        ),
    ]
    await world.settings({ failureFactor: doors.length })
    const failures = async (): Promise<number> => {
      const { db } = world.server.areas.storage
      const row = await db
        .selectFrom('login_guards')
        .select('failures')
        .where('subject', '=', `user:${userId}`)
        .executeTakeFirst()
      return row?.failures ?? 0
    }
    for (const [index, door] of doors.entries()) {
      expect(await failures(), `before door ${index}`).toBe(index)
      await door()
    }
    expect((await begin({ username, password })).page?.status).toBe(401)
    await world.settings({ failureFactor: 1000 })
  })

  it('shows the same next question whatever a name has, or nobody has it (CVE-2026-4633, CVE-2023-39522)', async () => {
    await world.setFlow([
      { authenticator: 'identify' },
      { authenticator: 'password', requirement: 'ALTERNATIVE' },
      { authenticator: 'webauthn-passwordless', requirement: 'ALTERNATIVE' },
      { authenticator: 'email-link', requirement: 'ALTERNATIVE' },
      { authenticator: 'email-code', requirement: 'ALTERNATIVE' },
    ])
    await addPasskey(userId)
    await world.must('POST', '/users', { username: `bare-${count}` })
    await world.must('POST', '/users', { username: `gone-${count}`, enabled: false })
    const methods = async (browser: SignInBrowser) => {
      const { body } = await browser.get(`${browser.path}?choose`)
      return [...body.matchAll(/name="method" value="([^"]+)"/g)].map(([, method = '']) => method)
    }
    const shapes = new Set<string>()
    for (const name of [username, `bare-${count}`, `gone-${count}`, `none-${count}`]) {
      const shape = ({ body }: { readonly body: string }) =>
        body
          .replaceAll(/[\w-]{43,}/g, '')
          .replaceAll(name, 'X')
          .replaceAll(/challenge&quot;:&quot;[^&]+/g, '')
      const browser = await begin({ username: name })
      const pages = [shape(browser.page ?? { body: '' })]
      for (const method of await methods(browser)) {
        await browser.submit({ method })
        pages.push(shape(browser.page ?? { body: '' }))
        await browser.open(browser.path)
      }
      shapes.add(JSON.stringify(pages))
    }
    expect(shapes.size).toBe(1)
    expect(JSON.parse([...shapes][0] ?? '[]').length).toBe(4)
  })

  describe('a passkey', () => {
    const oddities: Record<string, Oddities> = {
      'another origin': { origin: 'https://evil.example' },
      'an origin that begins alike': { origin: 'http://127.0.0.1.evil.example' },
      'no origin': { origin: '' },
      'another relying party': { rpId: 'evil.example' },
      'nobody there': { isPresent: false },
      'another ceremony': { type: 'payment.get' },
    }

    it('is registered by an answer in which everything is right (CVE-2026-8830, CVE-2026-6856)', async () => {
      const [person, other] = [
        await personOf(world, userId),
        await personOf(world, await world.addUser(`other-${count}`)),
      ]
      const { baseUrl } = world.server
      const challengeFor = async (who = person): Promise<string> =>
        (await who.api('POST', '/credentials/webauthn', {})).body.challenge
      const confirm = (response: object) =>
        person.api('POST', '/credentials/webauthn/confirm', { response })
      for (const [name, odd] of Object.entries({
        ...oddities,
        'an assertion': { type: 'webauthn.get' },
        'an attestation that nobody signed': { attestation: 'packed' } as const,
      })) {
        const answer = newPasskey(baseUrl).attest(await challengeFor(), odd)
        expect((await confirm(answer)).status, name).toBe(400)
      }
      const passkey = newPasskey(baseUrl)
      for (const challenge of ['x', '', await challengeFor(other)])
        expect((await confirm(passkey.attest(challenge))).status).toBe(400)
      await world.settings({ webAuthnPolicyUserVerificationRequirement: 'required' })
      const unverified = passkey.attest(await challengeFor(), { isVerified: false })
      expect((await confirm(unverified)).status).toBe(400)
      await world.settings({ webAuthnPolicyUserVerificationRequirement: 'preferred' })
      const right = passkey.attest(await challengeFor())
      expect((await confirm(right)).status).toBe(201)
      const strong = await personOf(world, userId, { amr: ['hwk', 'mfa'], acr: '2' })
      const again = await strong.api('POST', '/credentials/webauthn/confirm', { response: right })
      expect(again.status).toBe(409)
    })

    it('signs in by an answer in which everything is right, once', async () => {
      await world.setFlow([{ authenticator: 'webauthn-passwordless' }])
      const passkey = await addPasskey(userId, 7)
      const stranger = newPasskey(world.server.baseUrl)
      const good = { userHandle: userId, counter: 8 }
      const victim = await world.addUser(`victim-${count}`)
      await addPasskey(victim)
      const answer = async (make: (challenge: string) => object) => {
        const browser = world.browser()
        const { body } = await browser.open(login)
        const challenge = /challenge&quot;:&quot;([^&]+)/.exec(body)?.[1] ?? ''
        const response = JSON.stringify(make(challenge))
        await browser.submit({ response })
        return { isIn: browser.isSignedIn('shop'), response }
      }
      for (const [name, odd] of Object.entries({
        ...oddities,
        'nobody asked for a finger': { isVerified: false },
        'a counter that stands still': { counter: 7 },
        'a counter that goes back': { counter: 3 },
        'the name of somebody else': { userHandle: victim },
        'the name of nobody': { userHandle: 'nobody' },
      }))
        expect((await answer((one) => passkey.assert(one, { ...good, ...odd }))).isIn, name).toBe(
          false,
        )
      expect((await answer((one) => stranger.assert(one, good))).isIn).toBe(false)
      expect((await answer(() => passkey.assert('x', good))).isIn).toBe(false)
      const { isIn, response } = await answer((one) => passkey.assert(one, good))
      expect(isIn).toBe(true)
      expect((await answer(() => JSON.parse(response))).isIn).toBe(false)
    })
  })
})
