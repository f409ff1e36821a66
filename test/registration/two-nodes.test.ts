/** Registration at two nodes: limits and tokens hold for both together. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { web } from './fixture.ts'

describe.each(backends)('registration at two nodes on $name', (backend) => {
  let one: TestServer
  let other: TestServer
  beforeAll(async () => {
    one = await startServer(backend)
    await one.createRealm('acme')
    // A database file has one process.
    other = backend.name === 'sqlite' ? one : await startServer(backend, { url: one.url })
  })
  afterAll(async () => {
    if (other !== one) await other.close()
    await one.close()
  })

  const path = '/realms/acme/connect/register'
  const allow = (fields: object) =>
    one.admin.send('PUT', '/admin/realms/acme/provisioning', { dcrEnabled: true, ...fields })
  const initialToken = async (count: number): Promise<string> => {
    const url = '/admin/realms/acme/provisioning/initial-access-tokens'
    return (await one.admin.send('POST', url, { count })).body.token
  }
  const send = (node: TestServer, method: string, at: string, token: string, body?: object) =>
    node.anonymous.send(method, at, body === undefined ? undefined : JSON.stringify(body), {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    })
  const many = <T>(work: (node: TestServer) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: 12 }, (_, n) => work(n % 2 === 0 ? one : other)))
  const counted = (answers: readonly { status: number }[], status: number): number =>
    answers.filter((answer) => answer.status === status).length

  it('makes as many clients as the realm takes', async () => {
    await allow({ maxClients: 5 })
    const token = await initialToken(100)
    const answers = await many((node) => send(node, 'POST', path, token, web))
    expect([counted(answers, 201), counted(answers, 403)]).toEqual([5, 7])
    await allow({ maxClients: 1000 })
  })

  it('spends an initial access token as often as it says', async () => {
    const token = await initialToken(3)
    const answers = await many((node) => send(node, 'POST', path, token, web))
    expect([counted(answers, 201), counted(answers, 401)]).toEqual([3, 9])
  })

  it('takes one of many updates with one registration access token, which is dead at both then', async () => {
    const { body } = await send(one, 'POST', path, await initialToken(1), web)
    const { registration_client_uri, registration_access_token: first, client_id } = body
    const at = new URL(registration_client_uri).pathname
    const answers = await many((node) =>
      send(node, 'PUT', at, first, { ...web, client_id, client_name: 'Renamed' }),
    )
    expect([counted(answers, 200), counted(answers, 401)]).toEqual([1, 11])
    const second = answers.find(({ status }) => status === 200)?.body.registration_access_token
    for (const node of [one, other]) {
      for (const method of ['GET', 'DELETE'])
        expect((await send(node, method, at, first)).status).toBe(401)
      expect((await send(node, 'GET', at, second)).body.client_name).toBe('Renamed')
    }
    expect((await send(other, 'DELETE', at, second)).status).toBe(204)
    for (const node of [one, other]) expect((await send(node, 'GET', at, second)).status).toBe(401)
  })

  it('takes a policy at the next request, also of an update', async () => {
    const token = await initialToken(10)
    const { body } = await send(other, 'POST', path, token, web)
    const at = new URL(body.registration_client_uri).pathname
    await allow({ trustedHosts: ['shop.example'] })
    for (const node of [one, other]) {
      expect((await send(node, 'POST', path, token, web)).status).toBe(400)
      const update = { ...web, client_id: body.client_id }
      const answer = await send(node, 'PUT', at, body.registration_access_token, update)
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_redirect_uri'])
    }
    await allow({ trustedHosts: [] })
  })
})
