/**
 * A stored secret is never sent to a host other than the one it was given for (CVE-2024-5967): a change of the provider's
 * address does not reveal its password.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const [backend] = backends
if (!backend) throw new Error('no database')

/** Of each kind: how it is written, the field of its secret, and a document that leads to an address. */
const targets = [
  {
    what: 'SMTP server',
    create: ['PUT', '/messaging/providers'],
    update: () => ['PUT', '/messaging/providers'],
    secret: ['secret'],
    doc: (host: string) => ({
      channel: 'EMAIL',
      driver: 'smtp',
      fromAddress: 'a@acme.example',
      config: { host, port: 587, username: 'acme' },
    }),
    changes: [{ config: { host: 'one.example', port: 25, username: 'acme' } }],
  },
  {
    what: 'gateway',
    create: ['PUT', '/messaging/providers'],
    update: () => ['PUT', '/messaging/providers'],
    secret: ['secret'],
    doc: (host: string) => ({
      channel: 'SMS',
      driver: 'http',
      config: { url: `https://${host}/send` },
    }),
    changes: [{ config: { url: 'https://one.example:8443/send' } }],
  },
  {
    what: 'vendor of messages',
    create: ['PUT', '/messaging/providers'],
    update: () => ['PUT', '/messaging/providers'],
    secret: ['secret'],
    doc: (host: string) => ({
      channel: 'SMS',
      driver: 'twilio',
      fromAddress: 'Acme',
      config: { accountSid: 'AC1', url: `https://${host}` },
    }),
    changes: [{ config: { accountSid: 'AC1' } }],
  },
  {
    what: 'directory',
    create: ['POST', '/identity-providers'],
    update: () => ['PUT', '/identity-providers/directory'],
    secret: ['config', 'bindPassword'],
    doc: (host: string) => ({
      alias: 'directory',
      protocol: 'ldap',
      config: { url: `ldaps://${host}`, userSearchBase: 'ou=people', bindDn: 'cn=reader' },
    }),
    changes: [
      { config: { url: 'ldap://one.example', userSearchBase: 'ou=people', bindDn: 'cn=reader' } },
    ],
  },
  {
    what: 'OIDC provider',
    create: ['POST', '/identity-providers'],
    update: () => ['PUT', '/identity-providers/corp'],
    secret: ['config', 'clientSecret'],
    doc: (host: string) => ({
      alias: 'corp',
      protocol: 'oidc',
      config: {
        issuer: `https://${host}`,
        clientId: 'acme',
        authorizationUrl: `https://${host}/authorize`,
        tokenUrl: `https://${host}/token`,
        jwksUrl: `https://${host}/keys`,
      },
    }),
    changes: [],
  },
  {
    what: 'SCIM target',
    create: ['POST', '/scim-targets'],
    update: (id: string) => ['PUT', `/scim-targets/${id}`],
    secret: ['token'],
    doc: (host: string) => ({ name: 'wiki', baseUrl: `https://${host}/scim` }),
    changes: [],
  },
] as const

const withSecret = (doc: object, path: readonly string[], value: string): object => {
  const [name = '', ...rest] = path
  const inner = (doc as Record<string, unknown>)[name]
  return { ...doc, [name]: rest.length === 0 ? value : withSecret(inner as object, rest, value) }
}

describe('a stored secret', () => {
  let server: TestServer
  let base: string
  beforeAll(async () => {
    server = await startServer(backend)
    base = await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const send = (method: string, path: string, body?: unknown) =>
    server.admin.send(method, `${base}${path}`, body)
  const revision = async (): Promise<number> => (await send('GET', '/export')).body.revision

  it.each(targets)('of a $what does not follow it to another place', async (target) => {
    const { create, update, secret, doc, changes } = target
    const field = `/${secret.join('/')}`
    const first = await send(create[0], create[1], withSecret(doc('one.example'), secret, 'first'))
    expect(first.status, JSON.stringify(first.body)).toBeLessThan(300)
    const before = await revision()
    const [method = '', path = ''] = update(first.body.id)

    for (const moved of [doc('two.example'), ...changes.map((part) => ({ ...doc(''), ...part }))]) {
      const refused = await send(method, path, moved)
      expect([refused.status, refused.body.errors]).toEqual([
        400,
        [{ field, code: 'secret-moved', message: expect.stringMatching(/^give \w+ again: \//) }],
      ])
    }
    expect(await revision()).toBe(before)
    // The same host, spelled otherwise.
    expect((await send(method, path, doc('ONE.example'))).status).toBe(200)

    const given = await send(method, path, withSecret(doc('two.example'), secret, 'first'))
    expect(given.status, JSON.stringify(given.body)).toBe(200)
    const back = await send('POST', `/revisions/${before}/rollback`, {})
    expect([back.status, JSON.stringify(back.body)]).toEqual([
      400,
      expect.stringContaining('again'),
    ])
  })

  it('of a webhook goes nowhere: it signs, and stays when the receiver moves', async () => {
    const hook = { name: 'hook', url: 'https://one.example/', eventTypes: '*' }
    const { body } = await send('POST', '/webhooks', { ...hook, secret: 'signs' })
    const moved = { ...hook, url: 'https://two.example/' }
    expect((await send('PUT', `/webhooks/${body.id}`, moved)).status).toBe(200)
  })
})
