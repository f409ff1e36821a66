/** Users manage their own factors; requests of others are refused. */

import { Secret, TOTP } from 'otpauth'
import { describe, expect, it } from 'vitest'
import { deleteCredentials, insertCredentials } from '#server/credentials/credentials.ts'
import { withNewcomers } from '../sign-in/newcomers.ts'
import { password, type World } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { newPasskey } from './passkey.ts'
import { type Person, personOf, strong } from './person.ts'

const quarter = 15 * 60_000
const account = (path: string) => `/realms/shop/account${path}`

describe.each(backends)('factors of an account on $name', (backend) => {
  let world: World
  let ann: Person
  let username = ''
  let count = 0
  withNewcomers(backend, 'ann', async (...arrived) => {
    ;[world, username, count] = arrived
    ann = await personOf(world, await world.addUser(username))
  })

  const codeOf = (secret: string): string =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: world.clock.now() })
  const typesOf = async (who = ann): Promise<string[]> =>
    (await who.api('GET', '/credentials')).body.map(({ type }: { type: string }) => type)
  const idOf = async (type: string): Promise<string> =>
    (await ann.api('GET', '/credentials')).body.find((one: { type: string }) => one.type === type)
      .id
  const addTotp = async (who = ann) => {
    const { ticket, secret } = (await who.api('POST', '/credentials/totp', {})).body
    const body = { ticket, code: codeOf(secret), label: 'phone' }
    return { answer: await who.api('POST', '/credentials/totp/confirm', body), body, secret }
  }

  it('are added by an app that shows its first code, once, and asked for from then on', async () => {
    const begun = await ann.api('POST', '/credentials/totp', {})
    expect(begun.body).toMatchObject({ digits: 6, period: 30, algorithm: 'SHA1' })
    expect(begun.body.otpauthUri).toContain(`secret=${begun.body.secret}`)
    expect(await typesOf()).toEqual(['password'])
    const { ticket } = begun.body
    const wrong = await ann.api('POST', '/credentials/totp/confirm', { ticket, code: '000000' })
    expect([wrong.status, wrong.body.errors[0].field]).toEqual([400, '/code'])
    const body = { ticket, code: codeOf(begun.body.secret), label: 'my phone' }
    const made = await ann.api('POST', '/credentials/totp/confirm', body)
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({ type: 'otp', userLabel: 'my phone' }),
    ])
    expect(JSON.stringify((await ann.api('GET', '/credentials')).body)).not.toContain(
      begun.body.secret,
    )
    const browser = world.browser()
    await browser.signIn('shop', username, password)
    expect(browser.isSignedIn('shop')).toBe(false)
    const again = await personOf(world, ann.userId, strong)
    expect((await again.api('POST', '/credentials/totp/confirm', body)).status).toBe(409)
  })

  it('are recovery codes that count once they are confirmed, in the place of earlier ones', async () => {
    const first = (await ann.api('POST', '/credentials/recovery-codes', {})).body
    expect(new Set(first.codes).size).toBe(10)
    expect(await typesOf()).toEqual(['password'])
    const confirm = (ticket: string) =>
      ann.api('POST', '/credentials/recovery-codes/confirm', { ticket })
    const made = await confirm(first.ticket)
    expect([made.status, made.body.codesLeft]).toEqual([201, 10])
    const second = (await ann.api('POST', '/credentials/recovery-codes', {})).body
    expect((await confirm(second.ticket)).status).toBe(201)
    expect((await confirm(first.ticket)).status).toBe(409)
    expect(await typesOf()).toEqual(['password', 'recovery-codes'])
  })

  it('are neither added nor removed by a sign-in without the second factor that the user has', async () => {
    expect((await addTotp()).answer.status).toBe(201)
    const otp = await idOf('otp')
    const weak = await personOf(world, ann.userId)
    for (const [method, path] of [
      ['POST', '/credentials/totp'],
      ['POST', '/credentials/webauthn'],
      ['POST', '/credentials/recovery-codes'],
      ['DELETE', `/credentials/${otp}`],
    ] as const) {
      const answer = await weak.api(method, path, method === 'POST' ? {} : undefined)
      expect([answer.status, answer.body.code, path]).toEqual([403, 'step-up', path])
      expect(answer.body.acr_values).toBe('2')
    }
    const better = await personOf(world, ann.userId, strong)
    const { ticket, secret } = (await better.api('POST', '/credentials/totp', {})).body
    const carried = { ticket, code: codeOf(secret) }
    expect((await weak.api('POST', '/credentials/totp/confirm', carried)).status).toBe(403)
    const { ticket: codes } = (await better.api('POST', '/credentials/recovery-codes', {})).body
    const confirmed = await weak.api('POST', '/credentials/recovery-codes/confirm', {
      ticket: codes,
    })
    expect(confirmed.status).toBe(403)
    expect((await better.api('DELETE', `/credentials/${otp}`)).status).toBe(204)
    expect(await typesOf()).toEqual(['password'])
    const { items } = await world.must('GET', '/events?type=REMOVE_CREDENTIAL')
    expect(items[0]).toMatchObject({ actor: ann.userId, detail: 'otp' })
  })

  it('are out of reach for a sign-in that has not ended (CVE-2025-3910, CVE-2026-3429)', async () => {
    await addTotp()
    const half = world.browser()
    await half.signIn('shop', username, password)
    const _csrf = half.cookies.get('XSRF-TOKEN') ?? ''
    const otp = await idOf('otp')
    for (const path of ['/security', '/security/totp', '/security/passkey', '/password']) {
      const fields = { _csrf, remove: otp, password, passwordConfirm: password }
      for (const { status, location } of [
        await half.get(account(path), { accept: 'text/html' }),
        await half.post(account(path), fields),
      ]) {
        expect(status).toBe(303)
        expect(location).toContain('/realms/shop/login?authorization=account-')
      }
    }
    const cookie = [...half.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    for (const [method, path] of [
      ['GET', '/credentials'],
      ['POST', '/credentials/totp'],
      ['DELETE', `/credentials/${otp}`],
    ] as const) {
      const headers = { cookie, 'x-xsrf-token': _csrf }
      expect((await ann.api(method, path, undefined, headers)).status).toBe(401)
    }
    expect(await typesOf()).toEqual(['password', 'otp'])
  })

  it('are not changed by a sign-in of long ago, nor by who acts as the user', async () => {
    const acting = await personOf(world, ann.userId, {
      impersonator: world.server.admin.userId,
      acr: '2',
    })
    const refused = await acting.api('POST', '/credentials/totp', {})
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
    expect((await acting.api('DELETE', `/credentials/${await idOf('password')}`)).status).toBe(403)
    const { ticket, secret } = (await ann.api('POST', '/credentials/totp', {})).body
    world.clock.advance(quarter + 1000)
    const late = await ann.api('POST', '/credentials/totp', {})
    expect([late.status, late.body.code, late.body.max_age]).toEqual([403, 'step-up', 900])
    const anew = await personOf(world, ann.userId)
    const old = { ticket, code: codeOf(secret) }
    expect((await anew.api('POST', '/credentials/totp/confirm', old)).status).toBe(410)
    expect(await typesOf(anew)).toEqual(['password'])
  })

  it('are nobody else’s: not their ids, not their tickets, not without the CSRF token', async () => {
    await addTotp()
    const otp = await idOf('otp')
    const bob = await personOf(world, await world.addUser(`bob-${count}`), strong)
    expect((await bob.api('DELETE', `/credentials/${otp}`)).status).toBe(404)
    const better = await personOf(world, ann.userId, strong)
    const { ticket, secret } = (await better.api('POST', '/credentials/totp', {})).body
    const stolen = { ticket, code: codeOf(secret) }
    expect((await bob.api('POST', '/credentials/totp/confirm', stolen)).status).toBe(410)
    for (const ticket of ['x', 'e30', Buffer.from('[1]').toString('base64url')]) {
      const body = { ticket, code: '123456' }
      expect((await bob.api('POST', '/credentials/totp/confirm', body)).status).toBe(410)
    }
    const codes = (await better.api('POST', '/credentials/recovery-codes', {})).body.ticket
    const mixed = { ticket: codes, code: '123456' }
    expect((await better.api('POST', '/credentials/totp/confirm', mixed)).status).toBe(410)
    const plain = { 'x-xsrf-token': '' }
    expect((await better.api('DELETE', `/credentials/${otp}`, undefined, plain)).status).toBe(403)
    expect((await better.api('POST', '/credentials/totp', {}, plain)).status).toBe(403)
    expect(await typesOf(better)).toEqual(['password', 'otp'])
  })

  it('leave the user a way to sign in', async () => {
    const kept = await ann.api('DELETE', `/credentials/${await idOf('password')}`)
    expect([kept.status, kept.body.code]).toEqual([409, 'conflict'])
    const unknown = await ann.api('POST', '/credentials/webauthn/confirm', { response: {} })
    expect([unknown.status, unknown.body.errors[0].field]).toEqual([400, '/response'])
  })

  it('are added and removed on pages, which a weak sign-in is sent away from and back to', async () => {
    const { browser } = ann
    await browser.open(account('/security'))
    expect(browser.page?.body).toContain('You have not added any yet.')
    await browser.submit({ add: 'totp' })
    const shown = /dir="ltr">([A-Z2-7 ]+)</.exec(browser.page?.body ?? '')?.[1] ?? 'nothing'
    const wrong = await browser.submit({ code: '000000' })
    expect([wrong.status, wrong.body.includes(shown)]).toEqual([400, true])
    await browser.submit({ code: codeOf(shown.replaceAll(' ', '')), label: 'my <phone>' })
    expect(browser.path).toBe(account('/security?notice=added'))
    expect(browser.page?.body).toContain('my &lt;phone&gt;')

    const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
    const otp = await idOf('otp')
    for (const path of ['/security/totp', '/security/passkey', '/security/recovery-codes']) {
      const away = await browser.get(account(path))
      expect(away.location).toBe('/realms/shop/login?authorization=account-security-strong')
    }
    const removal = await browser.post(account('/security'), { _csrf, remove: otp })
    expect(removal.location).toBe('/realms/shop/login?authorization=account-security-strong')
    const forged = await browser.post(account('/security'), { _csrf: 'x', remove: otp })
    expect(forged.status).toBe(403)

    const better = (await personOf(world, ann.userId, strong)).browser
    await better.open(account('/security'))
    await better.submit({ add: 'recovery-codes' })
    await better.submit({ saved: 'true' })
    expect(better.path).toBe(account('/security?notice=added'))
    expect(better.page?.body).toContain('codes left: 10')
    await better.submit({ remove: otp })
    expect(better.path).toBe(account('/security?notice=removed'))
    expect(await typesOf()).toEqual(['password', 'recovery-codes'])
  })

  it('leave one way in where the last two are removed at once', async () => {
    const { storage, users, given } = world.server.areas
    const user = await users.store.find('shop', ann.userId)
    if (!user) throw new Error('no user')
    const row = () => newPasskey(world.server.baseUrl).credentialOf(user, given.clock.now())
    const passkeys = [row(), row()]
    await storage.commit([
      deleteCredentials(storage, user.id, 'password'),
      ...insertCredentials(storage, passkeys),
    ])
    const who = await personOf(world, ann.userId, strong)
    const answers = await Promise.all(
      passkeys.map(({ id }) => who.api('DELETE', `/credentials/${id}`)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409])
    expect(await typesOf(who)).toEqual(['webauthn'])
  })
})
