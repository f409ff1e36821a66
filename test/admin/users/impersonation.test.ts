/** Impersonation: events of the session name the administrator as actor, on behalf of the user. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statement } from '#server/storage/statements.ts'
import { eventsSettled } from '../../audit/settled.ts'
import { backends } from '../../support/backends.ts'
import { type Answer, send, startServer, type TestServer } from '../../support/server.ts'

describe.each(backends)(
  'a session in which an administrator acts as a user on $name',
  (backend) => {
    let server: TestServer
    let base = ''
    let adminId = ''
    let ann = ''
    let cookie = ''
    let csrf = ''
    beforeAll(async () => {
      server = await startServer(backend)
      base = await server.createRealm('shop')
      const admin = await server.signedIn('master', 'admin')
      ann = (await admin.send('POST', `${base}/users`, { username: 'ann' })).body.userId
      await admin.send('POST', `${base}/users/${ann}/roles`, { name: 'admin' })
      adminId = (await server.areas.users.store.find('master', 'admin'))?.id ?? ''
      const started = await admin.send('POST', `${base}/users/${ann}/impersonate`, {})
      expect(started.status).toBe(200)
      cookie = String(started.headers['set-cookie']).split(';')[0] ?? ''
      const read = await send(server.app, 'GET', `${base}/roles`, undefined, { cookie })
      csrf = /XSRF-TOKEN=([^;]+)/.exec(String(read.headers['set-cookie']))?.[1] ?? ''
    })
    afterAll(() => server.close())

    const acting = (method: string, path: string, body?: unknown): Promise<Answer> =>
      send(server.app, method, path, body, { cookie, 'x-xsrf-token': csrf })
    const lastEvent = async (type: string) => {
      const { send: ask } = await server.signedIn('master', 'admin')
      return (await ask('GET', `${base}/events?type=${type}`)).body.items[0]
    }
    const byAdmin = () => ({ actor: adminId, onBehalfOf: ann })

    it('names the administrator as the actor of what it writes, and the user on whose behalf', async () => {
      expect((await acting('POST', `${base}/roles`, { name: 'clerk' })).status).toBe(201)
      expect(await lastEvent('ADMIN_CREATE')).toMatchObject({
        ...byAdmin(),
        resourceType: 'roles',
        outcome: 'SUCCESS',
      })
      const user = { username: 'new' }
      expect((await acting('POST', `${base}/users`, user)).status).toBe(201)
      expect(await lastEvent('ADMIN_CREATE')).toMatchObject({ ...byAdmin(), resourceType: 'users' })
      const { body } = await acting('GET', `${base}/export?history=true`)
      expect(JSON.stringify(body.meta ?? body)).toContain(adminId)
    })

    it('names them where a write is denied', async () => {
      const denied = await send(server.app, 'POST', `${base}/roles`, { name: 'x' }, { cookie })
      expect(denied.status).toBe(403)
      expect(await lastEvent('ADMIN_CREATE')).toMatchObject({ ...byAdmin(), outcome: 'FAILURE' })
    })

    it('does not delete, erase or act as the user it is of', async () => {
      for (const [method, path] of [
        ['DELETE', `/users/${ann}`],
        ['DELETE', `/users/${ann}/gdpr`],
        ['POST', `/users/${ann}/impersonate`],
      ] as const)
        expect((await acting(method, `${base}${path}`)).status, path).toBe(409)
    })

    it('is shown as such to administrators and, in the account, to the user', async () => {
      const account = '/realms/shop/account'
      const { send: ask } = await server.signedIn('master', 'admin')
      const listed = (await ask('GET', `${base}/sessions`)).body
      const rows = Array.isArray(listed) ? listed : listed.items
      expect(rows).toMatchObject([{ username: 'ann', impersonator: 'admin' }])
      const own = await acting('GET', `${account}/sessions`)
      expect(own.body).toMatchObject([{ impersonated: true, impersonator: 'admin' }])
      const page = await send(server.app, 'GET', `${account}/sessions`, undefined, {
        cookie,
        accept: 'text/html',
      })
      expect(page.body).toContain('admin is acting as you')
    })

    it('names them in what it does to the account, and when it ends', async () => {
      const profile = { email: null, firstName: 'Ann', lastName: null }
      expect((await acting('PUT', '/realms/shop/account/profile', profile)).status).toBe(200)
      expect(await lastEvent('UPDATE_PROFILE')).toMatchObject(byAdmin())
      const form = new URLSearchParams({ _csrf: csrf }).toString()
      const ended = await send(server.app, 'POST', '/realms/shop/logout', form, {
        cookie,
        'content-type': 'application/x-www-form-urlencoded',
      })
      expect(ended.status).toBeLessThan(400)
      expect(await lastEvent('LOGOUT')).toMatchObject(byAdmin())
    })

    it('leaves a trail whose names cannot be changed unnoticed', async () => {
      const { areas } = server
      const fault = async () => (await areas.audit.checkChain('shop', 0)).fault
      await eventsSettled(areas.audit.outbox)
      await areas.audit.sealEvents()
      const { events, unsealed } = await areas.audit.checkChain('shop', 0)
      expect(events).toBeGreaterThan(3)
      expect(unsealed).toBe(0)
      expect(await fault()).toBeNull()
      const hidden = areas.storage.db
        .updateTable('audit_events')
        .set({ on_behalf_of: null })
        .where('on_behalf_of', 'is not', null)
      await areas.storage.commit([statement(hidden)])
      expect(await fault()).toMatchObject({ kind: 'changed' })
    })
  },
)
