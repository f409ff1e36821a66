/** How the server shows itself to a SCIM target, and where it never goes. */
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeCertificate } from '../platform/outgoing/certificates.ts'
import { anyBackend } from '../support/backends.ts'
import { openWorld, type World } from './world.ts'

/** A token endpoint (RFC 6749 §4.4). */
const openTokenEndpoint = async (answer: () => object) => {
  const { certificate, key } = makeCertificate(['localhost'])
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, certificate])
  const asked: { authorization: string | undefined; body: string }[] = []
  const server = createServer({ key, cert: certificate }, async (request, response) => {
    const body = (await request.toArray()).join('')
    asked.push({ authorization: request.headers.authorization, body })
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answer()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `https://localhost:${port}/token`,
    asked,
    close: () =>
      new Promise<void>((resolve) => {
        setDefaultCACertificates(trusted)
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

describe.each(anyBackend)('access to a SCIM target on $name', (backend) => {
  let world: World

  beforeEach(async () => {
    world = await openWorld(backend)
  })
  afterEach(() => world.close())

  const status = async (target: string) =>
    (await world.send('GET', `/scim-targets/${target}/status`)).body

  it('uses one access token of client credentials for many requests, and a new one after a refusal', async () => {
    let made = 0
    const endpoint = await openTokenEndpoint(() => {
      made += 1
      world.peer.token = `access-${made}`
      return { access_token: `access-${made}`, token_type: 'Bearer', expires_in: 3600 }
    })
    for (const name of ['ann', 'ben', 'cem']) await world.addUser(name)
    await world.target({
      authType: 'oauth2',
      tokenUrl: endpoint.url,
      clientId: 'iam ctl',
      clientSecret: 'a secret: with colon',
      token: undefined,
    })
    expect(world.active()).toEqual(['ann', 'ben', 'cem'])
    expect(endpoint.asked).toHaveLength(1)
    const basic = Buffer.from('iam%20ctl:a%20secret%3A%20with%20colon').toString('base64')
    expect(endpoint.asked[0]).toEqual({
      authorization: `Basic ${basic}`,
      body: 'grant_type=client_credentials',
    })
    world.peer.token = 'revoked meanwhile'
    await world.addUser('dee')
    await world.settled()
    expect(world.active()).toContain('dee')
    expect(endpoint.asked).toHaveLength(2)
    await endpoint.close()
  })

  it.each([
    ['https://169.254.169.254/scim'],
    ['https://127.0.0.1/scim'],
    ['https://[::]/scim'],
    ['https://2130706433/scim'],
  ])('never goes to %s (SSRF)', async (baseUrl) => {
    await world.addUser('ann')
    const target = await world.target({ baseUrl })
    expect((await status(target)).lastError).toMatch(/not allowed/)
    const checked = await world.send('POST', `/scim-targets/${target}/check`)
    expect(checked.body[0]).toMatchObject({ status: 'error' })
  })

  it('follows no redirect with the token', async () => {
    await world.addUser('ann')
    world.peer.fail(({ path }) =>
      path === '/elsewhere' ? undefined : { status: 307, headers: { location: '/elsewhere' } },
    )
    const target = await world.target()
    expect(world.peer.asked.some(({ path }) => path === '/elsewhere')).toBe(false)
    expect((await status(target)).users.known).toBe(0)
  })

  it('escapes filter values, and ignores users in answers that do not match them', async () => {
    world.peer.users.set('r-admin', { id: 'r-admin', userName: 'admin', active: true })
    // A target that ignores filters answers with everyone.
    const name = 'x" or userName eq "admin'
    const { status: made } = await world.send('POST', '/users', { username: name })
    await world.target()
    if (made === 201) {
      const look = world.peer.asked.find(({ query }) => query.includes('filter='))
      expect(decodeURIComponent(look?.query.replaceAll('+', '%20') ?? '')).toContain(
        `userName eq ${JSON.stringify(name)}`,
      )
    }
    expect(world.peer.users.get('r-admin')).toEqual({
      id: 'r-admin',
      userName: 'admin',
      active: true,
    })
  })

  it('needs what its authType needs', async () => {
    const send = (more: object) =>
      world.send('POST', '/scim-targets', { name: 'x', baseUrl: world.peer.url, ...more })
    expect((await send({ authType: 'oauth2' })).body.errors).toEqual(
      expect.arrayContaining([expect.objectContaining({ field: '/tokenUrl' })]),
    )
    expect((await send({ tokenUrl: 'https://x.example/token' })).status).toBe(400)
    expect((await send({ mapping: { active: 'username' } })).status).toBe(400)
    expect((await send({ mapping: { title: 'password' } })).status).toBe(400)
    expect((await send({ surprise: 1 })).status).toBe(400)
  })

  it('needs manage-realm to change, and never answers secrets', async () => {
    const target = await world.target()
    const viewer = await world.server.userWith(world.realm, ['view-users', 'manage-users'])
    for (const [method, path] of [
      ['GET', 'status'],
      ['POST', 'reconcile'],
      ['POST', 'check'],
    ] as const)
      expect(
        (await viewer.send(method, `${world.base}/scim-targets/${target}/${path}`)).status,
      ).toBe(403)
    // A target that sends back what it was sent.
    world.peer.fail(({ authorization = '' }) => ({ status: 401, detail: authorization }))
    await world.addUser('ann')
    await world.settled()
    expect((await status(target)).lastError).toContain('401: Bearer …')
    const told = JSON.stringify([
      await status(target),
      (await world.send('GET', '/events?size=100')).body,
      (await world.send('GET', `/scim-targets/${target}`)).body,
    ])
    expect(told).not.toContain(world.peer.token)
  })
})
