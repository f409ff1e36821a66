/** A resource asks for a token in the scheme that the request came with (RFC 9449 §7.1, RFC 6750 §3). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer } from '../fixture.ts'

describe.each(backends)('challenges on $name', (backend) => {
  let site: OidcSite
  let token: string
  beforeAll(async () => {
    site = await openIssuer(backend)
    const client = await site.client({ clientId: 'service', grantTypes: ['client_credentials'] })
    token = await site.token(client)
  })
  afterAll(() => site.close())

  const paths = [
    '/realms/acme/userinfo',
    '/realms/acme/account/profile',
    '/admin/realms/acme/users',
  ]
  const challengeAt = async (path: string, authorization?: string) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    const { status, headers: told } = await fetch(`${site.server.baseUrl}${path}`, { headers })
    return { status, challenge: told.get('www-authenticate') ?? '' }
  }

  it.each(paths)('are for DPoP where the request is, at %s', async (path) => {
    for (const scheme of ['DPoP', 'dpop'])
      for (const value of ['forged', token, '"', ''])
        expect(await challengeAt(path, `${scheme} ${value}`), `${scheme} ${value}`).toEqual({
          status: 401,
          challenge: expect.stringMatching(/^DPoP .*error="invalid_/),
        })
  })

  it.each(paths)('are for Bearer otherwise, at %s', async (path) => {
    for (const value of ['forged', token])
      expect(await challengeAt(path, `Bearer ${value}`)).toEqual({
        status: 401,
        challenge: expect.stringMatching(/^Bearer .*error="invalid_token"/),
      })
    const { status, challenge } = await challengeAt(path)
    expect([status, challenge]).toEqual([401, expect.stringMatching(/^Bearer /)])
    expect(challenge).not.toContain('error=')
  })

  it('name the algorithms of proofs (RFC 9449 §7.1)', async () => {
    const { challenge } = await challengeAt('/realms/acme/userinfo', 'DPoP forged')
    expect(challenge).toMatch(/algs="[^"]*ES256/)
  })
})
