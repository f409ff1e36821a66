/** `iamctl doctor` finds what would keep users of an identity provider or directory out, before a user does. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { startUpstream, type Upstream } from '../../../broker/upstream.ts'
import { startLdap } from '../../../directories/ldap-server.ts'
import { bindPassword, bindUser, configFor, entryOf } from '../../../directories/people.ts'
import { makeCertificate, type TestCertificate } from '../../../platform/outgoing/certificates.ts'
import { freePort } from '../../../support/processes/ports.ts'
import { newRealm } from '../fixture/estate.ts'
import { startWorld } from '../fixture/fixture.ts'

const dayMs = 86_400_000
const healthy = makeCertificate(['localhost'], undefined, Date.now() + 90 * dayMs)
const ending = makeCertificate(['localhost'], undefined, Date.now() + 20 * dayMs)
const expired = makeCertificate(['localhost'], undefined, Date.now() - dayMs)

const folder = mkdtempSync(join(tmpdir(), 'iamctl-doctor-'))
const ca = join(folder, 'ca.pem')
writeFileSync(ca, [healthy, ending, expired].map(({ certificate }) => certificate).join(''))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const world = startWorld({
  IAMCTL_OUTGOING_ALLOW: '127.0.0.1,localhost',
  IAMCTL_OUTGOING_ALLOW_HTTP: 'true',
  NODE_EXTRA_CA_CERTS: ca,
})

interface Found {
  readonly check: string
  readonly status: string
  readonly message: string
  readonly remedy?: string
}

const send = async (realm: string, method: string, path: string, body?: unknown): Promise<void> => {
  const answer = await world().admin.send(method, `/admin/realms/${realm}${path}`, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
}

const realmWith = async (...providers: readonly object[]): Promise<string> => {
  const realm = newRealm()
  const made = await world().admin.send('POST', '/admin/realms', { realm })
  expect(made.status).toBe(201)
  for (const provider of providers) await send(realm, 'POST', '/identity-providers', provider)
  return realm
}

/** What it says about providers: check and status, the message apart. */
const examine = async (realm: string) => {
  const { code, stdout, stderr } = await world().home.run(['doctor', '-o', 'json'], {
    env: { IAMCTL_REALM: realm },
  })
  expect(stderr).toBe('')
  const { findings } = JSON.parse(stdout) as { findings: Found[] }
  const told = findings.filter(({ check }) => /^(?:provider|directory)/.test(check))
  for (const { status, remedy } of told) expect(remedy === undefined).toBe(status === 'ok')
  return {
    code,
    told: told.map(({ check, status }) => `${check} ${status}`),
    text: told.map(({ message }) => message).join('\n'),
  }
}

const oidc = (issuer: string, more: object = {}) => ({
  alias: 'upstream',
  protocol: 'oidc',
  config: { issuer, clientId: 'ours', clientSecret: 'a secret of ours', ...more },
})

const upstream = async (): Promise<Upstream> => {
  const found = await startUpstream()
  onTestFinished(found.close)
  return found
}

const behind = (seconds: number): Upstream['lies'] => ({
  answer: (_path, response) => {
    response.setHeader('date', new Date(Date.now() - seconds * 1000).toUTCString())
    return false
  },
})

