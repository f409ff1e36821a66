/** node-saml, the service provider of most applications on Node.js, against the identity provider over HTTP. */

import { type Profile, SAML, type SamlConfig, ValidateInResponseTo } from '@node-saml/node-saml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { addPerson, change, hiddenFields, newPerson, type Person } from '../oidc/relying-party.ts'
import { backends } from '../support/backends.ts'
import { sender } from '../xml/keys.ts'
import { acsUrl, addProvider, certificatesOf, entityId, providerPath } from './fixture.ts'
import { certificateOf, privateKeyOf } from './keys.ts'

const ac = 'urn:oasis:names:tc:SAML:2.0:ac:classes'

describe.each(backends)('node-saml and the identity provider on $name', (backend) => {
  let site: OidcSite
  let alice: Person
  let certificates: string[]
  beforeAll(async () => {
    site = await openIssuer(backend)
    await addProvider(site, {
      signingCertificate: sender.certificate,
      encryptionCertificate: sender.certificate,
      options: { wantAuthnRequestsSigned: true },
    })
    await addPerson(site, 'alice')
    certificates = certificatesOf((await site.get('/saml/idp/metadata')).body)
    alice = newPerson(site)
  }, 60_000)
  afterAll(() => site.close())

  const providerWith = (more: Partial<SamlConfig> = {}): SAML =>
    new SAML({
      issuer: entityId,
      callbackUrl: acsUrl,
      entryPoint: `${site.issuer}/saml/idp/sso`,
      idpIssuer: site.issuer,
      idpCert: certificates,
      audience: entityId,
      privateKey: privateKeyOf(sender),
      publicCert: certificateOf(sender),
      decryptionPvk: privateKeyOf(sender),
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      wantAssertionsSigned: true,
      wantAuthnResponseSigned: true,
      identifierFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      authnContext: [`${ac}:PasswordProtectedTransport`],
      validateInResponseTo: ValidateInResponseTo.always,
      acceptedClockSkewMs: 0,
      ...more,
    })

  const responseOf = (body: string): Record<string, string> => {
    const { SAMLResponse = '', RelayState = '' } = hiddenFields(body)
    return { SAMLResponse, RelayState }
  }

  const profileOf = async (saml: SAML, container: Record<string, string>): Promise<Profile> => {
    const { profile } = await saml.validatePostResponseAsync(container)
    if (!profile) throw new Error('node-saml found no user')
    return profile
  }

  it('signs a user in by a signed redirect, and gets RelayState back byte for byte', async () => {
    const saml = providerWith()
    // Without a space: node-saml signs it as %20 and sends it as +.
    const relayState = '/orders?a=1&b="ü"<x>+%20'
    const page = await alice.signIn(await saml.getAuthorizeUrlAsync(relayState, undefined, {}))
    const container = responseOf(page.body)
    expect(container['RelayState']).toBe(relayState)
    expect(await profileOf(saml, container)).toMatchObject({
      issuer: site.issuer,
      nameIDFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      nameQualifier: site.issuer,
      spNameQualifier: entityId,
      username: 'alice',
      email: 'alice@acme.example',
    })
  })

  it('refuses a response that it has seen, and one that was changed', async () => {
    const saml = providerWith()
    const answer = async (): Promise<Record<string, string>> =>
      responseOf((await alice.signIn(await saml.getAuthorizeUrlAsync('', undefined, {}))).body)
    const { SAMLResponse = '' } = await answer()
    const xml = Buffer.from(SAMLResponse, 'base64').toString()
    const changed = Buffer.from(xml.replaceAll('alice@', 'admin@')).toString('base64')
    await expect(profileOf(saml, { SAMLResponse: changed })).rejects.toThrow(/signature/i)
    const container = await answer()
    await profileOf(saml, container)
    await expect(profileOf(saml, container)).rejects.toThrow(/InResponseTo/)
  })

  it('signs a user in by a signed form', async () => {
    const saml = providerWith({ authnRequestBinding: 'HTTP-POST', skipRequestCompression: true })
    const form = hiddenFields(await saml.getAuthorizeFormAsync('r'))
    const stored = await site.post('/saml/idp/sso', form)
    expect(stored.status).toBe(303)
    const next = `${site.server.baseUrl}${stored.headers.get('location')}`
    const container = responseOf((await alice.signIn(next)).body)
    expect(container['RelayState']).toBe('r')
    expect(await profileOf(saml, container)).toMatchObject({ username: 'alice' })
  })

  it('decrypts an assertion: AES-256-GCM under RSA-OAEP', async () => {
    await change(site, providerPath(), {
      options: {
        encryptAssertion: true,
        wantAuthnRequestsSigned: true,
        keyTransportAlgorithm: 'rsa-oaep-mgf1p',
      },
    })
    const saml = providerWith()
    const page = await alice.signIn(await saml.getAuthorizeUrlAsync('', undefined, {}))
    const container = responseOf(page.body)
    const xml = Buffer.from(container['SAMLResponse'] ?? '', 'base64').toString()
    expect(xml).not.toContain('alice@acme.example')
    expect(xml).toContain('http://www.w3.org/2009/xmlenc11#aes256-gcm')
    expect(await profileOf(saml, container)).toMatchObject({ email: 'alice@acme.example' })
  })

  it('is told NoPassive, and who cannot be met by an authentication context', async () => {
    const passive = providerWith({ passive: true })
    const asked = await passive.getAuthorizeUrlAsync('', undefined, {})
    const { body } = await newPerson(site).open(asked)
    // node-saml reads NoPassive as "no user", without an error.
    expect(await passive.validatePostResponseAsync(responseOf(body))).toMatchObject({
      profile: null,
      loggedOut: false,
    })
    const kerberos = providerWith({ authnContext: [`${ac}:Kerberos`] })
    const page = await alice.signIn(await kerberos.getAuthorizeUrlAsync('', undefined, {}))
    await expect(profileOf(kerberos, responseOf(page.body))).rejects.toThrow(
      'Responder error: no sign-in meets the authentication context',
    )
  })
})
