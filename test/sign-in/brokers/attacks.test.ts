/**
 * Attacks on sign-ins through identity providers, with a browser for each side: pre-hijacking, an address that the attacker
 * chose (nOAuth), answers of another browser (login CSRF), of another provider (mix-up) and for another session.
 */

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { statement } from '#server/storage/statements.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { anyBackend } from '../../support/backends.ts'
import type { Answer } from '../fixture.ts'
import { password, type SignInBrowser } from '../world.ts'
import { type BrokerWorld, heading, login, openBrokerWorld } from './broker-world.ts'

describe.each(anyBackend)('attacks on sign-ins through identity providers on $name', (backend) => {
  let world: BrokerWorld
  let count = 0
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.provider('corp')
    await world.provider('other')
  })
  afterAll(() => world.close())

  const person = (fields: Record<string, unknown> = {}) => {
    count += 1
    const email = `target-${count}@there.example`
    return { sub: `sub-${count}`, email, email_verified: true, ...fields }
  }
  const addRow = async (fields: Record<string, unknown>) => {
    const { users, audit } = world.server.areas
    const row = newUserRow(
      { username: `row-${newId()}`, ...fields },
      { id: newId(), realm: 'shop', now: world.clock.now() },
    )
    await audit.recorder.commit(users.store.createStatements(row), [])
    return row
  }
  const lastFailure = () =>
    world.server.areas.storage.db
      .selectFrom('audit_events')
      .select(['type', 'outcome', 'detail'])
      .where('realm', '=', 'shop')
      .where('type', '=', 'IDENTITY_PROVIDER_LOGIN')
      .orderBy('id', 'desc')
      .executeTakeFirst()

  /** The page of a sign-in that has ended names the provider and a request id, and leads to a new sign-in. */
  const expectEnded = (page: Answer, alias = 'corp') => {
    expect([page.status, heading(page)]).toEqual([403, 'The sign-in has ended'])
    expect(page.body).toContain(`Provider ${alias}`)
    expect(page.body).toMatch(/<code>[0-9a-f-]{36}<\/code>/)
    expect(page.body).toContain(`href="${login}?stay="`)
  }

  it('does not finish the sign-in of another browser (login CSRF), and the own browser still can', async () => {
    const attacker = world.browser()
    const answer = await world.upstream.authorize(await world.leave(attacker), person())
    const victim = world.browser()
    await victim.get(login)
    const refused = await world.comeBack(victim, answer)
    expect([refused.status, victim.isSignedIn('shop')]).toEqual([403, false])
    expectEnded(refused)
    await world.comeBack(attacker, answer)
    expect(attacker.isSignedIn('shop')).toBe(true)
  })

  it('takes an answer once', async () => {
    const browser = world.browser()
    const answer = await world.upstream.authorize(await world.leave(browser), person())
    await world.comeBack(browser, answer)
    const cookies = new Map(browser.cookies)
    const again = world.browser()
    for (const [name, value] of cookies)
      if (name !== 'iam-session-shop') again.cookies.set(name, value)
    const refused = await world.comeBack(again, answer)
    expect([refused.status, again.isSignedIn('shop')]).toEqual([403, false])
    expectEnded(refused)
  })

  it('takes no answer after ten minutes, nor to a sign-in that has ended', async () => {
    const late = world.browser()
    const answer = await world.upstream.authorize(await world.leave(late), person())
    world.clock.advance(10 * 60_000)
    expectEnded(await world.comeBack(late, answer))
    const forgotten = world.browser()
    const other = await world.upstream.authorize(await world.leave(forgotten), person())
    const { storage } = world.server.areas
    await storage.commit([statement(storage.db.deleteFrom('sign_ins'))])
    expectEnded(await world.comeBack(forgotten, other))
    expect([late, forgotten].some((one) => one.isSignedIn('shop'))).toBe(false)
  })

  it('does not take the answer of one provider for that of another (mix-up, RFC 9700 §4.4)', async () => {
    const browser = world.browser()
    const answer = await world.upstream.authorize(await world.leave(browser, 'corp'), person())
    const mixed = await world.comeBack(browser, answer.replace('/broker/corp/', '/broker/other/'))
    expect([mixed.status, browser.isSignedIn('shop')]).toEqual([403, false])
    expectEnded(mixed, 'other')
  })

  it('never admits the subject of an attacker by the address of the victim (nOAuth, CVE-2026-56666)', async () => {
    const { email } = person()
    const victim = await world.addUser(`victim-${count}`, { email, emailVerified: true })
    for (const verified of [true, false, 'true', undefined]) {
      const attacker = world.browser()
      const page = await world.through(attacker, {
        sub: `evil-${String(verified)}`,
        email,
        ...(verified === undefined ? {} : { email_verified: verified as boolean }),
      })
      expect(heading(page)).toBe('We found an account')
      await attacker.submit({})
      for (const guess of ['', 'a guess']) await attacker.submit({ password: guess })
      expect(attacker.isSignedIn('shop')).toBe(false)
    }
    expect(await world.linksOf(victim)).toEqual([])
  })

  it('keeps a subject with its account whatever address it has later', async () => {
    const victim = await addRow({ email: 'ceo@there.example', emailVerified: true })
    const user = person()
    await world.through(world.browser(), user)
    const browser = world.browser()
    await world.through(browser, { ...user, email: 'ceo@there.example' })
    expect(await world.whoIs(browser)).toBe(user.email)
    expect(await world.linksOf(victim.id)).toEqual([])
  })

  it('does not end the proof of one account with the password of another', async () => {
    const { email } = person()
    const victim = await world.addUser(`proof-${count}`, { email, emailVerified: true })
    await world.addUser(`own-${count}`, { emailVerified: true })
    const attacker = world.browser()
    await world.through(attacker, { sub: 'evil-proof', email, email_verified: true })
    await attacker.submit({})
    await attacker.submit({ username: `own-${count}`, password: `${password}x` })
    await attacker.submit({ username: `own-${count}`, password: 'wrong again' })
    expect(attacker.isSignedIn('shop')).toBe(false)
    expect(await world.linksOf(victim)).toEqual([])
  })

  const startLink = async (browser: SignInBrowser, alias = 'corp'): Promise<string> => {
    const page = await world.account(browser, 'identities', { link: alias })
    expect(page.status, page.body).toBe(200)
    return (
      /http-equiv="refresh" content="0;url=([^"]+)"/
        .exec(page.body)?.[1]
        ?.replaceAll('&amp;', '&') ?? ''
    )
  }
  const signedIn = async (name: string) => {
    const userId = await world.addUser(name, { emailVerified: true })
    const browser = world.browser()
    await browser.signIn('shop', name, password)
    expect(browser.isSignedIn('shop')).toBe(true)
    return { userId, browser }
  }

  it('links in the session that began it and in no other', async () => {
    const attacker = await signedIn('link-attacker')
    const victim = await signedIn('link-victim')
    const user = person()
    const answer = await world.upstream.authorize(await startLink(attacker.browser), user)
    const refused = await world.comeBack(victim.browser, answer)
    expect(refused.status).toBe(403)
    expect(await world.linksOf(victim.userId)).toEqual([])
    const done = await world.comeBack(attacker.browser, answer)
    expect(done.status).toBe(200)
    expect(await world.linksOf(attacker.userId)).toMatchObject([{ subject: user.sub }])
    // The same account there is nobody else's afterwards.
    const second = await world.upstream.authorize(await startLink(victim.browser), user)
    expect((await world.comeBack(victim.browser, second)).status).toBe(409)
    expect(await world.linksOf(victim.userId)).toEqual([])
  })

  it('does not link after the session has ended, nor to the user who signed in since', async () => {
    const attacker = await signedIn('stale-attacker')
    const victim = await signedIn('stale-victim')
    const answer = await world.upstream.authorize(await startLink(attacker.browser), person())
    attacker.browser.cookies.set(
      'iam-session-shop',
      victim.browser.cookies.get('iam-session-shop') ?? '',
    )
    expect((await world.comeBack(attacker.browser, answer)).status).toBe(403)
    expect(await world.linksOf(victim.userId)).toEqual([])
    expect(await world.linksOf(attacker.userId)).toEqual([])
  })

  it('protects the last way in, and removes a link that is not', async () => {
    const user = person()
    const browser = world.browser()
    await world.through(browser, user)
    const row = await world.userNamed(user.email)
    const [link] = await world.server.areas.storage.db
      .selectFrom('federated_links')
      .select('id')
      .where('user_id', '=', String(row?.['id']))
      .execute()
    const refused = await world.account(browser, 'identities', { unlink: link?.id ?? '' })
    expect([refused.status, refused.body.includes('You need this to sign in')]).toEqual([409, true])
    await world.must('PUT', `/users/${row?.['id']}/password`, { newPassword: password })
    // A new password ends the sessions.
    await world.through(browser, user)
    await world.account(browser, 'identities', { unlink: link?.id ?? '' })
    expect(await world.linksOf(String(row?.['id']))).toEqual([])
    const stranger = await signedIn('unlink-stranger')
    const strange = await world.account(stranger.browser, 'identities', { unlink: link?.id ?? '' })
    expect(strange.status).toBe(404)
  })

  it.each([
    ['while the browser is there', async () => undefined, 404],
    [
      'while the account is being proved',
      async (browser: SignInBrowser) => browser.submit({}),
      403,
    ],
  ])('ends with the provider that is disabled %s', async (when, step, status) => {
    const alias = status === 404 ? 'ended-there' : 'ended-here'
    await world.provider(alias)
    const user = person()
    const userId = await world.addUser(`${alias}-${count}`, {
      email: user.email,
      emailVerified: true,
    })
    const browser = world.browser()
    const answer = await world.upstream.authorize(await world.leave(browser, alias), user)
    if (status === 403) {
      await world.comeBack(browser, answer)
      await step(browser)
    }
    await world.provider(alias, { enabled: false })
    const page =
      status === 404 ? await world.comeBack(browser, answer) : await browser.submit({ password })
    expect([page.status, browser.isSignedIn('shop')], when).toEqual([status, false])
    expect(await world.linksOf(userId)).toEqual([])
  })

  it('asks nothing more of a person whose provider was disabled meanwhile (CVE-2026-2603)', async () => {
    await world.provider('closing')
    const user = person()
    await world.addUser(`closing-${count}`, { email: user.email, emailVerified: true })
    const browser = world.browser()
    expect(heading(await world.through(browser, user, 'closing'))).toBe('We found an account')
    await world.provider('closing', { enabled: false })
    const page = await browser.submit({})
    expect(page.status).toBe(403)
    expect(page.body).not.toContain('name="password"')
  })

  it.each(['/token', '/jwks'])(
    'makes nothing while %s of the provider does not answer, and goes on once it does',
    async (path) => {
      // Keys that were read before are not used any more.
      world.clock.advance(25 * 60 * 60_000)
      const user = person()
      const before = await world.must('GET', '/users')
      const browser = world.browser()
      const answer = await world.upstream.authorize(await world.leave(browser), user)
      world.upstream.down.add(path)
      const page = await world.comeBack(browser, answer)
      world.upstream.down.clear()
      // An address that failed is left alone for a while.
      world.clock.advance(11_000)
      expect([page.status, heading(page)]).toEqual([502, 'The provider cannot be reached'])
      expect(page.body).toContain('Provider corp')
      expect(page.body).toMatch(/<code>[0-9a-f-]{36}<\/code>/)
      expect(browser.isSignedIn('shop')).toBe(false)
      expect(await lastFailure()).toMatchObject({ outcome: 'FAILURE', detail: 'unavailable' })
      expect(await world.must('GET', '/users')).toEqual(before)
      await world.through(browser, user)
      expect(await world.whoIs(browser)).toBe(user.email)
    },
  )

  it('refuses a user who was disabled, and says so in the event alone', async () => {
    const user = person()
    await world.through(world.browser(), user)
    const row = await world.userNamed(user.email)
    await world.must('PUT', `/users/${row?.['id']}`, {
      username: row?.['username'],
      email: user.email,
      enabled: false,
    })
    const browser = world.browser()
    const page = await world.through(browser, user)
    expect([page.status, browser.isSignedIn('shop')]).toEqual([403, false])
    expect(await lastFailure()).toMatchObject({ outcome: 'FAILURE', detail: 'closed' })
  })

  it('signs in nobody whose link is removed at the same moment', async () => {
    const user = person()
    await world.through(world.browser(), user)
    const row = await world.userNamed(user.email)
    const browser = world.browser()
    const answer = await world.upstream.authorize(await world.leave(browser), user)
    const { links } = world.server.areas.users
    const { find } = links
    const looking = vi.spyOn(links, 'find').mockImplementationOnce(async (...asked) => {
      const found = await find(...asked)
      await world.must('DELETE', `/users/${row?.['id']}/federated-identity/corp`)
      return found
    })
    const page = await world.comeBack(browser, answer)
    looking.mockRestore()
    expect([page.status, browser.isSignedIn('shop')]).toEqual([403, false])
  })

  it('names the provider and a request id where the person cancels, and has made nothing', async () => {
    const before = await world.must('GET', '/users')
    const browser = world.browser()
    const page = await world.comeBack(browser, world.upstream.cancel(await world.leave(browser)))
    expect([page.status, heading(page)]).toEqual([403, 'The sign-in was cancelled'])
    expect(page.body).toContain('Provider corp')
    expect(page.body).toMatch(/<code>[0-9a-f-]{36}<\/code>/)
    expect(page.body).toContain(`href="${login}?stay="`)
    expect(await lastFailure()).toMatchObject({ outcome: 'FAILURE', detail: 'denied' })
    expect(await world.must('GET', '/users')).toEqual(before)
  })

  it.each(['a\0b', '\ud800'])(
    'is a person, not a failure, with %j among the claims',
    async (odd) => {
      const told = { email: `odd-${odd.length}@corp.example`, email_verified: true }
      const refused = await world.through(world.browser(), { ...told, sub: odd })
      expect([refused.status, heading(refused)]).toEqual([400, 'The answer could not be accepted'])
      const names = { preferred_username: odd, given_name: odd, family_name: odd, sid: odd }
      const browser = world.browser()
      const page = await world.through(browser, { ...told, ...names, sub: `odd-${odd.length}` })
      expect(page.status).toBe(200)
    },
  )

  it('leads nowhere but to pages of the realm (open redirect)', async () => {
    for (const query of [
      '?authorization=https://evil.example',
      '?sign_in=//evil.example',
      '?next=//evil.example',
    ]) {
      const answer = await world.browser().get(`/realms/shop/broker/corp/login${query}`)
      const target = new URL(answer.location ?? '/', world.server.baseUrl).origin
      expect([world.server.baseUrl, world.upstream.issuer]).toContain(target)
      expect(answer.location ?? '').not.toMatch(/^https?:\/\/evil/)
    }
  })

  it('signs in nobody who should not be, for every state of provider, link and account', async () => {
    const states = {
      open: {},
      disabled: { enabled: false },
      linkOnly: { linkOnly: true },
      hidden: { hideOnLogin: true },
    }
    const accounts = ['none', 'verified', 'unverified', 'name'] as const
    const linkStates = ['none', 'linked', 'closed'] as const
    for (const [state, change] of Object.entries(states))
      for (const trustEmail of [true, false]) {
        const alias = `${state.toLowerCase()}-${trustEmail}`
        await world.provider(alias, { ...change, trustEmail })
        const provider = await world.server.areas.storage.db
          .selectFrom('documents')
          .select('id')
          .where('realm', '=', 'shop')
          .where('key', '=', alias)
          .executeTakeFirstOrThrow()
        for (const account of accounts)
          for (const linked of linkStates)
            for (const verified of [true, false]) {
              const user = person({ email_verified: verified })
              const holder =
                account === 'none'
                  ? undefined
                  : await addRow(
                      account === 'name'
                        ? { username: user.email }
                        : { email: user.email, emailVerified: account === 'verified' },
                    )
              const own =
                linked === 'none'
                  ? undefined
                  : await addRow({ email: `own-${user.email}`, enabled: linked === 'linked' })
              const { links } = world.server.areas.users
              if (own)
                await world.server.areas.audit.recorder.commit(
                  links.link({ realm: 'shop', id: provider.id, alias }, [
                    { issuer: world.upstream.issuer, subject: user.sub, userId: own.id },
                  ]),
                  [],
                )
              const browser = world.browser()
              const left = await browser.get(`/realms/shop/broker/${alias}/login`)
              const title = `${alias}, account ${account}, link ${linked}, verified ${verified}`
              if (state !== 'open') {
                expect(left.status, title).toBe(404)
                continue
              }
              const answer = await world.upstream.authorize(left.location ?? '', user)
              await world.comeBack(browser, answer)
              // A name that another user has gives way to none: the new account has neither name nor address.
              const isNew = linked === 'none' && (account === 'none' || account === 'name')
              const isExpected = linked === 'linked' || isNew
              expect(browser.isSignedIn('shop'), title).toBe(isExpected)
              const expected = own ? `own-${user.email}` : user.email
              if (isExpected)
                expect(await world.whoIs(browser), title).toBe(
                  isNew && account === 'name' ? undefined : expected,
                )
              if (holder) expect(await world.userIdOf(browser), title).not.toBe(holder.id)
              if (holder) expect(await world.linksOf(holder.id), title).toEqual([])
            }
      }
  })
})
