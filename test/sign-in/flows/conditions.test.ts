/** What the settings of conditions say of a user decides whether a second factor is asked for; unread settings are refused. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { openWorld, password, type World } from '../world.ts'
import { storeFlow } from './stored-flow.ts'

const [backend] = backends
const second = 'browser-second-factor'

describe('conditions of a sub-flow', () => {
  let world: World

  beforeAll(async () => {
    if (!backend) return
    world = await openWorld(backend)
    const role = await world.must('POST', '/roles', { name: 'finance' })
    const { groupId } = await world.must('POST', '/groups', { name: 'Staff' })
    const helpdesk = await world.must('POST', '/groups', { name: 'Helpdesk', parentId: groupId })
    await world.must('PUT', `/groups/${groupId}/roles/${role.roleId ?? role.id}`, {})
    const userId = await world.addUser('alice', { emailVerified: true })
    await world.must('PUT', `/groups/${helpdesk.groupId}/members/${userId}`, {})
    await world.addTotp(userId)
  })
  afterAll(() => world?.close())

  const isAskedForCode = async (
    authenticator: string,
    authenticatorConfig: Record<string, string>,
  ): Promise<boolean> => {
    await world.setFlow(
      [{ authenticator: 'username-password' }, { flowAlias: second, requirement: 'CONDITIONAL' }],
      [{ authenticator, authenticatorConfig }, { authenticator: 'totp' }],
    )
    const browser = world.browser()
    await browser.open('/realms/shop/login')
    await browser.submit({ username: 'alice', password })
    return !browser.isSignedIn('shop') && browser.page?.body.includes('name="code"') === true
  }

  it.each([
    ['condition-group', { groups: '/Customers, /Staff' }, true],
    ['condition-group', { groups: '/Staff/Helpdesk' }, true],
    ['condition-group', { groups: '/Sta' }, false],
    ['condition-group', { groups: '/Staff', negate: 'true' }, false],
    ['condition-group', { groups: '/Customers', negate: 'true' }, true],
    ['condition-role', { roles: 'finance' }, true],
    ['condition-role', { roles: 'buyer,shop/buyer' }, false],
    ['condition-network', { networks: '192.0.2.0/24, 127.0.0.0/8' }, true],
    ['condition-network', { networks: '2001:db8::/32' }, false],
    ['condition-network', { networks: '127.0.0.0/8', negate: 'true' }, false],
    ['condition-user-has-factor', { types: 'otp' }, true],
    ['condition-user-has-factor', { types: 'webauthn, push' }, false],
  ])('%s with %j: asked for a code %s', async (authenticator, settings, asked) => {
    expect(await isAskedForCode(authenticator, settings)).toBe(asked)
  })

  it.each([
    ['condition-group', { group: '/Staff' }],
    ['condition-group', {}],
    ['condition-role', { condUserRole: 'finance' }],
    ['condition-role', { roles: '' }],
    ['condition-client', { client: 'web' }],
    ['condition-network', { networks: '127.0.0.1' }],
    ['condition-acr', { acr: 'gold' }],
    ['condition-new-device', { negate: 'no' }],
    ['totp', { window: '2' }],
  ])(
    'are refused where a second factor would be skipped in silence: %s with %j',
    async (id, settings) => {
      await expect(isAskedForCode(id, settings)).rejects.toThrow('authenticatorConfig')
    },
  )

  it('are not a reason to refuse other changes where an earlier version stored them', async () => {
    await storeFlow(world, second, [
      { authenticator: 'condition-group', authenticatorConfig: { group: '/Staff' } },
      { authenticator: 'totp' },
    ])
    await world.must('POST', '/identity-providers', {
      alias: 'partner',
      protocol: 'oidc',
      config: { issuer: 'https://login.partner.example', clientId: 'acme' },
    })
  })
})
