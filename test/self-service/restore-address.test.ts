/** A changed address: the old address gets a notice, and a single-use link to undo the change. */

import { describe, expect, it } from 'vitest'
import { tidy } from '#server/run/housekeeping.ts'
import { insertRows } from '#server/storage/statements.ts'
import { withNewcomers } from '../sign-in/newcomers.ts'
import { password, type World } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { newPasskey } from './passkey.ts'
import { manage, type Person, personOf, strong } from './person.ts'

const day = 24 * 60 * 60_000

describe.each(backends)('a change of an address on $name', (backend) => {
  let world: World
  let ann: Person
  let username = ''
  let old = ''
  withNewcomers(backend, 'ann', async (...arrived) => {
    ;[world, username] = arrived
    old = `${username}@shop.example`
    await world.settings({ resetPasswordAllowed: true, verifyEmail: false })
    ann = await personOf(world, await world.addUser(username, { emailVerified: true }))
    world.clock.advance(1000)
  })

  const path = '/realms/shop/restore-address'
  const addressOf = (n: number) => `evil-${n}-${username}@x.example`
  const change = async (email: string, who = ann) => {
    const body = { email, firstName: null, lastName: null }
    expect((await who.api('PUT', '/profile', body)).status).toBe(200)
    world.clock.advance(1000)
  }
  const mailsTo = async (address: string): Promise<string[]> => {
    await world.settle()
    return world.mail.mails
      .filter(({ to }) => to.includes(address))
      .map(({ raw }) => raw.replaceAll('=\r\n', '').replaceAll('=3D', '='))
  }
  const linkTo = async (address: string): Promise<string> => {
    const mail = (await mailsTo(address)).at(-1) ?? ''
    return (/http:\S+/.exec(mail)?.[0] ?? '').replace(world.server.baseUrl, '')
  }
  const tokenIn = (link: string): string => /token=(.+)$/.exec(link)?.[1] ?? ''
  const open = async (link: string) => {
    const browser = world.browser()
    const page = await browser.get(link)
    const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
    return { page, submit: () => browser.post(path, { token: tokenIn(link), _csrf }) }
  }
  const restore = async (link: string) => (await open(link)).submit()
  const userNow = async () => world.must('GET', `/users/${ann.userId}`)
  const credentials = async (): Promise<string[]> =>
    (await world.must('GET', `/users/${ann.userId}/credentials`))
      .map(({ type }: { type: string }) => type)
      .sort()
  const addPasskey = async () => {
    const {
      storage,
      users: { store: users },
      given: { clock },
    } = world.server.areas
    const user = await users.find('shop', ann.userId)
    if (!user) throw new Error('no user')
    const row = newPasskey(world.server.baseUrl).credentialOf(user, clock.now())
    await storage.commit(insertRows(storage.db, 'credentials', [row]))
  }
  const canSignIn = async (secret: string): Promise<boolean> => {
    const browser = world.browser()
    await browser.signIn('shop', username, secret)
    return browser.isSignedIn('shop')
  }

  it('is undone by the old address, with everything that came in by the new one', async () => {
    await world.addTotp(ann.userId)
    const intruder = await personOf(world, ann.userId, strong)
    world.clock.advance(1000)
    await change(addressOf(1), intruder)
    await addPasskey()
    expect(await credentials()).toEqual(['otp', 'password', 'webauthn'])
    const link = await linkTo(old)
    expect(link).toContain(`${path}?token=`)

    const { page, submit } = await open(link)
    expect([page.status, page.body.includes(old)]).toEqual([200, true])
    expect(page.body).not.toContain(addressOf(1))
    expect(await userNow()).toMatchObject({ email: addressOf(1) })
    const foreign = await world.browser().post(path, { token: tokenIn(link), _csrf: 'x' })
    expect(foreign.status).toBe(403)
    expect(await userNow()).toMatchObject({ email: addressOf(1) })

    const answers = await Promise.all([submit(), submit(), submit()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410, 410])
    expect(await userNow()).toMatchObject({ email: old, emailVerified: true })
    expect(await credentials()).toEqual(['otp'])
    for (const who of [ann, intruder]) expect((await who.api('GET', '/profile')).status).toBe(401)
    const grants = world.server.areas.storage.db.selectFrom('token_grants').selectAll()
    expect(await grants.where('user_id', '=', ann.userId).execute()).toEqual([])
    expect(await canSignIn(password)).toBe(false)
    expect((await open(link)).page.status).toBe(410)
    const { items } = await world.must('GET', '/events?type=UPDATE_EMAIL')
    expect(items[0]).toMatchObject({ actor: ann.userId, detail: 'restored by the old address' })
    // The address that was set is informed, and gets no link back.
    const told = (await mailsTo(addressOf(1))).join()
    expect([told.includes('was changed'), told.includes('token=')]).toEqual([true, false])
  })

  it('leads to a new password by the restored address, and to nothing by the other one', async () => {
    await change(addressOf(1))
    const forget = async (): Promise<string> => {
      const forgot = world.browser()
      await forgot.open('/realms/shop/login/forgot')
      await forgot.submit({ username: addressOf(1) })
      return linkTo(addressOf(1))
    }
    expect(await forget()).toBe('')
    await world.must('PUT', `/users/${ann.userId}`, { ...(await userNow()), emailVerified: true })
    const reset = await forget()
    expect(reset).toContain('token=')
    const { body } = await restore(await linkTo(old))
    expect(body).toContain('/realms/shop/login/forgot')
    const late = world.browser()
    await late.open(reset)
    await late.submit({ token: tokenIn(reset) })
    expect(late.page?.body).not.toContain('name="password"')

    const browser = world.browser()
    await browser.open('/realms/shop/login/forgot')
    await browser.submit({ username: old })
    const mine = await linkTo(old)
    await browser.open(mine)
    await browser.submit({ token: tokenIn(mine) })
    const fresh = 'another long enough secret 78'
    await browser.submit({ password: fresh, passwordConfirm: fresh })
    expect(await canSignIn(fresh)).toBe(true)
  })

  it('is undone by the first address whatever came after it, and not again by what came after', async () => {
    await change(addressOf(1))
    await change(addressOf(2))
    const [first, second] = [await linkTo(old), await linkTo(addressOf(1))]
    const { page, submit } = await open(second)
    expect(page.status).toBe(200)
    expect((await restore(first)).status).toBe(200)
    expect((await submit()).status).toBe(410)
    expect((await open(second)).page.status).toBe(410)
    expect(await userNow()).toMatchObject({ email: old })
  })

  it('is undone by the first address after the second one undid its own', async () => {
    await change(addressOf(1))
    await change(addressOf(2))
    const [first, second] = [await linkTo(old), await linkTo(addressOf(1))]
    expect((await restore(second)).status).toBe(200)
    expect(await userNow()).toMatchObject({ email: addressOf(1), emailVerified: false })
    expect((await restore(first)).status).toBe(200)
    expect(await userNow()).toMatchObject({ email: old, emailVerified: true })
  })

  it('of an administrator is undone too', async () => {
    await world.must('PUT', `/users/${ann.userId}`, { username, email: addressOf(1) })
    expect((await restore(await linkTo(old))).status).toBe(200)
    expect(await userNow()).toMatchObject({ email: old, emailVerified: true })
  })

  it('of an administrator of the realm leaves the password from before, which mail cannot give anew', async () => {
    await world.must('POST', `/users/${ann.userId}/roles`, { name: 'auditor' })
    await change(addressOf(1))
    await addPasskey()
    const { page, submit } = await open(await linkTo(old))
    expect(page.body).not.toContain('you choose a new password')
    const { status, body } = await submit()
    expect([status, body.includes('/login/forgot')]).toEqual([200, false])
    expect(body).not.toContain('you get a link')
    expect(body).toContain('the password from before')
    expect(await userNow()).toMatchObject({ email: old })
    expect(await credentials()).toEqual(['password'])
    expect((await ann.api('GET', '/profile')).status).toBe(401)
    expect(await canSignIn(password)).toBe(true)
  })

  it('promises no link where the realm sends none for a forgotten password', async () => {
    await change(addressOf(1))
    const link = await linkTo(old)
    await world.settings({ resetPasswordAllowed: false })
    const { status, body } = await restore(link)
    expect([status, body.includes('/login/forgot')]).toEqual([200, false])
    expect(body).not.toContain('you get a link')
    expect(body).toContain('Ask an administrator for a new password')
    expect(await credentials()).toEqual([])
  })

  it('of a user whom a file declares is told without a link, and a link from before does nothing', async () => {
    await change(addressOf(1))
    const link = await linkTo(old)
    await manage(world, ann.userId)
    expect((await open(link)).page.status).toBe(403)
    expect((await restore(link)).status).toBe(403)
    const declared = { username, email: addressOf(2) }
    await world.must('POST', '/changesets', {
      baseRevision: (await world.must('GET', '/export')).revision,
      source: 'estate',
      operations: [{ op: 'put', kind: 'user', key: username, doc: declared }],
    })
    const [mail = ''] = await mailsTo(addressOf(1))
    expect([mail.includes('was changed'), mail.includes('token=')]).toEqual([true, false])
    expect(await userNow()).toMatchObject({ email: addressOf(2) })
  })

  it('is not undone from an address that was not verified, where the realm verifies them', async () => {
    await change(addressOf(1))
    await world.settings({ verifyEmail: true })
    await change(addressOf(2))
    expect(await linkTo(addressOf(1))).toBe('')
    // The address that was verified has its link.
    expect(await linkTo(old)).toContain(`${path}?token=`)
  })

  it('is undone for a week, in its realm alone, and by nothing that was not sent', async () => {
    await change(addressOf(1))
    const link = await linkTo(old)
    await world.server.createRealm(`other-${username}`)
    const answers = [
      await open(link.replace('/shop/', `/other-${username}/`)),
      await open(`${path}?token=${'x'.repeat(43)}`),
      await open(path),
    ]
    expect(answers.map(({ page }) => page.status)).toEqual([410, 410, 410])
    const { submit } = await open(link)
    world.clock.advance(7 * day)
    expect((await submit()).status).toBe(410)
    expect((await open(link)).page.status).toBe(410)
    await tidy(world.server.areas)
    const rows = world.server.areas.storage.db.selectFrom('address_undos').selectAll()
    expect(await rows.where('user_id', '=', ann.userId).execute()).toEqual([])
    expect(await userNow()).toMatchObject({ email: addressOf(1) })
  })

  it('is undone although another account claims the old address, unless it has shown the address to be its own', async () => {
    await change(addressOf(1))
    const { userId } = await world.must('POST', '/users', { username: `x-${username}`, email: old })
    expect((await restore(await linkTo(old))).status).toBe(200)
    expect(await userNow()).toMatchObject({ email: old })
    expect(await world.must('GET', `/users/${userId}`)).toMatchObject({ email: null })

    const again = await personOf(world, ann.userId)
    await change(addressOf(3), again)
    await world.must('PUT', `/users/${userId}`, {
      username: `x-${username}`,
      email: old,
      emailVerified: true,
    })
    expect((await restore(await linkTo(old))).status).toBe(409)
    expect(await userNow()).toMatchObject({ email: addressOf(3) })
  })
})
