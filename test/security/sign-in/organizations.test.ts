/**
 * Advisories about invitations of comparable products that were forged, or used by others, late or twice (CVE-2026-16072,
 * CVE-2026-1529, GHSA-fmh4-wcc4-5jm3, CVE-2025-64708, CVE-2022-23555), as attacks on a running server.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statement } from '#server/storage/statements.ts'
import {
  follow,
  nextOf,
  type OrganizationWorld,
  openOrganizationWorld,
} from '../../sign-in/organizations/organization-world.ts'
import { password } from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'

const [backend] = backends
if (!backend) throw new Error('there is no database to test on')

describe('an invitation under attack', () => {
  const realm = 'shop'
  let world: OrganizationWorld

  beforeAll(async () => {
    world = await openOrganizationWorld(backend)
    await world.server.createRealm('other')
  })
  afterAll(() => world.close())

  it('is a link of the configured address that is kept nowhere', async () => {
    const { link, made, text } = await world.invite('first@new.example')
    const token = link.slice(-43)
    expect(link).toBe(`${world.server.baseUrl}/realms/shop/invitation?token=${token}`)
    expect(text).toContain('Hello first@new.example')
    const { db } = world.server.areas.storage
    const kept = await Promise.all([
      db.selectFrom('invitations').selectAll().execute(),
      db.selectFrom('jobs').selectAll().execute(),
      db.selectFrom('audit_events').selectAll().execute(),
      world.must('GET', `/organizations/${world.acme}/invitations`),
    ])
    expect(kept[3]).toContainEqual(made)
    expect(JSON.stringify([made, kept])).not.toContain(token)
    // An invited person without an account could not be erased from the trail later.
    expect(JSON.stringify(kept[2])).not.toContain('first@new')
  })

  it('is refused to an account of another address, whoever has the link', async () => {
    const userId = await world.addUser('paul')
    const { path } = await world.invite('quinn@new.example')
    const browser = world.browser()
    await world.signIn(browser, 'paul')
    const shown = await follow(browser, path)
    expect(shown.status).toBe(403)
    expect(shown.body).toContain('q…@new.example')
    expect(shown.body).not.toContain('quinn')
    expect(shown.body).not.toContain('name="decision"')
    const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
    expect((await browser.post(world.page, { _csrf, decision: 'accept' })).status).toBe(403)
    expect(await world.membersOf()).not.toContain('paul')
    expect(await world.joins(userId)).toMatchObject([
      { outcome: 'FAILURE', resourceId: world.acme },
    ])
    // It stays valid for the invited address.
    await browser.open(nextOf(browser))
    await browser.submit({ username: 'quinn', password })
    expect(await world.membersOf()).toContain('quinn')
  })

  it.each([
    ['forged', 410, async () => `${world.page}?token=${'A'.repeat(43)}`],
    ['no token at all', 410, async () => `${world.page}?token=%00'x`],
    [
      'expired',
      410,
      async () => {
        const { path } = await world.invite('late@new.example', world.acme, { expiration: 60 })
        world.clock.advance(61_000)
        return path
      },
    ],
    [
      'revoked',
      410,
      async () => {
        const { id, path } = await world.invite('gone@new.example')
        await world.must('DELETE', `/organizations/${world.acme}/invitations/${id}`)
        return path
      },
    ],
    [
      'replaced by a later one',
      410,
      async () => {
        const { path } = await world.invite('twice@new.example')
        await world.invite('TWICE@new.example')
        return path
      },
    ],
    [
      'of an organization that was disabled since',
      403,
      async () => {
        const id = await world.addOrganization('off')
        const { path } = await world.invite('off@new.example', id)
        await world.must('PUT', `/organizations/${id}`, { alias: 'off', enabled: false })
        expect(await world.inviteStatus({ email: 'another@new.example' }, id)).toBe(409)
        return path
      },
    ],
    [
      'of an organization that was deleted since',
      410,
      async () => {
        const id = await world.addOrganization('lost')
        const { path } = await world.invite('lost@new.example', id)
        await world.must('DELETE', `/organizations/${id}`)
        return path
      },
    ],
    [
      'of another realm',
      410,
      async () => (await world.invite('other@new.example')).path.replace(realm, 'other'),
    ],
  ] as const)('that is %s opens nothing', async (_what, status, pathOf) => {
    const path = await pathOf()
    const browser = world.browser()
    expect((await follow(browser, path)).status).toBe(status)
    const base = path.replace(/\/invitation.*/, '')
    const register = await browser.open(`${base}/login/register?authorization=invitation`)
    expect(register.status).toBe(404)
  })

  it('that ends while its owner registers makes no account', async () => {
    const { id, path } = await world.invite('rosa@new.example')
    const browser = world.browser()
    await follow(browser, path)
    await browser.open(nextOf(browser))
    await world.must('DELETE', `/organizations/${world.acme}/invitations/${id}`)
    expect((await browser.submit({ username: 'rosa', password })).status).toBe(404)
    expect(await world.server.areas.users.store.find(realm, 'rosa')).toBeUndefined()
  })

  it('needs the form of the session, and nobody accepts for a user whom they act as', async () => {
    const userId = await world.addUser('tess')
    const { path } = await world.invite('tess@shop.example')
    const browser = world.browser()
    await world.signIn(browser, 'tess')
    expect((await follow(browser, path)).status).toBe(200)
    expect((await browser.post(world.page, { decision: 'accept' })).status).toBe(403)
    const { storage } = world.server.areas
    const change = storage.db
      .updateTable('sessions')
      .set({ impersonator: world.server.admin.userId })
    await storage.append([statement(change.where('user_id', '=', userId))])
    expect((await browser.open(world.page)).status).toBe(403)
    const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
    expect((await browser.post(world.page, { _csrf, decision: 'accept' })).status).toBe(403)
    expect(await world.membersOf()).not.toContain('tess')
  })

  it('is one of its organization alone, and made by who may manage organizations', async () => {
    const { id } = await world.invite('sure@new.example')
    const bolt = await world.addOrganization('bolt')
    const path = (organization: string) =>
      `/admin/realms/shop/organizations/${organization}/invitations`
    const manager = await world.server.userWith(realm, ['manage-organizations'])
    const viewer = await world.server.userWith(realm, ['view-users'])
    expect((await manager.send('DELETE', `${path(bolt)}/${id}`)).status).toBe(404)
    expect((await viewer.send('GET', path(world.acme))).status).toBe(403)
    expect((await viewer.send('POST', path(world.acme), { email: 'a@b.example' })).status).toBe(403)
    expect((await manager.send('POST', path(world.acme), { email: 'a@b.example' })).status).toBe(
      201,
    )
    expect((await manager.send('DELETE', `${path(world.acme)}/${id}`)).status).toBe(204)
    for (const email of ['nobody', 'a@b@c', '', `${'a'.repeat(400)}@b.example`])
      expect(await world.inviteStatus({ email })).toBe(400)
  })

  it('is not made for who could not accept it, nor where no mail can be sent', async () => {
    const { admin } = world.server
    const base = '/admin/realms/other'
    const { body: made } = await admin.send('POST', `${base}/organizations`, { alias: 'x' })
    const answer = await admin.send('POST', `${base}/organizations/${made.id}/invitations`, {
      email: 'a@b.example',
    })
    expect(answer).toMatchObject({ status: 409, body: { detail: expect.stringMatching(/EMAIL/) } })
    const { storage } = world.server.areas
    const userId = await world.addUser('mia')
    const change = storage.db.updateTable('users').set({ managed: 1 })
    await storage.append([statement(change.where('id', '=', userId))])
    expect(await world.inviteStatus({ email: 'mia@shop.example' })).toBe(409)
  })
})
