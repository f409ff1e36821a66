/** Attacks through mail: claimed addresses, look-alike addresses, and links to other hosts. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { insertRows } from '#server/storage/statements.ts'
import { newPasskey } from '../../self-service/passkey.ts'
import { personOf } from '../../self-service/person.ts'
import {
  openWorld,
  password,
  type SignInBrowser,
  tokenIn,
  type World,
} from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'
import { evil, LyingBrowser, lies } from './lying-browser.ts'

const [backend] = backends
if (!backend) throw new Error('there is no database to test on')

const login = '/realms/shop/login'
const byLink = [{ authenticator: 'identify' }, { authenticator: 'email-link' }]
const byCode = [{ authenticator: 'identify' }, { authenticator: 'email-code' }]
const byPassword = [{ authenticator: 'username-password' }]
const fresh = 'another secret, long enough 9'

let world: World
let behindProxy: World

beforeAll(async () => {
  const proxies = { IAMCTL_TRUSTED_PROXIES: '127.0.0.1/32' }
  ;[world, behindProxy] = await Promise.all([
    openWorld(backend),
    openWorld(backend, { env: proxies }),
  ])
})
afterAll(() => Promise.all([world?.close(), behindProxy?.close()]))

describe.each([
  { proxy: 'from anybody', isTrusted: false },
  { proxy: 'from a trusted proxy', isTrusted: true },
])('mail that is caused by a request $proxy', ({ isTrusted }) => {
  let own: World
  let browser: LyingBrowser
  beforeAll(async () => {
    own = isTrusted ? behindProxy : world
    await own.addUser('anna', { emailVerified: true })
    await own.settings({ registrationAllowed: true, verifyEmail: true })
  })
  afterAll(() => own.settings({ verifyEmail: false }))
  beforeEach(() => {
    browser = new LyingBrowser(own.server)
  })

  const begin = async (page: string, fields: Record<string, string>) => {
    await browser.open(page)
    return browser.submit(fields)
  }
  const ways: Record<string, () => Promise<unknown>> = {
    'a forgotten password': () => begin(`${login}/forgot`, { username: 'anna' }),
    'a link to sign in by': async () => {
      await own.setFlow(byLink)
      await begin(login, { username: 'anna' })
      own.clock.advance(31_000)
      await browser.submit({ step: 'resend' })
    },
    'a code': async () => {
      await own.setFlow(byCode)
      await begin(login, { username: 'anna' })
    },
    'a registration': () =>
      begin(`${login}/register`, { username: 'new', email: 'new@shop.example', password }),
    'a new device': async () => {
      await own.setFlow(byPassword)
      await begin(login, { username: 'anna', password })
      browser = new LyingBrowser(own.server)
      await begin(login, { username: 'anna', password })
    },
    'an invitation': async () => {
      const { id } = await own.must('POST', '/organizations', { alias: 'globex' })
      const { send } = await own.server.signedIn('master', 'admin')
      const invitations = `/admin/realms/shop/organizations/${id}/invitations`
      const invited = await send('POST', invitations, { email: 'ines@globex.example' }, lies)
      expect(invited.status).toBe(201)
      expect(JSON.stringify([invited.body, invited.headers])).not.toContain(evil)
      await browser.open(await own.mailedLink())
      expect(browser.page?.status).toBe(303)
    },
    'a new address': async () => {
      const user = await own.server.areas.users.store.find('shop', 'anna')
      const anna = await personOf(own, user?.id ?? '')
      const body = { email: 'other@shop.example', firstName: null, lastName: null }
      await anna.api('PUT', '/profile', body, { host: evil, 'x-forwarded-host': evil })
    },
  }

  it.each(Object.keys(ways))(
    'has its links from the configured address alone: %s (CVE-2023-49097, CVE-2025-64101, GHSA-pfrf-9r5f-73f5)',
    async (name) => {
      await own.forgetMail()
      await ways[name]?.()
      await own.lastMail()
      expect(own.mail.mails.length).toBeGreaterThan(0)
      for (const { raw } of own.mail.mails) {
        expect(raw).not.toContain(evil)
        for (const [link] of raw.replaceAll('=\r\n', '').matchAll(/https?:\/\/[^\s<]+/g))
          expect(link.startsWith(`${own.server.baseUrl}/realms/shop/`)).toBe(true)
      }
      expect(browser.page?.body ?? '').not.toContain(evil)
      expect(browser.page?.location ?? '').not.toContain(evil)
    },
  )
})

describe('the registration form', () => {
  it('limits a network: one host may use all addresses of an IPv6 /64', async () => {
    await behindProxy.settings({ registrationAllowed: true })
    behindProxy.clock.advance(3_600_000)
    const from = async (address: string): Promise<number> => {
      const browser = behindProxy.browser()
      const path = `${login}/register`
      await browser.open(path)
      const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
      // Counted, and refused before it costs a hash.
      const fields = { _csrf, username: 'spray', email: 'spray@shop.example', password: 'short' }
      return (await browser.post(path, fields, { 'x-forwarded-for': address })).status
    }
    const statuses: number[] = []
    for (let n = 1; n <= 11; n += 1) statuses.push(await from(`2001:db8:1:2::${n.toString(16)}`))
    expect(statuses).toEqual([...Array(10).fill(400), 429])
    expect(await from('2001:db8:1:3::1')).toBe(400)
  })
})

describe('an address that is claimed', () => {
  let username = ''
  let email = ''
  let count = 0
  beforeEach(async () => {
    count += 1
    username = `mallory-${count}`
    email = `victim-${count}@shop.example`
    await world.forgetMail()
    // An address may register only so often.
    world.clock.advance(600_000)
    await world.setFlow(byPassword)
  })

  /** Registers an account with the address of another person, and is signed in to it. */
  const claim = async (): Promise<SignInBrowser> => {
    const attacker = world.browser()
    await attacker.open(`${login}/register`)
    await attacker.submit({ username, email, password })
    expect(attacker.isSignedIn('shop')).toBe(true)
    return attacker
  }
  const rowOf = async () => {
    const user = await world.server.areas.users.store.find('shop', username)
    if (!user) throw new Error(`no ${username}`)
    return user
  }
  const mails = async (): Promise<number> => {
    await world.settle()
    return world.mail.mails.length
  }
  const begin = async (page: string, name: string) => {
    const browser = world.browser()
    await browser.open(page)
    await browser.submit({ username: name })
    return browser
  }
  const isIn = async (browser: SignInBrowser): Promise<boolean> =>
    (await browser.get('/realms/shop/account/profile', { accept: 'application/json' })).status ===
    200
  const addPasskey = async () => {
    const {
      storage,
      given: { clock },
    } = world.server.areas
    const row = newPasskey(world.server.baseUrl).credentialOf(await rowOf(), clock.now())
    await storage.commit(insertRows(storage.db, 'credentials', [row]))
  }

  it('is of who reads its mail: nothing that was there before a reset lets anybody in (pre-hijack)', async () => {
    const attacker = await claim()
    expect(await isIn(attacker)).toBe(true)
    const victim = await begin(`${login}/forgot`, email)
    const link = await world.mailedLink()
    await victim.open(link)
    await victim.submit({ token: tokenIn(link) })
    await addPasskey()
    await victim.submit({ password: fresh, passwordConfirm: fresh })
    expect(await isIn(attacker)).toBe(false)
    const left = await world.must('GET', `/users/${(await rowOf()).id}/credentials`)
    expect(left.map(({ type }: { type: string }) => type)).toEqual(['password'])
    const again = world.browser()
    await again.signIn('shop', username, password)
    expect(again.isSignedIn('shop')).toBe(false)
    const owner = world.browser()
    await owner.signIn('shop', email, fresh)
    expect(owner.isSignedIn('shop')).toBe(true)
  })

  it('resets nothing while a passkey of who claimed it would go on to let them in (pre-hijack)', async () => {
    await claim()
    const victim = await begin(`${login}/forgot`, email)
    const link = await world.mailedLink()
    await addPasskey()
    await victim.open(link)
    await victim.submit({ token: tokenIn(link) })
    expect(victim.page?.body).not.toContain('passwordConfirm')
    await world.forgetMail()
    await begin(`${login}/forgot`, email)
    expect(await mails()).toBe(0)
  })

  /** Another user registers with the claimed address. */
  const registerBeside = async (): Promise<SignInBrowser> => {
    const browser = world.browser()
    await browser.open(`${login}/register`)
    await browser.submit({ username: `owner-${count}`, email, password: fresh })
    return browser
  }
  const addressesOf = async (): Promise<(string | null | undefined)[]> => {
    const {
      users: { store: users },
    } = world.server.areas
    const [claimant, owner] = [await rowOf(), await users.find('shop', `owner-${count}`)]
    return [claimant.email, owner?.email]
  }

  it('is taken by who reads its mail and registers, where no reset would help, and the account stays what it was', async () => {
    const attacker = await claim()
    await addPasskey()
    const owner = await registerBeside()
    expect([owner.isSignedIn('shop'), await addressesOf()]).toEqual([false, [email, null]])
    const code = await world.mailedCode()
    await owner.submit({ code: code === '000000' ? '000001' : '000000' })
    expect([owner.isSignedIn('shop'), await addressesOf()]).toEqual([false, [email, null]])
    await owner.submit({ code })
    expect([owner.isSignedIn('shop'), await addressesOf()]).toEqual([true, [null, email]])
    expect(await world.server.areas.users.store.find('shop', `owner-${count}`)).toMatchObject({
      email_verified: 1,
      attributes: '{}',
      required_actions: '[]',
    })
    expect(await isIn(attacker)).toBe(true)
    const { items } = await world.must('GET', '/events?type=UPDATE_EMAIL')
    expect(items[0]).toMatchObject({ resourceId: (await rowOf()).id, outcome: 'SUCCESS' })
    const again = world.browser()
    await again.signIn('shop', email, fresh)
    expect(again.isSignedIn('shop')).toBe(true)
  })

  it('makes no account wait for a code that the realm does not send', async () => {
    await claim()
    await addPasskey()
    const template = (enabled: boolean) =>
      world.must('PUT', '/messaging/templates', {
        templateKey: 'verify-email',
        channel: 'EMAIL',
        locale: 'en',
        subject: 'Hi',
        body: '{{code}}',
        enabled,
      })
    await template(false)
    const owner = await registerBeside()
    expect(owner.page?.status).toBe(400)
    expect(await addressesOf()).toEqual([email, undefined])
    await template(true)
  })

  it('stays where it is for who cannot read its mail, and shuts nobody out once somebody else has shown it', async () => {
    await claim()
    await addPasskey()
    await registerBeside()
    const again = world.browser()
    await again.signIn('shop', `owner-${count}`, fresh)
    expect([again.isSignedIn('shop'), await addressesOf()]).toEqual([false, [email, null]])
    const { id } = await rowOf()
    const shown = await world.must('GET', `/users/${id}`)
    await world.must('PUT', `/users/${id}`, { ...shown, emailVerified: true })
    const later = world.browser()
    await later.signIn('shop', `owner-${count}`, fresh)
    expect([later.isSignedIn('shop'), await addressesOf()]).toEqual([true, [email, null]])
  })

  it('is no name of who claimed it either, and is taken where the realm resets no passwords', async () => {
    username = email
    await claim()
    const { id } = await rowOf()
    // A new password gives the owner the account: the address is not to be had beside it.
    const refused = await registerBeside()
    expect([refused.page?.status, refused.isSignedIn('shop')]).toEqual([400, false])
    await world.settings({ resetPasswordAllowed: false })
    const owner = await registerBeside()
    await owner.submit({ code: await world.mailedCode() })
    await world.settings({ resetPasswordAllowed: true })
    expect(owner.isSignedIn('shop')).toBe(true)
    const claimant = await world.must('GET', `/users/${id}`)
    expect(claimant).toMatchObject({ email: null, username: `unnamed-${id.slice(-12)}` })
  })

  it('is of who was invited by it, and registers', async () => {
    await claim()
    await addPasskey()
    const { id } = await world.must('POST', '/organizations', { alias: `guild-${count}` })
    await world.must('POST', `/organizations/${id}/invitations`, { email })
    const owner = world.browser()
    await owner.open(await world.mailedLink())
    await owner.open(`${login}/register?authorization=invitation`)
    await owner.submit({ username: `owner-${count}`, password: fresh })
    expect([owner.isSignedIn('shop'), await addressesOf()]).toEqual([true, [null, email]])
  })

  it.each([
    ['link', byLink],
    ['code', byCode],
  ])('signs nobody in by %s beside who claimed it (GHSA-g38m-r43w-p2q7)', async (_name, flow) => {
    await claim()
    await world.setFlow(flow)
    const victim = await begin(login, email)
    const nobody = await begin(login, `nobody-${count}@shop.example`)
    expect(await mails()).toBe(0)
    const shape = ({ page }: SignInBrowser) =>
      page?.body
        .replaceAll(/[\w-]{43,}/g, '')
        .replaceAll(/[nv]…/g, '')
        .replaceAll(/(nobody|victim)-\d+@shop.example/g, '')
    expect(shape(victim)).toBe(shape(nobody))
    const verified = {
      ...(await world.must('GET', `/users/${(await rowOf()).id}`)),
      emailVerified: true,
    }
    await world.must('PUT', `/users/${(await rowOf()).id}`, verified)
    await begin(login, email)
    expect(await mails()).toBe(1)
  })

  it('opens an account that nothing else opens, is verified by it, and ends other sessions', async () => {
    const { userId } = await world.must('POST', '/users', { username, email })
    const other = await personOf(world, userId)
    await world.setFlow(byLink)
    const owner = await begin(login, email)
    const link = await world.mailedLink()
    await owner.open(link)
    await owner.submit({ token: tokenIn(link) })
    expect(owner.isSignedIn('shop')).toBe(true)
    expect((await rowOf()).email_verified).toBe(1)
    expect((await other.api('GET', '/profile')).status).toBe(401)
  })

  it.each([
    ['link', byLink],
    ['code', byCode],
  ])('proves nothing any more by a %s once the user has another address', async (_name, flow) => {
    const userId = await world.addUser(username, { email, emailVerified: true })
    await world.setFlow(flow)
    const browser = await begin(login, email)
    const [link, code] = [await world.mailedLink(), await world.mailedCode()]
    const user = await personOf(world, userId)
    const profile = { email: `moved-${count}@shop.example`, firstName: null, lastName: null }
    expect((await user.api('PUT', '/profile', profile)).status).toBe(200)
    await browser.open(flow === byLink ? link : browser.path)
    await browser.submit(flow === byLink ? { token: tokenIn(link) } : { code })
    expect(browser.isSignedIn('shop')).toBe(false)
    expect((await rowOf()).email_verified).toBe(0)
  })
})

