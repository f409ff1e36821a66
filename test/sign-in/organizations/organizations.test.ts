/** Membership of organizations: by invitation and by mail domain, over HTTP with real mail. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressLane, messageQueue } from '#server/users/messages/post.ts'
import { backends } from '../../support/backends.ts'
import { dumpDatabase } from '../../support/database/database-dump.ts'
import { password } from '../world.ts'
import {
  follow,
  nextOf,
  type OrganizationWorld,
  openOrganizationWorld,
} from './organization-world.ts'

describe.each(backends)('membership on $name', (backend) => {
  const realm = 'shop'
  let world: OrganizationWorld

  beforeAll(async () => {
    world = await openOrganizationWorld(backend)
  })
  afterAll(() => world.close())

  const userNamed = (username: string) => world.server.areas.users.store.find(realm, username)

  it('by invitation comes with registering, where nobody else may register', async () => {
    const { path } = await world.invite('Nina@new.example')
    const register = `/realms/${realm}/login/register`
    const browser = world.browser()
    expect((await world.browser().open(register)).status).toBe(404)
    const shown = await follow(browser, path)
    expect(shown.body).toContain('The acme company')
    expect(browser.path).toBe(world.page)
    const form = await browser.open(nextOf(browser))
    expect(form.body).toContain('value="Nina@new.example"')
    // The address is the invited one, also if the form has another.
    const done = await browser.submit({ username: 'nina', password, email: 'boss@acme.example' })
    expect(nextOf(browser)).toBe('https://acme.example/welcome')
    expect(done.body).toContain('Welcome to The acme company')
    expect(await world.membersOf()).toEqual(['nina'])
    const nina = await userNamed('nina')
    expect(nina).toMatchObject({ email: 'Nina@new.example', email_verified: 1 })
    expect(await world.joins(nina?.id ?? '')).toMatchObject([
      { detail: 'invitation', outcome: 'SUCCESS', resourceId: world.acme },
    ])
    const again = world.browser()
    expect((await follow(again, path)).status).toBe(410)
    expect((await again.open(`${register}?authorization=invitation`)).status).toBe(404)
  })

  it('by invitation comes with the account of the address, which is verified by it', async () => {
    await world.addUser('olga', { emailVerified: false, requiredActions: ['VERIFY_EMAIL'] })
    await world.must('PUT', `/users/${(await userNamed('olga'))?.id}/required-actions`, [])
    const { path, id } = await world.invite('OLGA@shop.example')
    const browser = world.browser()
    await follow(browser, path)
    await browser.open(nextOf(browser))
    const asked = await browser.submit({ username: 'olga', password })
    expect(asked.body).toContain('value="accept"')
    expect(await world.membersOf()).not.toContain('olga')
    const done = await browser.submit({ decision: 'accept' })
    expect(done.body).toContain('Welcome to The acme company')
    expect(await world.membersOf()).toContain('olga')
    expect((await userNamed('olga'))?.email_verified).toBe(1)
    const open = await world.must('GET', `/organizations/${world.acme}/invitations`)
    expect(open.map((one: { id: string }) => one.id)).not.toContain(id)
    expect(await world.inviteStatus({ email: 'olga@shop.example' })).toBe(409)
  })

  it('by invitation comes once, however often it is accepted at the same moment', async () => {
    const userId = await world.addUser('sven')
    const { path } = await world.invite('sven@shop.example')
    const browser = world.browser()
    await world.signIn(browser, 'sven')
    await follow(browser, path)
    const form = { _csrf: browser.cookies.get('XSRF-TOKEN') ?? '', decision: 'accept' }
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => browser.post(world.page, form)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(303))
    expect(await world.joins(userId)).toMatchObject([{ outcome: 'SUCCESS' }])
    expect((await world.membersOf()).filter((name) => name === 'sven')).toHaveLength(1)
  })

  it('by mail domain comes with signing in, also as the address is verified on the way', async () => {
    const globex = await world.addOrganization('globex', {
      domains: [{ name: 'Globex.example', verified: true }],
    })
    const email = 'jo@globex.example'
    const userId = await world.addUser('jo', { email, requiredActions: ['VERIFY_EMAIL'] })
    await world.addUser('kit', { email: 'kit@globex.example', emailVerified: false })
    const browser = world.browser()
    await world.forgetMail()
    await world.signIn(browser, 'jo')
    expect(await world.membersOf(globex)).toEqual([])
    await world.settle()
    const mail = world.mail.mails.at(-1)?.raw.split('\r\n\r\n').slice(1).join() ?? ''
    await browser.submit({ code: /\b\d{6}\b/.exec(mail)?.[0] ?? '' })
    await world.signIn(world.browser(), 'kit')
    expect(await world.membersOf(globex)).toEqual(['jo'])
    await world.signIn(world.browser(), 'jo')
    expect(await world.joins(userId)).toMatchObject([{ detail: 'domain', resourceId: globex }])
  })

  it('that is offered is part of what is held about a person, and is erased with them', async () => {
    const {
      users: { invitations },
      jobs,
      storage,
    } = world.server.areas
    const lane = () =>
      storage.db.selectFrom('jobs').select('id').where('target', '=', messageLane).execute()
    const messageLane = addressLane(realm, 'uma@shop.example')
    const userId = await world.addUser('uma', { emailVerified: true })
    const { id, text } = await world.invite('uma@shop.example')
    expect(text).toContain('Hello uma,')
    // A message that still waits, to the address alone.
    const waiting = { realm, target: messageLane, payload: {}, at: 4e12 }
    await storage.commit(jobs.enqueueStatements(messageQueue, [waiting]))
    expect(await lane()).toHaveLength(1)
    const held = await world.must('GET', `/users/${userId}/gdpr/export`)
    expect(held.organizations).toMatchObject([{ alias: 'acme', invitedAt: expect.any(Number) }])
    await world.must('DELETE', `/users/${userId}/gdpr`)
    expect(await invitations.findById(realm, id)).toBeUndefined()
    expect(await lane()).toEqual([])
    expect(await dumpDatabase(storage)).not.toContain('uma@')
  })
})
