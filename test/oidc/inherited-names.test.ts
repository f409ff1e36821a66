/** Names that every object inherits, as names of scopes, attributes and claims: they mean what is configured, or nothing (CWE-1321). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer } from './fixture.ts'
import { addPerson, password } from './relying-party.ts'

const names = Object.getOwnPropertyNames(Object.prototype).filter((name) => name !== '__proto__')

describe.each(anyBackend)('inherited names on $name', (backend) => {
  let site: OidcSite
  beforeAll(async () => {
    site = await openIssuer(backend)
    await addPerson(site, 'alice')
  })
  afterAll(() => site.close())

  const tokenOf = async (name: string, mappers: readonly object[]) => {
    const client = await site.client({
      clientId: `of-${name}-${mappers.length}`,
      grantTypes: ['password'],
      scopes: [name],
    })
    for (const mapper of mappers) await site.admin('POST', `/clients/${client.id}/mappers`, mapper)
    return site.post('/token', {
      grant_type: 'password',
      client_id: client.clientId,
      client_secret: client.secret,
      username: 'alice',
      password,
      scope: name,
    })
  }

  it.each(names)('%s is a scope and a claim, and no attribute that users have', async (name) => {
    await site.admin('POST', '/client-scopes', { name })
    const config = (claim: string) => ({ 'claim.name': claim, 'user.attribute': name })
    const { status, body } = await tokenOf(name, [
      { name: 'a', protocolMapper: 'oidc-usermodel-attribute-mapper', config: config('attribute') },
      {
        name: 'd',
        protocolMapper: 'oidc-address-mapper',
        config: { 'user.attribute.country': name },
      },
      {
        name: 't',
        protocolMapper: 'oidc-hardcoded-claim-mapper',
        config: { 'claim.name': `${name}.inner`, 'claim.value': 'x' },
      },
    ])
    expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
    const claims = claimsOf(body.access_token)
    expect(claims['scope']).toContain(name)
    expect(Object.hasOwn(claims, 'attribute')).toBe(false)
    expect(Object.hasOwn(claims, 'address')).toBe(false)
    expect(claims[name]).toEqual({ inner: 'x' })
    expect(Reflect.get({}, 'inner')).toBeUndefined()
  })

  it.each(names)('%s is no property of users, and no type of claims', async (name) => {
    const client = await site.client({ clientId: `refused-${name}` })
    const configs = [
      ['oidc-usermodel-property-mapper', { 'claim.name': 'x', 'user.attribute': name }],
      ['oidc-hardcoded-claim-mapper', { 'claim.name': 'x', 'jsonType.label': name }],
    ] as const
    for (const [protocolMapper, config] of configs)
      await expect(
        site.admin('POST', `/clients/${client.id}/mappers`, { name: 'm', protocolMapper, config }),
      ).rejects.toThrow('400')
  })

  it.each(names)('%s is an attribute of a user, and stays one', async (name) => {
    const attributes = { [name]: ['x'] }
    const { body } = await site.admin('POST', '/users', { username: `u-${name}`, attributes })
    const found = await site.admin('GET', `/users/${body.userId}`)
    expect(found.body.attributes).toEqual(attributes)
  })
})
