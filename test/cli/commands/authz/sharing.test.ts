/** `iamctl authz owner-policies` and `iamctl authz shares`: what owners open to others, for administrators. */

import { beforeAll, describe, expect, it } from 'vitest'
import { startWorld } from '../fixture/fixture.ts'

const world = startWorld()

const acme = '/admin/realms/acme'

describe('authz owner-policies and authz shares', () => {
  const run = (...args: string[]) => world().home.run(['authz', ...args])
  let secret: string

  beforeAll(async () => {
    const { admin } = world()
    await admin.send('POST', `${acme}/roles`, { name: 'friend' })
    await admin.send('POST', `${acme}/users`, { username: 'bob' })
    const { body } = await admin.send('POST', `${acme}/clients`, {
      clientId: 'album',
      authorizationServicesEnabled: true,
      grantTypes: ['client_credentials', 'uma-ticket'],
      serviceAccountsEnabled: true,
    })
    secret = body.secret
  })

  /** A request of the resource server. */
  const post = async (path: string, body: object) => {
    const { url } = world().server
    const form = { grant_type: 'client_credentials', client_id: 'album', client_secret: secret }
    const token = await fetch(`${url}/realms/acme/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    })
    const { access_token } = (await token.json()) as { access_token: string }
    const answer = await fetch(`${url}/realms/acme/authz/protection${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await answer.json()) as { readonly _id: string; readonly id: string }
  }

  it('say so where owners share nothing, and where there is no such client', async () => {
    for (const command of ['owner-policies', 'shares']) {
      const told = await run(command, 'album')
      expect([told.code, told.stdout]).toEqual([0, ''])
      expect(told.stderr).toContain('client album, realm acme')
      const absent = await run(command, 'nowhere')
      expect(absent.code).toBe(1)
      expect(absent.stderr).toContain('nowhere')
    }
  })

  it('list each policy and share, in words and as JSON', async () => {
    const { _id: summer } = await post('/resource_set', {
      name: 'summer',
      owner: 'alice',
      ownerManagedAccess: true,
      resource_scopes: ['view', 'edit'],
    })
    const { id: policy } = await post(`/uma-policy/${summer}`, {
      name: 'friends',
      scopes: ['view'],
      roles: ['friend'],
      users: ['bob'],
      decisionStrategy: 'AFFIRMATIVE',
    })
    const { id: share } = await post('/permission/ticket', {
      resource: summer,
      requester: 'bob',
      scope: 'edit',
      granted: true,
    })
    const { stdout: policies } = await run('owner-policies', 'album')
    expect(policies).toMatch(
      /friends\s+alice\s+summer\s+view\s+role friend, user bob\s+AFFIRMATIVE\s+/,
    )
    expect(policies).toContain(policy)
    const { stdout: shares } = await run('shares', 'album')
    expect(shares).toMatch(/summer\s+edit\s+alice\s+bob\s+shared\s+\d{4}-/)
    expect(shares).toContain(share)
    expect(JSON.parse((await run('owner-policies', 'album', '-o', 'json')).stdout)).toMatchObject([
      { id: policy, name: 'friends', owner: 'alice', resource: 'summer', roles: ['friend'] },
    ])
    expect(JSON.parse((await run('shares', 'album', '-o', 'json')).stdout)).toMatchObject([
      { id: share, resource: 'summer', scope: 'edit', owner: 'alice', granted: true },
    ])
  })
})
