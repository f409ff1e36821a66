/** What callers of the protection API may store at run time is bounded, and the refusal says by what. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRegistration } from '#server/authz/registration.ts'
import { newId } from '#server/platform/ids.ts'
import { insertRows } from '#server/storage/statements.ts'
import { clientOf } from '#server/tokens/client.ts'
import { addUser, issuerOf } from '../oidc/users.ts'
import { backends } from '../support/backends.ts'
import { type AuthzSite, openAuthzSite } from './site.ts'

describe.each(backends)('the limits of authorization services ($name)', (backend) => {
  let now = Date.now()
  let site: AuthzSite
  let diary: string

  beforeAll(async () => {
    site = await openAuthzSite(backend, { clock: { now: () => now } })
    diary = await site.register({
      name: 'diary',
      owner: 'alice',
      ownerManagedAccess: true,
      resource_scopes: ['read', 'write'],
    })
  })
  afterAll(() => site.close())

  it('are those of resources: of a resource server, and of an owner at it', async () => {
    const { writer } = site.server.areas.realm
    const issuer = await issuerOf(site)
    const document = await issuer.view.byId('client', site.api.id)
    if (!document) throw new Error('no client')
    const place = { view: issuer.view, client: clientOf(document), sourceIp: '127.0.0.1' }
    const create = (
      limits: { resourcesOfClient: number; resourcesOfOwner: number },
      owner?: string,
    ) =>
      createRegistration({ writer, limits }).create(place, {
        name: newId().replaceAll('-', 'x'),
        uris: [],
        scopes: [],
        attributes: {},
        ownerManagedAccess: false,
        ...(owner === undefined ? {} : { owner }),
      })
    await expect(create({ resourcesOfClient: 1, resourcesOfOwner: 9 })).rejects.toThrow(
      'the resource server has 1 resources, the most that it may register',
    )
    const ofOne = { resourcesOfClient: 9, resourcesOfOwner: 1 }
    await expect(create(ofOne, site.alice.id)).rejects.toThrow(
      'the owner has 1 resources here, the most that a user may have',
    )
    await expect(create(ofOne, site.bob.id)).resolves.toEqual(expect.any(String))
  })

  it('are those of tickets that are unused: 429 with Retry-After, until some expire', async () => {
    const { storage, authz } = site.server.areas
    const many = Array.from({ length: authz.limits.ticketsOfClient }, () => ({
      id: newId(),
      realm: 'acme',
      client_id: site.api.id,
      requester_id: null,
      permissions: '[]',
      expires_at: now + 300_000,
    }))
    await storage.commit(insertRows(storage.db, 'permission_tickets', many))
    const ask = async () =>
      site.json('POST', '/authz/protection/permission', await site.pat(), { resource_id: diary })
    const refused = await ask()
    expect([refused.status, refused.body.error]).toEqual([429, 'temporarily_unavailable'])
    expect(refused.body.error_description).toContain('10000 tickets of this resource server')
    expect(refused.headers.get('retry-after')).toBe('60')
    now += 301_000
    expect((await ask()).status).toBe(201)
  })

  /** Requests of one user to another one, which wait. */
  const wait = async (requesterId: string, ownerId: string, scopes: readonly string[]) => {
    const { storage } = site.server.areas
    await storage.commit(
      insertRows(
        storage.db,
        'resource_shares',
        scopes.map((scope) => ({
          id: newId(),
          realm: 'acme',
          client_id: site.api.id,
          resource_id: diary,
          scope,
          owner_id: ownerId,
          requester_id: requesterId,
          granted: 0 as const,
          created_at: now,
          granted_at: null,
        })),
      ),
    )
  }
  const submit = async (token: string) => {
    const ticket = await site.ticket({ resource_id: diary, resource_scopes: ['read'] })
    return (await site.rpt(token, { ticket, submit_request: 'true' })).body
  }

  it('are those of requests of one user that wait; asking for the same again is none', async () => {
    const { limits } = site.server.areas.authz
    const dave = await addUser(site, { username: 'dave' })
    const token = await site.tokenOf(site.spa, dave)
    const scopes = Array.from({ length: limits.requestsOfRequester - 1 }, (_, n) => `s${n}`)
    await wait(dave.id, site.alice.id, scopes)
    expect((await submit(token)).error).toBe('request_submitted')
    expect((await submit(token)).error).toBe('request_submitted')
    const ticket = await site.ticket({ resource_id: diary, resource_scopes: ['write'] })
    const refused = await site.rpt(token, { ticket, submit_request: 'true' })
    expect([refused.status, refused.body.error]).toEqual([403, 'request_denied'])
    expect(refused.body.error_description).toContain('100 requests of the user wait')
    expect((await site.rpt(token, { ticket })).body.error).toBe('invalid_grant')
  })

  it('are those of requests that wait for one owner', async () => {
    const { limits } = site.server.areas.authz
    const scopes = Array.from({ length: limits.requestsOfOwner }, (_, n) => `t${n}`)
    const erin = await addUser(site, { username: 'erin' })
    await wait(erin.id, site.alice.id, scopes)
    const refused = await submit(await site.tokenOf(site.spa, site.bob))
    expect(refused.error).toBe('request_denied')
    expect(refused.error_description).toContain('wait for the owner')
  })
})
