/** Bodies and methods that protocol endpoints refuse before they read parameters. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'

describe.each(backends)('requests to protocol endpoints on $name', (backend) => {
  let site: OidcSite
  let client: TestClient
  beforeAll(async () => {
    site = await openIssuer(backend)
    client = await site.client({ clientId: 'service', grantTypes: ['client_credentials'] })
  })
  afterAll(() => site.close())

  const form = () => ({
    grant_type: 'client_credentials',
    client_id: client.clientId,
    client_secret: client.secret,
  })

  it.each(['gzip', 'br', 'x-made-up'])(
    'refuse a form with a Content-Encoding, which nobody undoes: %s',
    async (encoding) => {
      const { status, body } = await site.post('/token', form(), { 'content-encoding': encoding })
      expect([status, body]).toEqual([
        400,
        {
          error: 'invalid_request',
          error_description: 'send the form without Content-Encoding',
        },
      ])
    },
  )

  it.each(['/token', '/par', '/introspect', '/revoke'])(
    'refuse another method than POST in the words of the protocol: %s',
    async (path) => {
      const { status, headers, body } = await site.get(path)
      expect([status, headers.get('allow')]).toEqual([405, 'POST'])
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(body).toEqual({
        error: 'invalid_request',
        error_description: 'This path takes POST.',
      })
    },
  )

  it('that no client can be told of are refused in the language that is asked for (OIDC Core §3.1.2.1)', async () => {
    const fields = { client_id: 'nobody', ui_locales: 'xx nl' }
    for (const { status, body } of [
      await site.get(`/authorize?${new URLSearchParams(fields)}`),
      await site.post('/authorize', fields),
    ])
      expect([status, /<html lang="([^"]*)"/.exec(body)?.[1]]).toEqual([400, 'nl'])
  })

  it('leave the other paths of the server their problem documents', async () => {
    const { status, headers } = await fetch(`${site.server.baseUrl}/admin/realms`, {
      method: 'PATCH',
    })
    expect([status, headers.get('content-type')]).toEqual([
      405,
      'application/problem+json; charset=utf-8',
    ])
  })

  it('take a form whose Content-Encoding says that there is none', async () => {
    const { status } = await site.post('/token', form(), { 'content-encoding': 'identity' })
    expect(status).toBe(200)
  })
})
