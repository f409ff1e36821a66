/** Users change their own name, address and password, as JSON and on pages. */

import { describe, expect, it } from 'vitest'
import { withNewcomers } from '../sign-in/newcomers.ts'
import { password, type World } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { manage, type Person, personOf, strong } from './person.ts'

const newPassword = 'another long enough secret 78'
const quarter = 15 * 60_000

describe.each(backends)('profile and password of an account on $name', (backend) => {
  let world: World
  let ann: Person
  let username = ''
  let count = 0
  withNewcomers(backend, 'ann', async (...arrived) => {
    ;[world, username, count] = arrived
    ann = await personOf(world, await world.addUser(username, { emailVerified: true }))
  })

  const account = (path: string) => `/realms/shop/account${path}`
  const page = (path: string) => ann.browser.get(account(path), { accept: 'text/html' })
  const submit = async (path: string, fields: Record<string, string>, who = ann) => {
    const _csrf = who.browser.cookies.get('XSRF-TOKEN') ?? ''
    return who.browser.post(account(path), { _csrf, ...fields }, { accept: 'text/html' })
  }
  const profile = (fields: Record<string, unknown> = {}) => ({
    email: `${username}@shop.example`,
    firstName: 'Ann',
    lastName: null,
    ...fields,
  })
  const eventsOf = async (type: string): Promise<{ actor: string; detail: string | null }[]> => {
    const { items } = await world.must('GET', `/events?type=${type}`)
    return items.filter((event: { actor: string }) => event.actor === ann.userId)
  }
  const canSignIn = async (secret: string): Promise<boolean> => {
    const browser = world.browser()
    await browser.signIn('shop', username, secret)
    return browser.isSignedIn('shop')
  }

  it('are read and changed by JSON; a new address is unverified, and its change is a matter of security', async () => {
    const { status, body, headers } = await ann.api('GET', '/profile')
    expect([status, headers['cache-control']]).toEqual([200, 'no-store'])
    expect(body).toMatchObject({ username, emailVerified: true, firstName: null, managed: false })

    const named = await ann.api('PUT', '/profile', profile())
    expect(named.body).toMatchObject({ firstName: 'Ann', emailVerified: true })
    expect(await eventsOf('UPDATE_EMAIL')).toEqual([])
    const moved = await ann.api('PUT', '/profile', profile({ email: `new-${username}@x.example` }))
    expect(moved.body).toMatchObject({ email: `new-${username}@x.example`, emailVerified: false })
    expect((await eventsOf('UPDATE_EMAIL')).length).toBe(1)
    expect((await eventsOf('UPDATE_PROFILE')).length).toBe(2)
  })

  it('tell the old address of a new one, whose name they hide, in the language of the user', async () => {
    const toOld = () =>
      world.mail.mails
        .filter(({ to }) => to.includes(`${username}@shop.example`))
        .map(({ raw }) => raw)
    await ann.api('PUT', '/profile', profile({ lastName: 'Other' }))
    await world.settle()
    expect(toOld()).toEqual([])
    await ann.api('PUT', '/profile', profile({ email: `hidden-${username}@x.example` }))
    await world.settle()
    const [mail = ''] = toOld()
    expect(mail).toContain('was changed')
    expect(mail).toContain('@x.example')
    expect(mail).not.toContain('hidden-')
    // Also where the change was asked for at a sign-in.
    const browser = world.browser()
    await world.must('PUT', `/users/${ann.userId}/required-actions`, ['UPDATE_PROFILE'])
    await browser.open('/realms/shop/login')
    await browser.submit({ username, password })
    await browser.submit({ email: `third-${username}@x.example` })
    await world.settle()
    const { to, raw } = world.mail.mails.at(-1) ?? { to: [], raw: '' }
    expect([to.join(), raw.includes('was changed')]).toEqual([`hidden-${username}@x.example`, true])
  })

  it('tell the old address of one that an administrator gives, by every door', async () => {
    const { userId } = ann
    const address = (n: number) => `${n}-${username}@x.example`
    const doors: ((email: string) => Promise<unknown>)[] = [
      (email) => world.must('PUT', `/users/${userId}`, { username, email }),
      (email) =>
        world.must('POST', '/users/import', {
          ifResourceExists: 'OVERWRITE',
          users: [{ username, email }],
        }),
      async (email) =>
        world.must('POST', '/changesets', {
          baseRevision: (await world.must('GET', '/export')).revision,
          source: 'estate',
          operations: [{ op: 'put', kind: 'user', key: username, doc: { username, email } }],
        }),
      (email) => world.must('PUT', `/users/${userId}`, { username, email }),
    ]
    await world.must('PUT', `/users/${userId}`, { username, email: address(0) })
    for (const [n, change] of doors.entries()) {
      await change(address(n + 1))
      await world.settle()
      const told = world.mail.mails.filter(({ to }) => to.includes(address(n)))
      expect(told.map(({ raw }) => [n, raw.includes('was changed')])).toEqual([[n, true]])
    }
  })

  it('queue no word about a new address where the realm cannot send mail', async () => {
    const mute = await world.server.createRealm(`mute-${count}`)
    const admin = await world.server.signedIn('master', 'admin')
    const named = { username, email: 'one@x.example' }
    const { userId } = (await admin.send('POST', `${mute}/users`, named)).body
    const moved = await admin.send('PUT', `${mute}/users/${userId}`, {
      username,
      email: 'two@x.example',
    })
    expect(moved).toMatchObject({ status: 200, body: { email: 'two@x.example' } })
    const { db } = world.server.areas.storage
    const jobs = db.selectFrom('jobs').select('id').where('target', '=', userId)
    expect(await jobs.execute()).toEqual([])
  })

  it('name what is wrong: unknown fields, an address of somebody else, and what a file declares', async () => {
    const unknown = await ann.api('PUT', '/profile', profile({ enabled: false, username: 'x' }))
    expect(unknown.status).toBe(400)
    expect(unknown.headers['content-type']).toContain('application/problem+json')
    const wrong = await ann.api('PUT', '/profile', profile({ email: 'no address' }))
    expect([wrong.status, wrong.body.errors[0].field]).toEqual([400, '/email'])
    await world.addUser(`other-${username}`)
    const taken = await ann.api(
      'PUT',
      '/profile',
      profile({ email: `other-${username}@shop.example` }),
    )
    expect([taken.status, taken.body.errors[0].field]).toEqual([409, '/email'])
    await manage(world, ann.userId)
    const managed = await ann.api('PUT', '/profile', profile())
    expect([managed.status, managed.body.code]).toEqual([409, 'owned'])
    expect((await submit('/profile', { firstName: 'X' })).status).toBe(409)
  })

  it('are for nobody without a session and its CSRF token', async () => {
    const nobody = await ann.api('GET', '/profile', undefined, { cookie: '' })
    expect(nobody.status).toBe(401)
    expect(nobody.headers['www-authenticate']).toContain('Bearer')
    const bob = await personOf(world, await world.addUser(`bob-${count}`))
    const tokens = ['', 'x', bob.browser.cookies.get('XSRF-TOKEN') ?? '']
    for (const token of tokens) {
      const headers = { 'x-xsrf-token': token }
      const body = { currentPassword: password, newPassword }
      expect((await ann.api('PUT', '/profile', profile(), headers)).status).toBe(403)
      expect((await ann.api('PUT', '/password', body, headers)).status).toBe(403)
      const form = { currentPassword: password, password: newPassword, _csrf: token }
      expect((await submit('/password', { ...form, passwordConfirm: newPassword })).status).toBe(
        403,
      )
    }
    expect(await canSignIn(password)).toBe(true)
  })

  it('change the password by the present one alone, which is guessed no oftener than at the sign-in page', async () => {
    const wrong = await ann.api('PUT', '/password', { currentPassword: 'x', newPassword })
    expect([wrong.status, wrong.body.errors[0]]).toEqual([
      400,
      expect.objectContaining({ field: '/currentPassword', code: 'wrong-password' }),
    ])
    expect((await eventsOf('LOGIN_FAILURE')).length).toBe(1)
    const weak = await ann.api('PUT', '/password', { currentPassword: password, newPassword: 'x' })
    expect([weak.status, weak.body.errors[0].field]).toEqual([400, '/newPassword'])
    const missing = await ann.api('PUT', '/password', { newPassword })
    expect(missing.body.errors[0].field).toBe('/currentPassword')

    const other = await personOf(world, ann.userId)
    const body = { currentPassword: password, newPassword, signOutOthers: true }
    expect((await ann.api('PUT', '/password', body)).status).toBe(204)
    expect((await other.api('GET', '/profile')).status).toBe(401)
    expect((await ann.api('GET', '/profile')).status).toBe(200)
    expect([await canSignIn(password), await canSignIn(newPassword)]).toEqual([false, true])
    expect((await eventsOf('UPDATE_CREDENTIAL'))[0]?.detail).toBe('password')

    await world.settings({ failureFactor: 3 })
    for (const guess of ['a', 'b', 'c', 'd'])
      await ann.api('PUT', '/password', {
        currentPassword: guess,
        newPassword: `${guess}-long-enough-1`,
      })
    expect(await canSignIn(newPassword)).toBe(false)
    await world.settings({ failureFactor: 10 })
  })

  it('want the second factor of a user who has one, and a recent sign-in for a new address', async () => {
    const address = profile({ email: `later-${username}@x.example` })
    world.clock.advance(quarter + 1000)
    const late = await ann.api('PUT', '/profile', address)
    expect(late.status).toBe(403)
    expect(late.body).toMatchObject({ code: 'step-up', max_age: 900 })
    expect(late.headers['www-authenticate']).toContain('insufficient_user_authentication')
    expect((await ann.api('PUT', '/profile', profile())).status).toBe(200)

    await world.addTotp(ann.userId)
    const weak = await personOf(world, ann.userId)
    const body = { currentPassword: password, newPassword }
    const refused = await weak.api('PUT', '/password', body)
    expect(refused.status).toBe(403)
    expect(refused.body).toMatchObject({ code: 'step-up', acr_values: '2' })
    expect((await weak.api('PUT', '/profile', address)).status).toBe(403)
    const better = await personOf(world, ann.userId, strong)
    expect((await better.api('PUT', '/profile', address)).status).toBe(200)
    expect((await better.api('PUT', '/password', body)).status).toBe(204)
  })

  it('are not changed by an administrator who acts as the user, whom the pages name', async () => {
    const admin = await world.server.areas.users.store.find('master', 'admin')
    const acting = await personOf(world, ann.userId, { impersonator: admin?.id ?? '' })
    const body = { currentPassword: password, newPassword }
    expect((await acting.api('PUT', '/password', body)).body.code).toBe('forbidden')
    const address = profile({ email: `own-${username}@x.example` })
    expect((await acting.api('PUT', '/profile', address)).status).toBe(403)
    const shown = await acting.browser.get(account('/profile'), { accept: 'text/html' })
    expect(shown.body).toContain('admin is acting as')
  })

  it('are pages too, that lead to the sign-in page and back, and say what was done', async () => {
    const visitor = world.browser()
    const away = await visitor.get(account(''), { accept: 'text/html' })
    expect([away.status, away.location]).toEqual([
      303,
      '/realms/shop/login?authorization=account-profile',
    ])
    await visitor.open(away.location ?? '')
    await visitor.submit({ username, password })
    expect(visitor.path).toBe(account('/profile'))

    expect((await page('')).location).toBe(account('/profile'))
    expect((await page('/profile')).body).toContain(`${username}@shop.example`)
    const saved = await submit('/profile', { email: `${username}@shop.example`, firstName: 'Anna' })
    expect([saved.status, saved.location]).toEqual([303, account('/profile?notice=saved')])
    const shown = await page('/profile?notice=saved')
    expect(shown.body).toContain('Your changes are saved.')
    expect(shown.body).toContain('value="Anna"')
    expect((await page('/profile?notice=<b>')).body).not.toContain('<b>')
    const wrong = await submit('/profile', { email: 'no address', firstName: 'Anna' })
    expect([wrong.status, wrong.body.includes('aria-invalid')]).toEqual([400, true])

    const fields = { currentPassword: password, password: newPassword }
    const mismatch = await submit('/password', { ...fields, passwordConfirm: 'x' })
    expect(mismatch.status).toBe(400)
    const guessed = { ...fields, passwordConfirm: newPassword, currentPassword: 'x' }
    expect((await submit('/password', guessed)).status).toBe(400)
    const short = { ...fields, password: 'x', passwordConfirm: 'x' }
    expect((await submit('/password', short)).status).toBe(400)
    const changed = await submit('/password', { ...fields, passwordConfirm: newPassword })
    expect(changed.location).toBe(account('/password?notice=saved'))
    expect(await canSignIn(newPassword)).toBe(true)
  })

  it('send a browser whose sign-in is not enough to make it so, and back', async () => {
    const code = await world.addTotp(ann.userId)
    const weak = await personOf(world, ann.userId)
    const change = {
      currentPassword: password,
      password: newPassword,
      passwordConfirm: newPassword,
    }
    const answer = await submit('/password', change, weak)
    expect(answer.location).toBe('/realms/shop/login?authorization=account-password-strong')
    await weak.browser.open(answer.location ?? '')
    expect(weak.browser.page?.body).toContain('name="code"')
    await weak.browser.submit({ code: code() })
    expect(weak.browser.path).toBe(account('/password'))
    expect((await submit('/password', change, weak)).location).toContain('notice=saved')
  })
})
