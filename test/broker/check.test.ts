/** POST …/identity-providers/{alias}/check goes out through the guarded client alone, and only for those who manage providers. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeCertificate } from '../platform/outgoing/certificates.ts'
import { anyBackend } from '../support/backends.ts'
import { type Broker, openBrokerRealm } from './trips.ts'
import { startUpstream, type Upstream } from './upstream.ts'

describe.each(anyBackend)('the check of an identity provider', (backend) => {
  let realm: Broker
  let inside: Upstream
  beforeAll(async () => {
    ;[realm, inside] = await Promise.all([
      openBrokerRealm(backend, { IAMCTL_OUTGOING_ALLOW: '' }),
      startUpstream(),
    ])
  })
  afterAll(async () => {
    await realm.close()
    await inside.close()
  })

  const { certificate } = makeCertificate(['idp.example'], 2048)
  const saml = (config: object) => ({
    protocol: 'saml',
    config: {
      idpEntityId: 'https://idp.example',
      spEntityId: 'https://sp.example',
      idpSigningCertificate: certificate,
      ...config,
    },
  })
  const oidc = (config: object) => ({ protocol: 'oidc', config: { clientId: 'us', ...config } })

  it.each([
    ['issuer', (at: string) => oidc({ issuer: at })],
    ['discoveryUrl', (at: string) => oidc({ discoveryUrl: `${at}/discovery` })],
    [
      'tokenUrl and jwksUrl',
      (at: string) =>
        oidc({
          issuer: 'https://idp.example',
          authorizationUrl: 'https://idp.example/authorize',
          tokenUrl: `${at}/token`,
          jwksUrl: `${at}/jwks`,
        }),
    ],
    ['ssoUrl', (at: string) => saml({ ssoUrl: `${at}/sso` })],
    [
      'artifactResolutionServiceUrl',
      (at: string) =>
        saml({
          ssoUrl: `${at}/sso`,
          responseBinding: 'HTTP-Artifact',
          artifactResolutionServiceUrl: `${at}/resolve`,
        }),
    ],
  ])('never reaches an internal address by %s, and says so', async (name, providerAt) => {
    const alias = name.split(' ')[0] ?? ''
    await realm.must('POST', '/identity-providers', { alias, ...providerAt(inside.url) })
    const findings: { status: string; message: string; remedy?: string }[] = await realm.must(
      'POST',
      `/identity-providers/${alias}/check`,
    )
    expect(findings.map(({ status }) => status)).not.toContain('ok')
    expect(findings.map(({ message }) => message).join()).toContain('is not allowed')
    expect(inside.requests).toEqual([])
  })

  it('has none for a provider that does not exist', async () => {
    await expect(realm.must('POST', '/identity-providers/none/check')).rejects.toThrow(/not-found/)
  })
})
