/** A POST without a body, where every field is optional, equals a POST of an empty object. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AdminRoute,
  addressOf,
  adminRoutes,
  nameOf,
  takesNothing,
} from '../security/admin-api/admin-routes.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('POST without a body on $name', (backend) => {
  let server: TestServer
  let routes: readonly AdminRoute[]
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('shop')
    routes = (await adminRoutes(server)).filter(takesNothing)
  })
  afterAll(() => server.close())

  it('is as good as an empty object at every route that takes one', async () => {
    expect(routes.map(({ operationId }) => operationId)).toEqual(
      expect.arrayContaining(['create-initial-access-token', 'create-scim-token']),
    )
    for (const route of routes) {
      const path = addressOf(route, { realm: 'shop' })
      const send = async (body: unknown, headers: Record<string, string> = {}) => {
        const { status, body: told } = await server.admin.send('POST', path, body, headers)
        return { status, code: told?.code, errors: told?.errors }
      }
      const given = await send({})
      expect([nameOf(route), await send(undefined)]).toEqual([nameOf(route), given])
      const json = { 'content-type': 'application/json' }
      expect([nameOf(route), await send(undefined, json)]).toEqual([nameOf(route), given])
    }
  })

  it('is refused, with the names of the fields, where one must be given', async () => {
    const { status, body } = await server.admin.send('POST', '/admin/realms/shop/roles')
    expect(status).toBe(400)
    expect(body.errors).toContainEqual(expect.objectContaining({ field: '/name' }))
  })

  it('makes a new secret for a client, and takes a realm back to a revision', async () => {
    const base = '/admin/realms/shop'
    const made = await server.admin.send('POST', `${base}/clients`, {
      clientId: 'app',
      grantTypes: ['client_credentials'],
    })
    const secret = await server.admin.send('POST', `${base}/clients/${made.body.id}/secret`)
    expect([secret.status, typeof secret.body.value]).toEqual([200, 'string'])
    const back = await server.admin.send('POST', `${base}/revisions/1/rollback`)
    expect(back.status, JSON.stringify(back.body)).toBe(200)
  })
})
