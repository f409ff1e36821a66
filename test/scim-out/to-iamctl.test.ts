/** One realm provisions another: what this server sends is what this server takes, filters, PATCH paths and members included. */
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningJobs } from '#server/jobs/queue.ts'
import { startBackground } from '#server/run/background.ts'
import { makeCertificate } from '../platform/outgoing/certificates.ts'
import { anyBackend } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

describe.each(anyBackend)('a realm that is the SCIM target of another, on $name', (backend) => {
  let server: TestServer
  let background: RunningJobs
  let door: Server
  const refused: string[] = []
  const trusted = getCACertificates('default')

  const send = async (method: string, path: string, body?: unknown, status?: number) => {
    const answer = await server.admin.send(method, `/admin/realms/${path}`, body)
    if (status !== undefined)
      expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(status)
    return answer.body
  }
  const settled = () => background.idle()
  const there = async (username: string) => send('GET', `branch/users/${username}`)

  beforeAll(async () => {
    server = await startServer(backend, { env: { IAMCTL_OUTGOING_ALLOW: 'localhost' } })
    background = await startBackground(server.areas)
    // Targets have https addresses: TLS ends before the server.
    const { certificate, key } = makeCertificate(['localhost'])
    setDefaultCACertificates([...trusted, certificate])
    door = createServer({ key, cert: certificate }, async (request, response) => {
      const payload = (await request.toArray()).join('')
      const answer = await server.app.inject({
        method: (request.method ?? 'GET') as 'GET',
        url: request.url ?? '/',
        headers: request.headers as Record<string, string>,
        ...(payload === '' ? {} : { payload }),
      })
      if (answer.statusCode >= 400) refused.push(`${request.method} ${request.url}: ${answer.body}`)
      response.writeHead(answer.statusCode, { 'content-type': 'application/scim+json' })
      response.end(answer.body)
    })
    await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
    const { port } = door.address() as AddressInfo
    for (const realm of ['head', 'branch']) await server.createRealm(realm)
    const settings = await send('GET', 'branch/provisioning')
    await send('PUT', 'branch/provisioning', { ...settings, scimEnabled: true }, 200)
    const { token } = await send('POST', 'branch/provisioning/scim-tokens', {}, 201)
    await send(
      'POST',
      'head/scim-targets',
      { name: 'branch', baseUrl: `https://localhost:${port}/realms/branch/scim/v2`, token },
      201,
    )
  })
  afterAll(async () => {
    await background.stop()
    await server.close()
    setDefaultCACertificates(trusted)
    door.closeAllConnections()
    await new Promise((resolve) => door.close(resolve))
  })

  it('passes on users, changes, groups and members, and leavers', async () => {
    const fields = {
      username: 'ada',
      email: 'ada@acme.example',
      firstName: 'Ada',
      lastName: 'Lovelace',
    }
    const { userId } = await send('POST', 'head/users', fields, 201)
    const { groupId } = await send('POST', 'head/groups', { name: 'staff' }, 201)
    await send('PUT', `head/groups/${groupId}/members/${userId}`, undefined, 204)
    await settled()
    expect(await there('ada')).toMatchObject({ ...fields, enabled: true })
    const groups = await send('GET', 'branch/groups')
    const staff = groups.find(({ name }: { name: string }) => name === 'staff')
    const members = await send('GET', `branch/groups/${staff?.groupId}/members`)
    expect(members.map(({ username }: { username: string }) => username)).toEqual(['ada'])
    await send('PUT', `head/users/${userId}`, { ...fields, lastName: 'King' }, 200)
    await settled()
    expect(await there('ada')).toMatchObject({ lastName: 'King' })
    const { lastName: _, ...nameless } = fields
    await send('PUT', `head/users/${userId}`, nameless, 200)
    await settled()
    expect(await there('ada')).toMatchObject({ firstName: 'Ada', lastName: null })
    await send('DELETE', `head/groups/${groupId}/members/${userId}`, undefined, 204)
    await settled()
    expect(await send('GET', `branch/groups/${staff?.groupId}/members`)).toEqual([])
    await send('PUT', `head/users/${userId}`, { ...fields, enabled: false }, 200)
    await settled()
    expect(await there('ada')).toMatchObject({ enabled: false })
    await send('DELETE', `head/groups/${groupId}`, undefined, 204)
    await settled()
    expect(await send('GET', 'branch/groups')).toEqual([])
    expect(refused).toEqual([])
    const found = await send(
      'POST',
      'head/scim-targets/branch/reconcile?dryRun=true',
      undefined,
      200,
    )
    expect(found.changes).toEqual([])
    const checked = await send('POST', 'head/scim-targets/branch/check', undefined, 200)
    expect(checked.map(({ status }: { status: string }) => status)).toEqual(['ok', 'ok'])
  })
})
