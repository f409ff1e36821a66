/** Rules of the documents that switch cross-application access on: what fits together, and what is refused with its field. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const target = { audience: 'https://chat.example', clientId: 'wiki-at-chat' }
const exchanging = { grantTypes: ['token-exchange'] }

const clients: readonly [string, object, string][] = [
  [
    'a public client',
    { publicClient: true, ...exchanging, crossApplicationAccess: [target] },
    '/crossApplicationAccess',
  ],
  [
    'a client without token exchange',
    { crossApplicationAccess: [target] },
    '/crossApplicationAccess',
  ],
  [
    'an audience that stands twice',
    { ...exchanging, crossApplicationAccess: [target, { ...target, clientId: 'x' }] },
    '/crossApplicationAccess/1/audience',
  ],
  [
    'an audience that is no issuer',
    { ...exchanging, crossApplicationAccess: [{ ...target, audience: 'chat' }] },
    '/crossApplicationAccess/0/audience',
  ],
  [
    'no client ID at the other server',
    { ...exchanging, crossApplicationAccess: [{ audience: target.audience }] },
    '/crossApplicationAccess/0/clientId',
  ],
  [
    'a scope with a space',
    { ...exchanging, crossApplicationAccess: [{ ...target, scopes: ['a b'] }] },
    '/crossApplicationAccess/0/scopes/0',
  ],
  [
    'an unknown field',
    { ...exchanging, crossApplicationAccess: [{ ...target, scope: 'a' }] },
    '/crossApplicationAccess/0/scope',
  ],
  [
    'a relying party that is not there',
    { ...exchanging, crossApplicationAccess: [{ ...target, relyingParty: 'nobody' }] },
    '/crossApplicationAccess/0/relyingParty',
  ],
  [
    'pairwise subjects without the relying party',
    { ...exchanging, subjectClaim: 'pairwise', crossApplicationAccess: [target] },
    '/crossApplicationAccess/0/relyingParty',
  ],
  [
    'jwt-bearer of a public client',
    { publicClient: true, grantTypes: ['jwt-bearer'] },
    '/grantTypes',
  ],
]

const oidc = {
  protocol: 'oidc',
  crossApplicationAccess: true,
  config: { issuer: 'https://idp.example', clientId: 'acme' },
}
const providers: readonly [string, object, string][] = [
  ['a provider of another protocol', { ...oidc, protocol: 'google' }, '/crossApplicationAccess'],
  ['one for linked accounts alone', { ...oidc, linkOnly: true }, '/crossApplicationAccess'],
  [
    'one with a flow after each sign-in',
    { ...oidc, postLoginFlow: 'first-broker-login' },
    '/crossApplicationAccess',
  ],
  [
    'keys that are the client secret',
    { ...oidc, config: { ...oidc.config, useJwksUrl: false, clientSecret: 'x'.repeat(32) } },
    '/crossApplicationAccess',
  ],
  [
    'one without an issuer',
    {
      ...oidc,
      config: {
        discoveryUrl: 'https://idp.example/.well-known/openid-configuration',
        clientId: 'a',
      },
    },
    '/config/issuer',
  ],
]

describe.each(anyBackend)('cross-application access in documents on $name', (backend) => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  it.each(clients)('refuses %s', async (_title, fields, field) => {
    const made = await server.admin.send('POST', `${base}/clients`, { clientId: 'c', ...fields })
    expect(made.status, JSON.stringify(made.body)).toBe(400)
    expect(JSON.stringify(made.body)).toContain(`"${field}"`)
  })

  it.each(providers)('refuses %s', async (_title, fields, field) => {
    const made = await server.admin.send('POST', `${base}/identity-providers`, {
      alias: 'p',
      ...fields,
    })
    expect(made.status, JSON.stringify(made.body)).toBe(400)
    expect(JSON.stringify(made.body)).toContain(`"${field}"`)
  })

  it('refuses two providers that accept ID-JAGs of one issuer', async () => {
    const send = (alias: string, more = {}) =>
      server.admin.send('POST', `${base}/identity-providers`, { alias, ...oidc, ...more })
    expect((await send('one')).status).toBe(201)
    expect((await send('two')).status).toBe(400)
    expect((await send('two', { crossApplicationAccess: false })).status).toBe(201)
  })

  it('keeps the client of a relying party that a policy names', async () => {
    const { send } = server.admin
    await send('POST', `${base}/clients`, { clientId: 'chat' })
    const made = await send('POST', `${base}/clients`, {
      clientId: 'wiki',
      ...exchanging,
      crossApplicationAccess: [{ ...target, relyingParty: 'chat' }],
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    expect((await send('DELETE', `${base}/clients/chat`)).status).toBe(409)
  })
})