/** An OpenID provider behind TLS, with the keys of another. */
const overTls = async ({ certificate, key }: TestCertificate): Promise<string> => {
  const { publicKey } = await upstream()
  let issuer = ''
  const answer: RequestListener = ({ url }, response) => {
    const value = url?.endsWith('openid-configuration')
      ? {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
        }
      : { keys: [publicKey] }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }
  const server = createServer({ cert: certificate, key }, answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  issuer = `https://localhost:${(server.address() as AddressInfo).port}`
  return issuer
}

describe('doctor, of an OpenID provider', () => {
  it('finds nothing wrong with a good one, and finds at once that it is down', async () => {
    const provider = await upstream()
    const realm = await realmWith(oidc(provider.issuer))
    expect(await examine(realm)).toMatchObject({ code: 0, told: ['provider ok'] })
    await provider.close()
    const down = await examine(realm)
    expect(down).toMatchObject({ code: 1, told: ['provider-discovery error'] })
    expect(down.text).toMatch(/^upstream: the discovery document: .*ECONNREFUSED/)
  })

  it('finds another issuer, keys that cannot be used, and a token endpoint that is away', async () => {
    const provider = await upstream()
    const realm = await realmWith(oidc(provider.issuer))
    provider.lies = { discovery: (truth) => ({ ...truth, issuer: 'https://other.example' }) }
    const other = await examine(realm)
    expect(other).toMatchObject({ code: 1, told: ['provider-issuer error'] })
    expect(other.text).toContain('names another issuer: https://other.example')
    const away = `http://127.0.0.1:${await freePort()}/token`
    provider.lies = {
      discovery: (truth) => ({ ...truth, token_endpoint: away }),
      answer: (path, response) => {
        if (path !== '/jwks') return false
        response.end('{"keys":[]}')
        return true
      },
    }
    expect(await examine(realm)).toMatchObject({
      code: 1,
      told: ['provider-keys error', 'provider-connection error'],
    })
  })

  it('finds a client secret that the provider refuses, before a user comes back with a code', async () => {
    const provider = await upstream()
    const realm = await realmWith(oidc(provider.issuer))
    provider.lies = {
      answer: (path, response) => {
        if (path !== '/token') return false
        response.writeHead(401, { 'content-type': 'application/json' })
        response.end('{"error":"invalid_client"}')
        return true
      },
    }
    const found = await examine(realm)
    expect(found).toMatchObject({ code: 1, told: ['provider-client error'] })
    expect(found.text).not.toContain('a secret of ours')
  })

  it('warns of a clock that is two minutes off, and finds that sign-ins fail when it is ten', async () => {
    const provider = await upstream()
    const realm = await realmWith(oidc(provider.issuer))
    provider.lies = behind(120)
    expect(await examine(realm)).toMatchObject({ code: 0, told: ['provider-clock warning'] })
    provider.lies = behind(600)
    const off = await examine(realm)
    expect(off).toMatchObject({ code: 1, told: ['provider-clock error'] })
    expect(off.text).toMatch(/60[0-2] seconds behind/)
  })

  it('tells a TLS certificate that has expired, and one that is about to', async () => {
    const told = async (certificate: TestCertificate) => {
      const realm = await realmWith(oidc(await overTls(certificate)))
      return examine(realm)
    }
    expect(await told(healthy)).toMatchObject({ code: 0, told: ['provider ok'] })
    const soon = await told(ending)
    expect(soon).toMatchObject({ code: 0, told: ['provider-tls warning'] })
    const date = new Date(Date.now() + 20 * dayMs).toISOString().slice(0, 7)
    expect(soon.text).toContain(`expires on ${date}`)
    const late = await told(expired)
    expect(late).toMatchObject({ code: 1, told: ['provider-discovery error'] })
    expect(late.text).toContain('CERT_HAS_EXPIRED')
  })

  it('checks none that is disabled, and says which the sign-in flow does not reach', async () => {
    const closed = await realmWith({ ...oidc('https://none.example'), enabled: false })
    expect((await examine(closed)).told).toEqual([])
    const provider = await upstream()
    const realm = await realmWith(oidc(provider.issuer))
    await send(realm, 'POST', '/flows', {
      alias: 'own',
      authenticationExecutions: [{ authenticator: 'username-password', requirement: 'REQUIRED' }],
    })
    await send(realm, 'PUT', '/settings', { browserFlow: 'own' })
    const { told, text } = await examine(realm)
    expect(told).toEqual(['provider-flow warning', 'provider ok'])
    expect(text).toContain('through upstream: the flow "own" (browserFlow) has no step')
  })
})

describe('doctor, of a SAML provider', () => {
  const saml = (ssoUrl: string, signing: TestCertificate, more: object = {}) => ({
    alias: 'corp',
    protocol: 'saml',
    config: {
      ssoUrl,
      idpEntityId: 'https://idp.example',
      spEntityId: 'https://sp.example',
      idpSigningCertificate: signing.certificate,
      ...more,
    },
  })
  const good = makeCertificate(['idp.example'], 2048, Date.now() + 90 * dayMs)
  const old = makeCertificate(['idp.example'], 2048, Date.now() - dayMs)

  it('finds nothing wrong with a good one, and warns of an expired signing certificate', async () => {
    const { url } = await upstream()
    expect(await examine(await realmWith(saml(`${url}/sso`, good)))).toMatchObject({
      code: 0,
      told: ['provider ok'],
    })
    const late = await examine(await realmWith(saml(`${url}/sso`, old)))
    expect(late).toMatchObject({ code: 0, told: ['provider-certificates warning'] })
    expect(late.text).toMatch(/corp: the signing certificate of the provider, .* expired on \d{4}-/)
  })

  it('finds a clock that is off, an address that is away, and metadata that cannot be read', async () => {
    const provider = await upstream()
    provider.lies = behind(600)
    expect(await examine(await realmWith(saml(`${provider.url}/sso`, good)))).toMatchObject({
      code: 1,
      told: ['provider-clock error'],
    })
    const away = `http://127.0.0.1:${await freePort()}`
    expect((await examine(await realmWith(saml(`${away}/sso`, good)))).told).toEqual([
      'provider-connection warning',
    ])
    const artifact = {
      responseBinding: 'HTTP-Artifact',
      artifactResolutionServiceUrl: `${away}/resolve`,
    }
    provider.lies = {}
    const resolving = await realmWith(saml(`${provider.url}/sso`, good, artifact))
    expect(await examine(resolving)).toMatchObject({
      code: 1,
      told: ['provider-connection error'],
    })
    const metadata = {
      metadataUrl: 'https://localhost:1/metadata',
      spEntityId: 'https://sp.example',
    }
    const unread = await realmWith({ alias: 'corp', protocol: 'saml', config: metadata })
    expect(await examine(unread)).toMatchObject({ code: 1, told: ['provider-config error'] })
  })
})

it('checks directories in the same way, and never shows the bind password', async () => {
  const ldap = await startLdap([bindUser, entryOf('ada')])
  onTestFinished(ldap.close)
  const realm = await realmWith({
    alias: 'directory',
    protocol: 'ldap',
    config: { ...configFor(ldap.url), url: `ldap://127.0.0.1:${await freePort()} ${ldap.url}` },
  })
  const { code, told, text } = await examine(realm)
  expect(code).toBe(1)
  expect(told).toEqual([
    'directory-connection error',
    'directory-tls warning',
    'directory-bind ok',
    'directory-search ok',
  ])
  expect(text).toContain('directory: ')
  expect(text).not.toContain(bindPassword)
})
