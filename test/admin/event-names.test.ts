/** Events are found and shown by the current names of their actors and resources. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { put, senderTo } from '../realm/changesets/changeset.ts'
import { backends } from '../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'

describe.each(backends)('events by name on $name', (backend) => {
  let server: TestServer
  const base = '/admin/realms/acme'
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)
  const find = async (query: Record<string, string>): Promise<Answer['body']['items']> => {
    const { status, body } = await send('GET', `/events?${new URLSearchParams(query)}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return body.items
  }
  const newUser = async () => {
    const username = `Ann-${newId()}`
    const email = `${username}@example.org`
    const { body } = await send('POST', '/users', { username, email })
    const name = username.toLowerCase()
    await server.areas.audit.recorder.append(
      [],
      [
        {
          type: 'LOGIN_SUCCESS',
          realm: 'acme',
          actor: body.userId,
          sourceIp: '192.0.2.1',
          outcome: 'SUCCESS',
        },
      ],
    )
    return { username, name, email, id: body.userId as string }
  }

  it('finds what a user did by id, username in any case, and address', async () => {
    const { id, username, name, email } = await newUser()
    const byId = await find({ actor: id })
    expect(byId).toMatchObject([{ type: 'LOGIN_SUCCESS', actor: id, actorName: username }])
    for (const actor of [username, name, email, email.toUpperCase()])
      expect(await find({ actor }), actor).toEqual(byId)
    const { body } = await send('GET', `/events?actor=${username}`)
    expect(body.total).toBe(1)
  })

  it('finds what a client did by its clientId, and an administrator of master by name', async () => {
    const clientId = `job-${newId()}`
    const made = await send('POST', '/clients', {
      clientId,
      serviceAccountsEnabled: true,
      grantTypes: ['client_credentials'],
    })
    const { id, secret } = made.body
    const fields = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: secret,
    })
    const token = await server.anonymous.send('POST', '/realms/acme/token', `${fields}`, form)
    expect(token.status, JSON.stringify(token.body)).toBe(200)
    expect(await find({ actor: clientId })).toMatchObject([{ actor: id, actorName: clientId }])
    const mine = await find({ actor: 'admin', type: 'ADMIN_CREATE' })
    expect(mine[0]).toMatchObject({ actorName: 'admin', resourceName: clientId })
  })

  it('finds both, what was tried under a name and what its user did', async () => {
    const { username, id } = await newUser()
    await server.areas.audit.recorder.append(
      [],
      [
        {
          type: 'LOGIN_FAILURE',
          realm: 'acme',
          actor: username,
          sourceIp: '192.0.2.1',
          outcome: 'FAILURE',
        },
      ],
    )
    const found = await find({ actor: username })
    expect(found.map(({ actor }: { actor: string }) => actor)).toEqual([username, id])
    const page = await send('GET', `/events?actor=${username}&size=1`)
    expect([page.body.total, page.body.items.length]).toEqual([2, 1])
    const rest = await send('GET', `/events?actor=${username}&size=1&cursor=${page.body.next}`)
    expect(rest.body.items).toMatchObject([{ actor: id }])
    expect(await find({ actor: `nobody-${newId()}` })).toEqual([])
  })

  it('finds nothing by the name of who was erased, and shows no name', async () => {
    const { username, id, email } = await newUser()
    expect((await send('DELETE', `/users/${id}/gdpr`)).status).toBeLessThan(300)
    expect(await find({ actor: username })).toEqual([])
    expect(await find({ actor: email })).toEqual([])
    const all = JSON.stringify([await find({ actor: id }), await find({ changes: 'true' })])
    expect(all).toContain(id)
    expect(all.toLowerCase()).not.toContain(username.toLowerCase())
  })

  it('shows what a change was before and after, without secrets, to who may read the kind', async () => {
    const clientId = `web-${newId()}`
    const { body } = await send('POST', '/clients', { clientId, name: 'Old' })
    await send('PUT', `/clients/${body.id}`, { ...body, secret: undefined, name: 'New' })
    const rotated = (await send('POST', `/clients/${body.id}/secret`)).body
    const shown = await find({ changes: 'true', type: 'ADMIN_UPDATE' })
    const own = shown.filter((event: { resourceName?: string }) => event.resourceName === clientId)
    expect(own[0].changes).toEqual({ fields: [], secrets: ['/secret'] })
    expect(own[1]).toMatchObject({
      resourceName: clientId,
      revision: expect.any(Number),
      changes: {
        fields: [{ pointer: '/name', before: 'Old', after: 'New' }],
        secrets: [],
      },
    })
    expect(JSON.stringify(shown)).not.toContain(body.secret)
    expect(JSON.stringify(shown)).not.toContain(rotated.secret)
    expect(JSON.stringify(await find({}))).not.toContain('"changes"')
    const viewer = await server.userWith('acme', ['view-events'])
    const theirs = await viewer.send('GET', `${base}/events?changes=true&size=500`)
    expect(theirs.status).toBe(200)
    expect(JSON.stringify(theirs.body)).not.toContain('"changes"')
  })

  it('shows before and after of a declared user until the user is erased', async () => {
    const { apply } = senderTo(server, 'acme')
    const username = `declared-${newId()}`
    await apply([put('user', username, { username, firstName: 'Old-Name' })])
    await apply([put('user', username, { username, firstName: 'New-Name' })])
    const text = async () => JSON.stringify(await find({ changes: 'true', type: 'ADMIN_UPDATE' }))
    expect(await text()).toContain('Old-Name')
    const { userId } = (await send('GET', `/users/${username}`)).body
    expect((await send('DELETE', `/users/${userId}/gdpr`)).status).toBeLessThan(300)
    const after = await text()
    expect(after).not.toContain('Old-Name')
    expect(after).not.toContain(username)
  })
})