describe('a name that looks like another', () => {
  let count = 0
  beforeAll(async () => {
    await world.setFlow(byPassword)
    await world.addUser('victim')
  })

  /** Every request that sets an address: whether it was accepted, and the stored value. */
  const doors: Record<string, (email: string) => Promise<string | undefined>> = {
    registration: async (email) => {
      const browser = world.browser()
      // An address may register only so often.
      world.clock.advance(60_000)
      await browser.open(`${login}/register`)
      const answer = await browser.submit({ username: `reg-${count}`, email, password: fresh })
      return answer.status < 400 ? stored(`reg-${count}`) : undefined
    },
    profile: async (email) => {
      const { userId } = await world.must('POST', '/users', { username: `pro-${count}` })
      const person = await personOf(world, userId)
      const answer = await person.api('PUT', '/profile', { email, firstName: null, lastName: null })
      return answer.status < 400 ? stored(`pro-${count}`) : undefined
    },
    'the form of a required action': async (email) => {
      const name = `act-${count}`
      await world.addUser(name, { email: null, requiredActions: ['UPDATE_PROFILE'] })
      const browser = world.browser()
      await browser.open(login)
      await browser.submit({ username: name, password })
      await browser.submit({ email })
      return (await stored(name)) ?? undefined
    },
    'an administrator': async (email) => {
      const admin = await world.server.signedIn('master', 'admin')
      const body = { username: `adm-${count}`, email }
      const answer = await admin.send('POST', '/admin/realms/shop/users', body)
      return answer.status < 400 ? stored(`adm-${count}`) : undefined
    },
    'an import': async (email) => {
      const admin = await world.server.signedIn('master', 'admin')
      const body = { ifResourceExists: 'FAIL', users: [{ username: `imp-${count}`, email }] }
      const answer = await admin.send('POST', '/admin/realms/shop/users/import', body)
      return answer.status < 400 ? stored(`imp-${count}`) : undefined
    },
  }
  const registered = async (username: string): Promise<number> => {
    const browser = world.browser()
    world.clock.advance(60_000)
    await browser.open(`${login}/register`)
    const email = `name-${count}@shop.example`
    return (await browser.submit({ username, email, password: fresh })).status
  }
  const sentBy =
    (path: string, bodyOf: (username: string) => object) =>
    async (username: string): Promise<number> => {
      const admin = await world.server.signedIn('master', 'admin')
      return (await admin.send('POST', `/admin/realms/shop${path}`, bodyOf(username))).status
    }
  const byName: Record<string, (username: string) => Promise<number>> = {
    registration: registered,
    'an administrator': sentBy('/users', (username) => ({ username })),
    'an import': sentBy('/users/import', (username) => ({
      ifResourceExists: 'FAIL',
      users: [{ username }],
    })),
  }

  it.each(Object.keys(byName))(
    'as a username is judged in the spelling that it is stored in: %s',
    async (door) => {
      for (const wrong of [
        // Equal to the address of another person after normalisation.
        'ｖｉｃｔｉｍ',
        'V\uff49CTIM',
        'victim\u3000',
        // A space, an id and too many letters, once they are.
        'victim\u00a8',
        '０197a1b2-0000-7000-8000-000000000000',
        '\ufb03'.repeat(86),
        // Invisible characters.
        'vic\u200btim',
        'victim\u2060',
        '\u202evictim',
      ]) {
        count += 1
        const status = (await byName[door]?.(wrong)) ?? 0
        expect([400, 409], JSON.stringify(wrong)).toContain(status)
      }
    },
  )

  const stored = async (name: string): Promise<string | undefined> =>
    (await world.server.areas.users.store.find('shop', name))?.email ?? undefined

  it.each(Object.keys(doors))(
    'as an address is judged in the spelling that it is stored in: %s (GHSA-7rqj-j65f-68wh)',
    async (name) => {
      const door = doors[name]
      count += 1
      expect(await door?.(`ok-${name.length}\uff20shop.example`)).toBe(
        `ok-${name.length}@shop.example`,
      )
      for (const wrong of [
        // Equal to the address of another person after normalisation.
        'victim\uff20shop.example',
        'ＶＩＣＴＩＭ\ufe6bshop\uff0eexample',
        // Two "@", one of which is none yet.
        'victim@shop.example\uff20evil.example',
        '"a@shop.example"\ufe6bevil.example',
        // Letters of another alphabet, and invisible characters.
        'vi\u0441tim@shop.example',
        'victim@sh\u043ep.example',
        'vic\u200btim@shop.example',
        'victim@shop.example\u0000',
        'victim@shop.example\r\nbcc: x@evil.example',
        'victim@shop.example, x@evil.example',
      ]) {
        count += 1
        expect(await door?.(wrong), JSON.stringify(wrong)).toBe(undefined)
      }
    },
  )
})
