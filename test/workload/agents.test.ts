/** A workload that is an agent: its scopes are those of the agent at most, and one that narrows its tokens is never lost. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../oidc/fixture.ts'
import { anyBackend } from '../support/backends.ts'
import { openWorkloadSite, type WorkloadSite } from './fixture.ts'

describe.each(anyBackend)('the workload of an agent on $name', (backend) => {
  let world: WorkloadSite
  beforeAll(async () => {
    world = await openWorkloadSite(backend)
  })
  afterAll(() => world.close())

  it('stays within allowedScopes, and keeps admin:plan that its credential gives', async () => {
    const { site } = world
    await site.admin('POST', '/client-scopes', { name: 'admin:plan' })
    const { body: client } = await site.admin('GET', '/clients/deployer')
    await site.admin('PUT', '/clients/deployer', {
      ...client,
      scopes: ['email', 'profile', 'admin:plan'],
    })
    await world.credentialWith({
      name: 'plan',
      audience: 'plan',
      scopes: 'email profile admin:plan',
    })
    const { body } = await site.admin('POST', '/agents', {
      name: 'deployer',
      clientId: 'deployer',
      allowedScopes: ['profile'],
    })
    await site.admin('POST', `/agents/${body.id}/activate`)
    const answer = await world.exchange(await world.jwt({ aud: 'plan' }))
    expect(claimsOf(answer.body.access_token)).toMatchObject({
      scope: 'profile admin:plan',
      nhi: true,
    })
  })
})
