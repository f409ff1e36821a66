/** Owner-managed sharing (UMA 2.0): a request becomes a share in the owner's hands, and ends there. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import type { Client } from '../../support/server.ts'
import { type AuthzSite, openAuthzSite } from '../site.ts'

const path = '/realms/acme/account/sharing'

describe.each(backends)('a resource of a user ($name)', (backend) => {
  let site: AuthzSite
  let alice: Client
  let bob: Client
  let diary: string
  let tokenOfBob: string

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    diary = await site.register({
      name: 'diary',
      displayName: 'Diary',
      owner: 'alice',
      ownerManagedAccess: true,
      resource_scopes: ['read', 'write'],
    })
    alice = await site.server.signedIn('acme', 'alice')
    bob = await site.server.signedIn('acme', 'bob')
    tokenOfBob = await site.tokenOf(site.spa, site.bob)
  })
  afterAll(() => site.close())

  const wanted = { resource_id: 'diary', resource_scopes: ['read'] }
  const sharing = async ({ send }: Client) => (await send('GET', path)).body
  const mayBob = async (scope: string) => {
    const fields = { audience: 'api', permission: `diary#${scope}`, response_mode: 'decision' }
    return (await site.rpt(tokenOfBob, fields)).status === 200
  }

  it('is the owner’s with every scope, and of nobody else', async () => {
    const token = await site.tokenOf(site.spa, site.alice)
    const fields = { audience: 'api', permission: 'diary', response_mode: 'permissions' }
    expect((await site.rpt(token, fields)).body).toMatchObject([{ scopes: ['read', 'write'] }])
    expect(await mayBob('read')).toBe(false)
  })

  it('is asked for by a ticket, granted by the owner, and used until that ends', async () => {
    const quiet = { ticket: await site.ticket(wanted), submit_request: 'false' }
    expect((await site.rpt(tokenOfBob, quiet)).body.error).toBe('request_denied')
    expect((await sharing(alice)).requests).toEqual([])
    // UMA 2.0 Grant §3.3.6 has no such parameter: a client need not know it.
    const asked = await site.rpt(tokenOfBob, { ticket: await site.ticket(wanted) })
    expect([asked.status, asked.body.error]).toEqual([403, 'request_submitted'])
    const waiting = await site.rpt(tokenOfBob, { ticket: asked.body.ticket })
    expect(waiting.body.error).toBe('request_submitted')

    const { requests } = await sharing(alice)
    expect(requests).toMatchObject([
      { resource: 'Diary', application: 'api', scope: 'read', username: 'bob', granted: false },
    ])
    expect((await sharing(bob)).received).toMatchObject([{ granted: false, username: 'alice' }])
    const [{ id }] = requests
    expect((await bob.send('POST', `${path}/shares/${id}/approve`)).status).toBe(404)
    expect(await mayBob('read')).toBe(false)
    expect((await alice.send('POST', `${path}/shares/${id}/approve`)).status).toBe(204)
    expect([await mayBob('read'), await mayBob('write')]).toEqual([true, false])
    expect((await site.rpt(tokenOfBob, { ticket: waiting.body.ticket })).status).toBe(200)

    expect((await bob.send('DELETE', `${path}/shares/${id}`)).status).toBe(404)
    expect((await alice.send('DELETE', `${path}/shares/${id}`)).status).toBe(204)
    expect(await mayBob('read')).toBe(false)
    const [request] = await site.events('PERMISSION_REQUEST')
    expect(request?.actor).toBe(site.bob.id)
    expect(await site.events('PERMISSION_DECISION')).toHaveLength(2)
  })

  it('is shared without a request, and by its owner alone', async () => {
    const body = { resourceId: diary, username: 'bob', scopes: ['write'] }
    expect((await bob.send('POST', `${path}/shares`, { ...body, username: 'alice' })).status).toBe(
      404,
    )
    expect((await alice.send('POST', `${path}/shares`, { ...body, scopes: ['fly'] })).status).toBe(
      400,
    )
    expect((await alice.send('POST', `${path}/shares`, { ...body, username: 'nora' })).status).toBe(
      404,
    )
    expect((await alice.send('POST', `${path}/shares`, body)).status).toBe(204)
    expect(await mayBob('write')).toBe(true)
    const [share] = (await sharing(alice)).shares
    expect((await alice.send('DELETE', `${path}/shares/${share.id}`)).status).toBe(204)
  })

  it('is seen and ended by administrators, and is in the export of the owner’s data', async () => {
    await alice.send('POST', `${path}/shares`, {
      resourceId: diary,
      username: 'bob',
      scopes: ['write'],
    })
    const shares = `/clients/${site.api.id}/authz/shares`
    const { body } = await site.admin('GET', shares)
    expect(body).toMatchObject([
      { resource: 'diary', scope: 'write', owner: 'alice', requester: 'bob', granted: true },
    ])
    const { body: data } = await alice.send('GET', '/realms/acme/account/gdpr/export')
    expect(data.consents).toMatchObject([{ role: 'owner', resourceId: diary, scope: 'write' }])
    await site.admin('DELETE', `${shares}/${body[0].id}`)
    expect(await mayBob('write')).toBe(false)
    const { send } = await site.server.signedIn('master', 'admin')
    const gone = await send('DELETE', `/admin/realms/acme${shares}/${body[0].id}`)
    expect(gone.status).toBe(404)
  })

  it('is shared no longer once it has another owner', async () => {
    const body = { resourceId: diary, username: 'bob', scopes: ['read'] }
    await alice.send('POST', `${path}/shares`, body)
    expect(await mayBob('read')).toBe(true)
    const resource = {
      name: 'diary',
      displayName: 'Diary',
      ownerManagedAccess: true,
      resource_scopes: ['read', 'write'],
    }
    const put = async (owner: string) =>
      site.json('PUT', `/authz/protection/resource_set/${diary}`, await site.pat(), {
        ...resource,
        owner,
      })
    const carol = await site.server.userWith('acme', [])
    await put(carol.userId)
    expect(await mayBob('read')).toBe(false)
    expect((await sharing(alice)).resources).toEqual([])
    await put('alice')
    expect(await mayBob('read')).toBe(true)
  })

  it('has a page, where the owner allows and denies', async () => {
    const ticket = await site.ticket({ ...wanted, resource_scopes: ['write'] })
    await site.rpt(tokenOfBob, { ticket, submit_request: 'true' })
    const page = async ({ send }: Client) =>
      (await send('GET', path, undefined, { accept: 'text/html' })).body as string
    const html = await page(alice)
    expect(html).toContain('bob asks for Diary')
    const csrf = /name="_csrf" value="([^"]+)"/.exec(html)?.[1] ?? ''
    const id = /name="approve" value="([^"]+)"/.exec(html)?.[1] ?? ''
    const form = (fields: Record<string, string>) =>
      fetch(`${site.server.baseUrl}${path}`, {
        method: 'POST',
        headers: { cookie: alice.cookie },
        body: new URLSearchParams({ _csrf: csrf, ...fields }),
        redirect: 'manual',
      })
    expect((await form({ approve: id })).status).toBe(303)
    expect(await mayBob('write')).toBe(true)
    expect(await page(alice)).toContain('Diary, with bob')
    expect((await form({ remove: id })).status).toBe(303)
    expect(await mayBob('write')).toBe(false)
    const unknown = await form({ resource: diary, username: 'nora', 'scope.read': 'true' })
    expect(unknown.status).toBe(400)
    expect(await unknown.text()).toContain('There is no other user of this name.')
    expect((await form({ resource: diary, username: 'bob', 'scope.write': 'true' })).status).toBe(
      303,
    )
    expect(await mayBob('write')).toBe(true)
  })
  it('is shared by scope: the whole of it is not, where it loses its scopes later', async () => {
    const album = { name: 'album', owner: 'alice', ownerManagedAccess: true }
    const id = await site.register({ ...album, resource_scopes: ['read', 'write'] })
    const shared = { resource: id, requester: 'bob', scopeName: 'read' }
    const pat = await site.pat()
    const tickets = '/authz/protection/permission/ticket'
    expect((await site.json('POST', tickets, pat, shared)).status).toBe(201)
    const asAlice = await site.tokenOf(site.api, site.alice, ['openid', 'uma_protection'])
    const policy = { name: 'bob', scopes: ['read'], users: ['bob'] }
    const policies = '/authz/protection/uma-policy'
    expect((await site.json('POST', `${policies}/${id}`, asAlice, policy)).status).toBe(201)
    const status = async (permission: string) =>
      (await site.rpt(tokenOfBob, { audience: 'api', permission })).status
    expect(await status('album#read')).toBe(200)
    const path = `/authz/protection/resource_set/${id}`
    await site.json('PUT', path, pat, { ...album, resource_scopes: [] })
    expect(await status('album')).toBe(403)
    await site.json('PUT', path, pat, { ...album, resource_scopes: ['read'] })
    expect(await status('album')).toBe(200)
  })
})
