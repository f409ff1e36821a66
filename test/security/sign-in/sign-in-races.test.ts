/** Single-use proofs, sent fifty times concurrently: one is accepted (CVE-2026-37982 and similar). */

import { describe, expect, it } from 'vitest'
import type { Answer } from '../../sign-in/fixture.ts'
import { withNewcomers } from '../../sign-in/newcomers.ts'
import { type SignInBrowser, tokenIn, type World } from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'

const login = '/realms/shop/login'
const many = 50

describe.each(backends)('one proof at many doors on $name', (backend) => {
  let world: World
  let username = ''
  let userId = ''
  withNewcomers(
    backend,
    'anna',
    async (...arrived) => {
      ;[world, username] = arrived
      userId = await world.addUser(username, { emailVerified: true })
    },
    // Not the counter of failures is to hold them back here.
    (opened) => opened.settings({ failureFactor: 1000 }),
  )

  const times = <T>(one: (index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: many }, (_, index) => one(index)))
  /** As far as the question that follows the name. */
  const begin = async (page = login): Promise<SignInBrowser> => {
    const browser = world.browser()
    await browser.open(page)
    await browser.submit({ username })
    return browser
  }
  const flow = (authenticator: string) =>
    world.setFlow([
      { authenticator: 'identify' },
      { authenticator, requirement: 'ALTERNATIVE' },
      // For users without an app: it is not set up before a proof.
      { authenticator: 'password', requirement: 'ALTERNATIVE' },
    ])
  const csrfOf = (browser: SignInBrowser) => browser.cookies.get('XSRF-TOKEN') ?? ''
  const isSignIn = ({ setCookies }: Answer): boolean =>
    setCookies.some((line) => /^iam-session-shop=[^;]+/.test(line))
  const sessions = async (): Promise<number> => {
    const { db } = world.server.areas.storage
    return (await db.selectFrom('sessions').select('id').where('user_id', '=', userId).execute())
      .length
  }
  const events = async (type: string): Promise<number> =>
    (await world.must('GET', `/events?type=${type}&size=500`)).items.filter(
      ({ actor }: { actor: string }) => actor === userId,
    ).length
  /** The same form, from the browser that it belongs to. */
  const sendAtOnce = (browser: SignInBrowser, path: string, fields: Record<string, string>) => {
    const _csrf = csrfOf(browser)
    return times(() => browser.post(path, { _csrf, ...fields }))
  }

  it('signs in once by a link', async () => {
    await flow('email-link')
    const browser = await begin()
    const link = await world.mailedLink()
    const [path = ''] = link.split('?')
    const answers = await sendAtOnce(browser, path, { token: tokenIn(link) })
    expect(answers.filter(isSignIn).length).toBe(1)
    expect(await sessions()).toBe(1)
  })

  it('signs in once by a code from a mail', async () => {
    await flow('email-code')
    const browser = await begin()
    const code = await world.mailedCode()
    const answers = await sendAtOnce(browser, browser.path, { code })
    expect(answers.filter(isSignIn).length).toBe(1)
    expect(await sessions()).toBe(1)
  })

  it('looks at five guesses of a code at the most, however many come at once', async () => {
    await flow('email-code')
    const browser = await begin()
    const code = await world.mailedCode()
    const [_csrf, { path }] = [csrfOf(browser), browser]
    const wrong = (index: number) => String((Number(code) + 1 + index) % 1_000_000).padStart(6, '0')
    for (const _ of [1, 2])
      await times((index) => browser.post(path, { _csrf, code: wrong(index) }))
    expect(await events('MFA_FAILURE')).toBeLessThanOrEqual(5)
    for (let left = 5 - (await events('MFA_FAILURE')); left > 0; left -= 1)
      await browser.post(path, { _csrf, code: wrong(left) })
    expect((await browser.post(path, { _csrf, code })).status).toBe(401)
    expect([await events('MFA_FAILURE'), await sessions()]).toEqual([5, 0])
  })

  it('lets one browser set a password by a recovery link, once', async () => {
    await begin(`${login}/forgot`)
    const link = await world.mailedLink()
    const [path = ''] = link.split('?')
    const readers = await times(async () => {
      const browser = world.browser()
      await browser.get(link)
      return browser
    })
    const answers = await Promise.all(
      readers.map((browser) =>
        browser.post(path, { _csrf: csrfOf(browser), token: tokenIn(link) }),
      ),
    )
    const hopeful = readers.filter((_, index) => answers[index]?.status === 303)
    const pages = await Promise.all(hopeful.map((browser) => browser.get(path)))
    const asked = hopeful.filter((_, index) => pages[index]?.body.includes('passwordConfirm'))
    expect(asked.length).toBe(1)
    const [winner] = asked
    const _csrf = winner ? csrfOf(winner) : ''
    const changes = await Promise.all(
      [1, 2, 3, 4].map((index) => {
        const password = `another secret, long enough ${index}`
        return winner?.post(path, { _csrf, password, passwordConfirm: password })
      }),
    )
    const ends = changes.filter((one) => one?.location?.endsWith('notice=password-changed'))
    expect([ends.length, await events('RESET_PASSWORD')]).toEqual([1, 1])
  })

  it.each(['recovery-code', 'totp'])(
    'takes a %s in one of many sign-ins',
    async (authenticator) => {
      const made = await world.must('POST', `/users/${userId}/credentials`, {
        type: 'recovery-codes',
      })
      const totp = await world.addTotp(userId)
      await flow(authenticator)
      // Tabs of one browser: each is a sign-in of its own.
      const browser = world.browser()
      await browser.get(login)
      const _csrf = csrfOf(browser)
      const tabs = await times(
        async () => (await browser.post(login, { _csrf, username })).location,
      )
      expect(new Set(tabs).size).toBe(many)
      const code = authenticator === 'totp' ? totp() : made.codes[0]
      const answers = await Promise.all(
        tabs.map((path) => browser.post(path ?? '', { _csrf, code })),
      )
      expect(answers.filter(isSignIn).length).toBe(1)
      expect(await sessions()).toBe(1)
    },
  )
})
