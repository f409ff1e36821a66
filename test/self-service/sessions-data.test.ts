/** Users manage their own sessions, consents and data, and delete their account. */

import { describe, expect, it } from 'vitest'
import { withNewcomers } from '../sign-in/newcomers.ts'
import { password, type World } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { dumpDatabase } from '../support/database/database-dump.ts'
import { manage, type Person, personOf, strong } from './person.ts'

const quarter = 15 * 60_000
const account = (path: string) => `/realms/shop/account${path}`

describe.each(backends)('sessions and data of an account on $name', (backend) => {
  let world: World
  let ann: Person
  let bob: Person
  let username = ''
  let count = 0
  withNewcomers(backend, 'wilhelmina', async (...arrived) => {
    ;[world, username, count] = arrived
    ann = await personOf(world, await world.addUser(username, { firstName: 'Einzigartig' }))
    bob = await personOf(world, await world.addUser(`bob-${count}`))
  })

  interface Listed {
    readonly id: string
    readonly current: boolean
    readonly impersonated: boolean
  }
  const sessionsOf = async (who: Person): Promise<Listed[]> =>
    (await who.api('GET', '/sessions')).body
  const newest = async (type: string) => (await world.must('GET', `/events?type=${type}`)).items[0]
  const isThere = async (): Promise<boolean> =>
    (await world.server.areas.users.store.find('shop', ann.userId)) !== undefined

  it('are listed with the one that asks, and an administrator who acts as the user is seen', async () => {
    await personOf(world, ann.userId, { impersonator: world.server.admin.userId })
    const all = await sessionsOf(ann)
    expect(all.map(({ current }) => current).sort()).toEqual([false, true])
    expect(all.map(({ impersonated }) => impersonated).sort()).toEqual([false, true])
    const [first] = (await ann.api('GET', '/sessions')).body
    expect(Object.keys(first).sort()).toEqual(
      ['id', 'ipAddress', 'userAgent', 'start', 'lastAccess', 'rememberMe']
        .concat('clients', 'current', 'impersonated', 'impersonator')
        .sort(),
    )
  })

  it('are ended one by one or all others at once, and nobody else’s are', async () => {
    const other = await personOf(world, ann.userId)
    const third = await personOf(world, ann.userId)
    const of = async (who: Person) => (await sessionsOf(who)).find(({ current }) => current)?.id
    const [theirs, others] = [await of(bob), await of(other)]
    expect((await ann.api('DELETE', `/sessions/${theirs}`)).status).toBe(404)
    expect(
      (await ann.api('DELETE', `/sessions/${others}`, undefined, { 'x-xsrf-token': '' })).status,
    ).toBe(403)
    expect((await ann.api('DELETE', `/sessions/${others}`)).status).toBe(204)
    expect((await other.api('GET', '/profile')).status).toBe(401)
    expect((await ann.api('DELETE', `/sessions/${others}`)).status).toBe(404)
    expect((await ann.api('DELETE', '/sessions')).status).toBe(204)
    expect((await third.api('GET', '/profile')).status).toBe(401)
    expect((await ann.api('GET', '/profile')).status).toBe(200)
    expect((await bob.api('GET', '/profile')).status).toBe(200)
    expect(await newest('LOGOUT')).toMatchObject({ actor: ann.userId, detail: 'other-sessions' })
  })

  it('are shown and ended on a page', async () => {
    const other = await personOf(world, ann.userId)
    const page = await ann.browser.open(account('/sessions'))
    expect(page.body).toContain('Firefox, Linux')
    const id = (await sessionsOf(ann)).find(({ current }) => !current)?.id ?? ''
    await ann.browser.submit({ end: id })
    expect(ann.browser.path).toBe(account('/sessions?notice=ended'))
    expect((await other.api('GET', '/profile')).status).toBe(401)
    const third = await personOf(world, ann.userId)
    await ann.browser.open(account('/sessions'))
    await ann.browser.submit({ others: 'true' })
    expect((await third.api('GET', '/profile')).status).toBe(401)
  })

  it('name what was allowed to applications, and take it back on a page', async () => {
    const client = await world.must('POST', '/clients', { clientId: `maps-${count}`, name: 'Maps' })
    const { areas } = world.server
    const { consents } = areas.oidc
    await areas.storage.commit(await consents.grant('shop', ann.userId, client.id, ['openid']))
    const page = await ann.browser.open(account('/applications'))
    expect(page.body).toContain('Maps')
    await ann.browser.submit({ revoke: `maps-${count}` })
    expect(ann.browser.path).toBe(account('/applications?notice=removed'))
    expect(await consents.list('shop', ann.userId)).toEqual([])
    expect((await ann.browser.open(account('/identities'))).status).toBe(200)
    expect((await ann.api('GET', '/linked-identities')).body).toEqual([])
  })

  it('are exported as a file, and that is in the audit trail', async () => {
    const { status, body, headers } = await ann.api('GET', '/gdpr/export')
    expect([status, headers['content-disposition']]).toEqual([
      200,
      'attachment; filename="my-data.json"',
    ])
    expect(body).toMatchObject({ schema: 'iamctl.gdpr.export/v1', userId: ann.userId })
    expect(body.profile.username).toBe(username)
    expect(await newest('DATA_EXPORT')).toMatchObject({ actor: ann.userId, resourceId: ann.userId })
    expect((await ann.browser.open(account('/data'))).body).toContain(account('/gdpr/export'))
  })

  it('are erased by the password, with every trace', async () => {
    const wrong = await ann.api('DELETE', '/gdpr', { password: 'x' })
    expect([wrong.status, wrong.body.errors[0].field]).toEqual([400, '/password'])
    expect((await ann.api('DELETE', '/gdpr', { password }, { 'x-xsrf-token': '' })).status).toBe(
      403,
    )
    expect(await dumpDatabase(world.server.areas.storage)).toContain(username)
    expect((await ann.api('DELETE', '/gdpr', { password })).status).toBe(204)
    const dump = await dumpDatabase(world.server.areas.storage)
    expect(dump).not.toContain(`"${username}`)
    expect((await ann.api('GET', '/profile')).status).toBe(401)
    expect(await newest('USER_ERASED')).toMatchObject({ resourceId: ann.userId })
    expect((await bob.api('GET', '/profile')).status).toBe(200)
  })

  it('are erased by a recent sign-in, not by one of long ago, a weak one, or somebody who acts as the user', async () => {
    const acting = await personOf(world, ann.userId, {
      impersonator: world.server.admin.userId,
      acr: '2',
    })
    for (const body of [{}, { password }])
      expect((await acting.api('DELETE', '/gdpr', body)).status).toBe(403)
    world.clock.advance(quarter + 1000)
    expect((await ann.api('DELETE', '/gdpr', {})).status).toBe(400)
    await world.addTotp(ann.userId)
    const weak = await personOf(world, ann.userId)
    for (const body of [{}, { password }])
      expect((await weak.api('DELETE', '/gdpr', body)).body.code).toBe('step-up')
    expect(await isThere()).toBe(true)
    const better = await personOf(world, ann.userId, strong)
    expect((await better.api('DELETE', '/gdpr', {})).status).toBe(204)
    expect(await isThere()).toBe(false)
  })

  it('are erased by an administrator where a file declares the user, who can ask for it and take it back', async () => {
    await manage(world, bob.userId)
    const ask = (body: object, who = bob) => who.api('POST', '/gdpr/erasure-request', body)
    const waiting = async () =>
      (await world.must('GET', '/gdpr/erasure-requests')).filter(
        ({ userId }: { userId: string }) => userId === bob.userId,
      )
    expect((await bob.api('DELETE', '/gdpr', { password })).body.code).toBe('owned')
    expect((await ask({ password: 'x' })).status).toBe(400)
    const acting = await personOf(world, bob.userId, {
      impersonator: world.server.admin.userId,
      acr: '2',
    })
    expect((await ask({ password }, acting)).status).toBe(403)
    expect(await waiting()).toEqual([])

    const asked = await ask({ password })
    expect([asked.status, asked.body.status]).toEqual([200, 'REQUESTED'])
    expect((await ask({})).body.requestedAt).toBe(asked.body.requestedAt)
    const { requestedAt } = asked.body
    expect(await waiting()).toEqual([{ userId: bob.userId, username: `bob-${count}`, requestedAt }])
    expect(await newest('ERASURE_REQUESTED')).toMatchObject({ actor: bob.userId, detail: null })
    expect((await bob.api('GET', '/profile')).status).toBe(200)

    expect((await bob.api('DELETE', '/gdpr/erasure-request')).status).toBe(204)
    expect(await waiting()).toEqual([])
    await bob.browser.open(account('/data/delete'))
    await bob.browser.submit({ username: `bob-${count}`, password })
    expect(bob.browser.path).toBe(account('/data'))
    expect(bob.browser.page?.body).toContain('You requested this on')
    expect((await waiting()).length).toBe(1)

    expect((await ask({ password }, ann)).body).toEqual({ status: 'ERASED' })
    expect(await isThere()).toBe(false)
  })

  it('are kept where the user is the last who administers everything', async () => {
    const { server } = world
    const admin = await server.signedIn('master', 'admin')
    const { userId } = admin
    const [own, users] = ['/realms/master/account/gdpr', `/admin/realms/master/users/${userId}`]
    const { body: record } = await admin.send('GET', users)
    const ways = () =>
      Promise.all([
        admin.send('DELETE', own, {}),
        admin.send('POST', `${own}/erasure-request`, {}),
        admin.send('DELETE', users),
        admin.send('DELETE', `${users}/gdpr`),
        admin.send('PUT', users, { ...record, enabled: false }),
        admin.send('PUT', users, { ...record, locked: true }),
      ])
    for (const { status, body } of await ways())
      expect([status, body.code]).toEqual([409, 'conflict'])
    const off = await server.userWith('master', ['realm-admin'])
    const second = `/admin/realms/master/users/${off.userId}`
    const { body: other } = await admin.send('GET', second)
    // One who cannot sign in does not count.
    expect((await admin.send('PUT', second, { ...other, enabled: false })).status).toBe(200)
    expect((await admin.send('DELETE', own, {})).status).toBe(409)
    expect((await admin.send('PUT', second, other)).status).toBe(200)
    const [third, fourth] = await Promise.all(
      [1, 2].map(() => server.userWith('master', ['realm-admin'])),
    )
    expect((await third?.send('DELETE', own, {}))?.status).toBe(204)
    expect((await fourth?.send('POST', `${own}/erasure-request`, {}))?.status).toBe(200)
    expect((await admin.send('DELETE', second)).status).toBe(204)
  })

  it('are erased on a page that has the name typed', async () => {
    const wrongName = { username: 'x', password }
    await ann.browser.open(account('/data/delete'))
    expect((await ann.browser.submit(wrongName)).status).toBe(400)
    expect((await ann.browser.submit({ username, password: 'x' })).status).toBe(400)
    const gone = await ann.browser.submit({ username, password })
    expect([gone.status, await isThere()]).toEqual([200, false])
    expect(ann.browser.cookies.has('iam-session-shop')).toBe(false)
  })
})
