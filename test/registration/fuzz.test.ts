/** Whatever is registered, the answer is one of RFC 7591 and never a failure of the server. */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { openRegistration, type RegistrationSite, web } from './fixture.ts'

const names = [
  'redirect_uris',
  'post_logout_redirect_uris',
  'client_name',
  'client_uri',
  'logo_uri',
  'policy_uri',
  'contacts',
  'software_id',
  'software_version',
  'software_statement',
  'scope',
  'grant_types',
  'response_types',
  'token_endpoint_auth_method',
  'application_type',
  'subject_type',
  'sector_identifier_uri',
  'jwks',
  'jwks_uri',
  'frontchannel_logout_uri',
  'backchannel_logout_uri',
  'backchannel_token_delivery_mode',
  'backchannel_client_notification_endpoint',
  'id_token_signed_response_alg',
  'authorization_signed_response_alg',
  'default_max_age',
  'default_acr_values',
  'require_auth_time',
  'userinfo_signed_response_alg',
  'dpop_bound_access_tokens',
]
/** What a registration never reaches is ignored. */
const ignored = ['client_id', 'client_secret', 'enabled', 'roles', '__proto__x']

const words = [
  'https://app.example/callback',
  'http://localhost/callback',
  'com.example.app:/callback',
  'https://',
  'https://[::1',
  'javascript:alert(1)',
  'authorization_code',
  'client_credentials',
  'code',
  'none',
  'private_key_jwt',
  'web',
  'native',
  'pairwise',
  'openid profile',
  'push',
  'RS256',
  'eyJhbGciOiJub25lIn0.e30.',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '',
  ' ',
  'constructor',
  'x'.repeat(5000),
]

const text = fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'binary', maxLength: 20 }))
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.constantFrom(null, true, false, 0, -1, 1e308),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom('keys', 'kty', 'd', 'n'), text), tie('any'), {
      maxKeys: 3,
    }),
  ),
})).any
const metadata = fc.dictionary(
  fc.constantFrom(...names, ...ignored),
  fc.oneof(text, fc.array(text), value),
  {
    maxKeys: 4,
  },
)

describe.each(anyBackend)('client registration on $name', (backend) => {
  let site: RegistrationSite
  let token: string
  // Each reading of the clock is a moment later, so that no limit of requests is reached.
  let now = Date.now()
  const clock = { now: () => (now += 100) }
  beforeAll(async () => {
    site = await openRegistration(backend, { clock })
    await site.allow({
      maxClients: 10_000,
      allowedGrantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
    })
    token = await site.initialToken({ count: 10_000, expiration: 86_400 })
  })
  afterAll(() => site.close())

  const expectRefusal = ({ status, body }: { status: number; body: { error?: string } }) => {
    expect([200, 201, 400]).toContain(status)
    if (status === 400) expect(body.error).toMatch(/^[a-z_]+$/)
  }

  it('refuses texts that a database cannot hold, wherever they stand', async () => {
    for (const odd of ['\u0000', '\ud800'])
      for (const name of names) {
        const key = { kty: 'OKP', crv: 'Ed25519', x: 'a', kid: odd }
        for (const value of [`https://app.example/${odd}`, [`app${odd}`], { keys: [key] }]) {
          const { status, body } = await site.register({ ...web, [name]: value }, token)
          expect(status, `${name} ${JSON.stringify(body)}`).toBe(400)
        }
      }
  })

  it('answers anything, also to an update', async () => {
    const { body: made } = await site.register(web, token)
    let current: string = made.registration_access_token
    await fc.assert(
      fc.asyncProperty(metadata, fc.boolean(), async (fields, isUpdate) => {
        if (!isUpdate) {
          expectRefusal(await site.register({ ...web, ...fields }, token))
          return
        }
        const answer = await site.manage('PUT', made.registration_client_uri, current, {
          ...web,
          ...fields,
          client_id: made.client_id,
        })
        expectRefusal(answer)
        if (answer.status === 200) current = answer.body.registration_access_token
      }),
      { numRuns: 80 },
    )
  })
})
