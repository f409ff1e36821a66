/** What callers of the protection API may store at run time is bounded, and the refusal says by what. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRegistration } from '#server/authz/registration.ts'
import { newId } from '#server/platform/ids.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
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

  const lax = { resourcesOfClient: 1000, resourcesOfOwner: 1000, scopesOfClient: 1000 }
  /** The realm as a request has seen it that is slower than others: views read what they have not read yet. */
  const asSeenNow = async (view: RealmView): Promise<RealmView> => {
    const stored = await view.list('authz-resource')
    const isOne = (kind: string) => kind === 'authz-resource'
    return {
      ...view,
      list: async (kind) => (isOne(kind) ? stored : view.list(kind)),
      byId: async (kind, id) =>
        isOne(kind) ? stored.find((one) => one.id === id) : view.byId(kind, id),
    }
  }
  /** Registers as the resource server does, with lower limits. */
  const registrationWith = async (limits: Partial<typeof lax>) => {
    const { realm, storage, copy } = site.server.areas
    const registration = createRegistration({
      storage,
      writer: realm.writer,
      fresh: copy.fresh,
      limits: { ...lax, ...limits },
    })
    const issuer = await issuerOf(site)
    const document = await issuer.view.byId('client', site.api.id)
    if (!document) throw new Error('no client')
    const place = {
      view: await asSeenNow(issuer.view),
      client: clientOf(document),
      doer: { actor: document.id },
      sourceIp: '127.0.0.1',
    }
    const fieldsOf = (owner?: string, scopes: string[] = []) => ({
      name: newId().replaceAll('-', 'x'),
      uris: [],
      scopes,
      attributes: {},
      ownerManagedAccess: false,
      ...(owner === undefined ? {} : { owner }),
    })
    return {
      create: (owner?: string, scopes?: string[]) =>
        registration.create(place, fieldsOf(owner, scopes)),
      replace: (id: string, owner?: string) => registration.replace(place, id, fieldsOf(owner)),
    }
  }
  const successes = async (all: readonly Promise<unknown>[]): Promise<number> =>
    (await Promise.allSettled(all)).filter(({ status }) => status === 'fulfilled').length
  const many = Array.from({ length: 12 }, (_, n) => n)
  const storedBy = async (kind: string): Promise<number> => {
    const { view } = await issuerOf(site)
    return (await view.list(kind)).filter(({ parentId }) => parentId === site.api.id).length
  }

  it('are those of resources: of a resource server, and of an owner at it', async () => {
    const full = await registrationWith({ resourcesOfClient: 1 })
    await expect(full.create()).rejects.toThrow(
      'the resource server has 1 resources, the most that it may register',
    )
    const { create } = await registrationWith({ resourcesOfOwner: 1 })
    const refused = 'the owner has 1 resources here, the most that a user may have'
    await expect(create(site.alice.id)).rejects.toThrow(refused)
    const ofBob = await create(site.bob.id)
    const moving = await registrationWith({ resourcesOfOwner: 1 })
    await expect(moving.replace(ofBob, site.alice.id)).rejects.toThrow(refused)
    await expect(moving.replace(ofBob, site.bob.id)).resolves.toBeUndefined()
  })

  it('are those of scopes, which stay when their resources go', async () => {
    const before = await storedBy('authz-scope')
    const { create } = await registrationWith({ scopesOfClient: before + 2 })
    await expect(create(undefined, ['new-1', 'new-2', 'new-3'])).rejects.toThrow(
      `the resource server has ${before} scopes, and may have ${before + 2}`,
    )
    await expect(create(undefined, ['new-1', 'new-2'])).resolves.toEqual(expect.any(String))
  })

  it('hold for registrations at the same moment', async () => {
    const before = await storedBy('authz-resource')
    const all = await registrationWith({ resourcesOfClient: before + 3 })
    expect(await successes(many.map(() => all.create()))).toBe(3)
    const carol = await addUser(site, { username: 'carol' })
    const owned = await registrationWith({ resourcesOfOwner: 3 })
    expect(await successes(many.map(() => owned.create(carol.id)))).toBe(3)
    const scopes = await storedBy('authz-scope')
    const scoped = await registrationWith({ scopesOfClient: scopes + 3 })
    expect(await successes(many.map((n) => scoped.create(undefined, [`many-${n}`])))).toBe(3)
  })

  it('hold for a resource that is moved away and back while its owner gets others', async () => {
    const owner = await addUser(site, { username: 'olga' })
    const other = await addUser(site, { username: 'oscar' })
    const first = await registrationWith({ resourcesOfOwner: 2 })
    const moved = await first.create(owner.id)
    // Has seen the resource with its owner, and writes after the others.
    const late = await registrationWith({ resourcesOfOwner: 2 })
    await (await registrationWith({ resourcesOfOwner: 2 })).replace(moved, other.id)
    for (const _ of [1, 2]) await (await registrationWith({ resourcesOfOwner: 2 })).create(owner.id)
    await expect(late.replace(moved, owner.id)).rejects.toThrow('the owner has 2 resources here')
    const { view } = await issuerOf(site)
    const owned = (await view.list('authz-resource')).filter(
      (document) => contentOf<{ owner?: string }>(document).owner === owner.id,
    )
    expect(owned).toHaveLength(2)
  })

  it('of an owner leave the resources of an owner with as many as there may be changeable at the same moment', async () => {
    const owner = await addUser(site, { username: 'petra' })
    const { create } = await registrationWith({ resourcesOfOwner: 3 })
    const ids = [await create(owner.id), await create(owner.id), await create(owner.id)]
    const full = await registrationWith({ resourcesOfOwner: 3 })
    expect(await successes(many.map((n) => full.replace(ids[n % 3] ?? '', owner.id)))).toBe(12)
  })

  it('are those of tickets that are unused: 429 with Retry-After, until some expire', async () => {
    const { storage, authz } = site.server.areas
    const stored = Array.from({ length: authz.limits.ticketsOfClient - 3 }, () => ({
      id: newId(),
      realm: 'acme',
      client_id: site.api.id,
      requester_id: null,
      permissions: '[]',
      expires_at: now + 300_000,
    }))
    await storage.commit(insertRows(storage.db, 'permission_tickets', stored))
    const ask = async () =>
      site.json('POST', '/authz/protection/permission', await site.pat(), { resource_id: diary })
    const answers = await Promise.all(many.map(ask))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
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

  it('hold for requests to owners at the same moment, of one user and to one owner', async () => {
    const { limits } = site.server.areas.authz
    const scopes = many.map((n) => `at-once-${n}`)
    const album = await site.register({
      name: 'album',
      owner: 'bob',
      ownerManagedAccess: true,
      resource_scopes: scopes,
    })
    const asks = async (tokens: readonly string[]): Promise<number> => {
      const tickets = await Promise.all(
        scopes.map((scope) => site.ticket({ resource_id: album, resource_scopes: [scope] })),
      )
      const answers = await Promise.all(
        tickets.map((ticket, n) =>
          site.rpt(tokens[n % tokens.length] ?? '', { ticket, submit_request: 'true' }),
        ),
      )
      expect(new Set(answers.map(({ body }) => body.error))).toEqual(
        new Set(['request_submitted', 'request_denied']),
      )
      return answers.filter(({ body }) => body.error === 'request_submitted').length
    }
    const frank = await addUser(site, { username: 'frank' })
    const few = Array.from({ length: limits.requestsOfRequester - 3 }, (_, n) => `f${n}`)
    await wait(frank.id, site.alice.id, few)
    expect(await asks([await site.tokenOf(site.spa, frank)])).toBe(3)
    const grace = await addUser(site, { username: 'grace' })
    await wait(
      grace.id,
      site.bob.id,
      Array.from({ length: limits.requestsOfOwner - 6 }, (_, n) => `g${n}`),
    )
    const users = await Promise.all(
      ['heidi', 'ivan', 'judy'].map((username) => addUser(site, { username })),
    )
    const tokens = await Promise.all(users.map((user) => site.tokenOf(site.spa, user)))
    expect(await asks(tokens)).toBe(3)
  })

  it('hold for policies of an owner at the same moment', async () => {
    const { authz, storage } = site.server.areas
    const place = {
      realm: 'acme',
      clientId: site.api.id,
      resourceId: diary,
      ownerId: site.alice.id,
    }
    const most = authz.limits.policiesOfResource
    const parties = { documents: [], users: [site.bob.id] }
    for (let n = 0; n < most - 3; n += 1) {
      const fields = {
        name: `p${n}`,
        scopes: [],
        decisionStrategy: 'AFFIRMATIVE' as const,
        parties,
      }
      await storage.commit(authz.ownerPolicies.create(place, fields, most).statements)
    }
    const token = await site.pat()
    const answers = await Promise.all(
      many.map((n) =>
        site.json('POST', `/authz/protection/uma-policy/${diary}`, token, {
          name: `at once ${n}`,
          users: ['bob'],
        }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array.from({ length: 3 }, () => 201),
      ...Array.from({ length: 9 }, () => 403),
    ])
    const refused = answers.find(({ status }) => status === 403)
    expect(refused?.body.error_description).toContain('100 policies of its owner')
  })
})
