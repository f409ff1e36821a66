/** Several nodes: the limits of authorization services hold for requests that come to different nodes at the same moment. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRegistration } from '#server/authz/registration.ts'
import { newId } from '#server/platform/ids.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import { clientOf } from '#server/tokens/client.ts'
import { addUser } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type AuthzSite, openAuthzSite, umaGrant } from './site.ts'

const many = Array.from({ length: 12 }, (_, n) => n)

describe.each(backends)('limits of authorization services on two nodes on $name', (backend) => {
  let site: AuthzSite
  let other: TestServer
  let pat: string
  const scopes = many.map((n) => `at-once-${n}`)
  let album: string

  /** The nodes take turns. */
  const nodeOf = (n: number): TestServer => (n % 2 === 0 ? site.server : other)
  const post = (n: number, path: string, body: unknown) =>
    nodeOf(n).anonymous.send('POST', `/realms/acme/authz/protection${path}`, body, {
      authorization: `Bearer ${pat}`,
    })
  const statuses = (answers: readonly { readonly status: number }[], wanted: number): number =>
    answers.filter(({ status }) => status === wanted).length

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    pat = await site.pat()
    album = await site.register({
      name: 'album',
      owner: 'bob',
      ownerManagedAccess: true,
      resource_scopes: scopes,
    })
    const { url, baseUrl } = site.server
    // A database file has one process.
    other =
      backend.name === 'sqlite'
        ? site.server
        : await startServer(backend, { url, env: { IAMCTL_BASE_URL: baseUrl } })
  })
  afterAll(async () => {
    if (other !== site.server) await other.close()
    await site.close()
  })

  const lax = { resourcesOfClient: 1000, resourcesOfOwner: 1000, scopesOfClient: 1000 }
  /** Registers at both nodes as the resource server does, with lower limits; answers how many registrations succeed. */
  const registered = async (
    limits: Partial<typeof lax>,
    fieldsOf: (n: number) => { readonly owner?: string; readonly scopes?: string[] },
  ): Promise<number> => {
    const all = await Promise.allSettled(
      many.map(async (n) => {
        const { realm, storage, copy } = nodeOf(n).areas
        const registration = createRegistration({
          storage,
          writer: realm.writer,
          fresh: copy.fresh,
          limits: { ...lax, ...limits },
        })
        const view = await copy.fresh('acme')
        const document = await view?.byId('client', site.api.id)
        if (!view || !document) throw new Error('no client')
        return registration.create(
          { view, client: clientOf(document), doer: { actor: document.id }, sourceIp: '127.0.0.1' },
          {
            name: newId().replaceAll('-', 'x'),
            uris: [],
            scopes: [],
            attributes: {},
            ownerManagedAccess: false,
            ...fieldsOf(n),
          },
        )
      }),
    )
    for (const one of all)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'forbidden' })
    return all.filter(({ status }) => status === 'fulfilled').length
  }
  const storedOf = async (kind: string): Promise<number> => {
    const view = await site.server.areas.copy.fresh('acme')
    return ((await view?.list(kind)) ?? []).filter(({ parentId }) => parentId === site.api.id)
      .length
  }

  it('are not passed by resources: of a resource server, and of an owner', async () => {
    const before = await storedOf('authz-resource')
    expect(await registered({ resourcesOfClient: before + 3 }, () => ({}))).toBe(3)
    expect(await storedOf('authz-resource')).toBe(before + 3)
    const { id: owner } = await addUser(site, { username: 'carol' })
    expect(await registered({ resourcesOfOwner: 3 }, () => ({ owner }))).toBe(3)
  })

  it('are not passed by scopes', async () => {
    const before = await storedOf('authz-scope')
    const limits = { scopesOfClient: before + 3 }
    expect(await registered(limits, (n) => ({ scopes: [`new-${n}`] }))).toBe(3)
    expect(await storedOf('authz-scope')).toBe(before + 3)
  })

  it('are not passed by tickets', async () => {
    const { storage, authz } = site.server.areas
    const left = 5
    const stored = Array.from({ length: authz.limits.ticketsOfClient - left }, () => ({
      id: newId(),
      realm: 'acme',
      client_id: site.api.id,
      requester_id: null,
      permissions: '[]',
      expires_at: Date.now() + 300_000,
    }))
    await storage.commit(insertRows(storage.db, 'permission_tickets', stored))
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => post(n, '/permission', { resource_id: album })),
    )
    expect([statuses(answers, 201), statuses(answers, 429)]).toEqual([left, 40 - left])
    await storage.commit([
      statement(storage.db.deleteFrom('permission_tickets').where('client_id', '=', site.api.id)),
    ])
  })

  /** Requests that wait, of one user to another. */
  const wait = async (requesterId: string, ownerId: string, count: number): Promise<void> => {
    const { storage } = site.server.areas
    const rows = Array.from({ length: count }, (_, n) => ({
      id: newId(),
      realm: 'acme',
      client_id: site.api.id,
      resource_id: album,
      scope: `waits-${n}`,
      owner_id: ownerId,
      requester_id: requesterId,
      granted: 0 as const,
      created_at: Date.now(),
      granted_at: null,
    }))
    await storage.commit(insertRows(storage.db, 'resource_shares', rows))
  }
  /** Each asks for another scope; answers how many are submitted. */
  const submitted = async (tokens: readonly string[]): Promise<number> => {
    const tickets = await Promise.all(
      scopes.map((scope) => site.ticket({ resource_id: album, resource_scopes: [scope] })),
    )
    const answers = await Promise.all(
      tickets.map((ticket, n) =>
        nodeOf(n).anonymous.send(
          'POST',
          '/realms/acme/token',
          new URLSearchParams({ grant_type: umaGrant, ticket, submit_request: 'true' }).toString(),
          {
            authorization: `Bearer ${tokens[n % tokens.length]}`,
            'content-type': 'application/x-www-form-urlencoded',
          },
        ),
      ),
    )
    expect(new Set(answers.map(({ body }) => body.error))).toEqual(
      new Set(['request_submitted', 'request_denied']),
    )
    return answers.filter(({ body }) => body.error === 'request_submitted').length
  }

  it('are not passed by requests that wait: of one user, and for one owner', async () => {
    const { limits } = site.server.areas.authz
    const frank = await addUser(site, { username: 'frank' })
    await wait(frank.id, site.alice.id, limits.requestsOfRequester - 3)
    expect(await submitted([await site.tokenOf(site.spa, frank)])).toBe(3)
    const grace = await addUser(site, { username: 'grace' })
    await wait(grace.id, site.bob.id, limits.requestsOfOwner - 6)
    const users = await Promise.all(
      ['heidi', 'ivan', 'judy'].map((username) => addUser(site, { username })),
    )
    expect(
      await submitted(await Promise.all(users.map((user) => site.tokenOf(site.spa, user)))),
    ).toBe(3)
  })

  it('are not passed by policies of an owner', async () => {
    const { authz, storage } = site.server.areas
    const place = {
      realm: 'acme',
      clientId: site.api.id,
      resourceId: album,
      ownerId: site.bob.id,
    }
    const most = authz.limits.policiesOfResource
    for (let n = 0; n < most - 3; n += 1) {
      const fields = {
        name: `p${n}`,
        scopes: [],
        decisionStrategy: 'AFFIRMATIVE' as const,
        parties: { documents: [], users: [site.alice.id] },
      }
      await storage.commit(authz.ownerPolicies.create(place, fields, most).statements)
    }
    const answers = await Promise.all(
      many.map((n) => post(n, `/uma-policy/${album}`, { name: `at once ${n}`, users: ['alice'] })),
    )
    expect([statuses(answers, 201), statuses(answers, 403)]).toEqual([3, 9])
  })
})
