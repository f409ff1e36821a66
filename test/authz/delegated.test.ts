/** RPTs of delegated tokens: an agent that acts for a user has the scopes of its token at most, at a resource server that it is for. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasUniqueMembers } from '#server/provisioning/workload/unique-members.ts'
import { claimsOf, claimsTextOf, type TestClient } from '../oidc/fixture.ts'
import { anyBackend } from '../support/backends.ts'
import { type AuthzSite, openAuthzSite } from './site.ts'

const exchangeType = 'urn:ietf:params:oauth:grant-type:token-exchange'
const accessType = 'urn:ietf:params:oauth:token-type:access_token'

describe.each(anyBackend)('an RPT of a delegated token ($name)', (backend) => {
  let site: AuthzSite
  let bot: TestClient

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    for (const name of ['read', 'write']) await site.admin('POST', '/client-scopes', { name })
    const add = (what: string, body: object) =>
      site.admin('POST', `/clients/${site.api.id}/authz/${what}`, body)
    for (const name of ['read', 'write']) await add('scopes', { name })
    await add('resources', { name: 'order', scopes: ['read', 'write'] })
    await add('resources', { name: 'vault' })
    await add('policies', { name: 'readers', type: 'role', roles: ['reader'] })
    await add('permissions', { name: 'all', resources: ['order', 'vault'], policies: ['readers'] })
    bot = await site.client({
      clientId: 'bot',
      grantTypes: ['client_credentials', 'token-exchange', 'uma-ticket'],
      serviceAccountsEnabled: true,
      scopes: ['read', 'write'],
      audiences: ['api', 'bot'],
    })
    await site.admin('PUT', `/clients/${bot.id}/allowed-resources`, ['https://elsewhere.example'])
    const { body } = await site.admin('POST', '/agents', {
      name: 'bot',
      clientId: 'bot',
      allowedScopes: ['read'],
      allowedDelegation: true,
    })
    await site.admin('POST', `/agents/${body.id}/activate`)
  })
  afterAll(() => site.close())

  const delegated = async (more: Readonly<Record<string, string>> = {}): Promise<string> => {
    const subject = await site.tokenOf(bot, site.alice, ['openid', 'read', 'write'])
    const { body } = await site.post('/token', {
      grant_type: exchangeType,
      subject_token: subject,
      subject_token_type: accessType,
      client_id: 'bot',
      client_secret: bot.secret,
      ...more,
    })
    expect(claimsOf(body.access_token)).toMatchObject({ act: { client_id: 'bot' } })
    return body.access_token
  }
  const permissions = { audience: 'api', response_mode: 'permissions' }

  it('has the permissions of the user within the scopes of the token', async () => {
    const own = await site.rpt(await site.tokenOf(site.spa, site.alice), permissions)
    expect(own.body).toMatchObject([
      { rsname: 'order', scopes: ['read', 'write'] },
      { rsname: 'vault' },
    ])
    const { status, body } = await site.rpt(await delegated(), permissions)
    expect([status, body]).toMatchObject([200, [{ rsname: 'order', scopes: ['read'] }]])
    expect(body).toHaveLength(1)
  })

  it.each(['the delegated token', 'its own token'])(
    'names each claim once, of %s (RFC 7519 §4)',
    async (kind) => {
      const subject = kind === 'its own token' ? await site.token(bot) : await delegated()
      await site.admin('PUT', `/clients/${site.api.id}/authz/settings`, {
        policyEnforcementMode: 'DISABLED',
      })
      const { body } = await site.rpt(subject, { audience: 'api', permission: 'order#read' })
      await site.admin('PUT', `/clients/${site.api.id}/authz/settings`, {
        policyEnforcementMode: 'ENFORCING',
      })
      expect(claimsOf(body.access_token)).toMatchObject({ nhi: true })
      expect(hasUniqueMembers(claimsTextOf(body.access_token))).toBe(true)
    },
  )

  it.each(['order#write', 'vault'])(
    'is refused for %s, which was not delegated',
    async (permission) => {
      const { status, body } = await site.rpt(await delegated(), { audience: 'api', permission })
      expect([status, body.error]).toEqual([403, 'request_denied'])
    },
  )

  it('is refused where the token is for another service, also to the agent itself', async () => {
    const subject = await delegated({ resource: 'https://elsewhere.example' })
    const { status, body } = await site.rpt(bot, { ...permissions, subject_token: subject })
    expect([status, body.error]).toEqual([400, 'invalid_grant'])
  })
})
