/** The check of an identity provider against `oidc-provider`: it takes the right client for good, and a wrong secret for wrong. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../../../oidc/fixture.ts'
import { backends } from '../../../support/backends.ts'
import { type OpenidProvider, startOpenidProvider } from './openid-provider.ts'

describe.each(backends.slice(-1))('the check of oidc-provider, on $name', (backend) => {
  let site: OidcSite
  let upstream: OpenidProvider
  beforeAll(async () => {
    site = await openIssuer(backend, {
      env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
    })
    upstream = await startOpenidProvider({ broker: `${site.issuer}/broker/corp`, name: 'corp' })
  })
  afterAll(async () => {
    await upstream?.close()
    await site?.close()
  })

  it.each([
    ['its secret', (secret: string) => secret, ['provider ok']],
    ['another secret', (secret: string) => `${secret}x`, ['provider-client error']],
  ])('with %s', async (name, change, expected) => {
    const alias = name.replaceAll(' ', '-')
    await site.admin('POST', '/identity-providers', {
      alias,
      protocol: 'oidc',
      config: {
        issuer: upstream.issuer,
        clientId: 'realm',
        clientSecret: change(upstream.clientSecret),
      },
    })
    const { body } = await site.admin('POST', `/identity-providers/${alias}/check`)
    const told = body.map((one: { check: string; status: string }) => `${one.check} ${one.status}`)
    expect(told).toEqual(expected)
  })
})
