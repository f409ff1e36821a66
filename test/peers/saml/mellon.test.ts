/** Apache with mod_auth_mellon (on lasso): a strict service provider without a session of its own on disk. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certificateOf, privateKeyOf } from '../../saml/keys.ts'
import { backends } from '../../support/backends.ts'
import { type Apache, startApache } from '../../support/processes/programs/apache.ts'
import { sender } from '../../xml/keys.ts'
import { type Application, openApplication } from '../application.ts'
import { openSamlSite, type SamlSite } from './fixture.ts'

const ac = 'urn:oasis:names:tc:SAML:2.0:ac:classes'
const shownVariables = ['username', 'email']
/** Each asks for another context, at endpoints of its own: those below / do not know what a page wants. */
const contexts = {
  '/password': [`MellonAuthnContextClassRef ${ac}:PasswordProtectedTransport`],
  '/kerberos': [`MellonAuthnContextClassRef ${ac}:Kerberos`],
  '/minimum': [
    `MellonAuthnContextClassRef ${ac}:Password`,
    'MellonAuthnContextComparisonType minimum',
  ],
}

describe.each(backends.slice(-1))('mellon and the identity provider on $name', (backend) => {
  let saml: SamlSite
  let application: Application
  let apache: Apache

  beforeAll(async () => {
    ;[saml, application] = await Promise.all([openSamlSite(backend), openApplication()])
    const configure = async (url: string, folder: string): Promise<string[]> => {
      const file = (name: string, text: string): string => {
        writeFileSync(join(folder, name), text)
        return join(folder, name)
      }
      const asking = (path: string, ...lines: string[]): string[] => [
        `<Location ${path}>`,
        '  MellonEnable auth',
        '  AuthType Mellon',
        '  Require valid-user',
        ...lines,
        '</Location>',
      ]
      return [
        `MellonLockFile ${folder}/mellon.lock`,
        // Over http a cookie for all sites would have to be Secure.
        'SetEnvIf Request_URI "^" MELLON_DISABLE_SAMESITE=1',
        ...['', ...Object.keys(contexts)].map((path) => `ProxyPass ${path}/mellon !`),
        `ProxyPass / ${application.url}/`,
        '<Location />',
        '  MellonEnable info',
        '  MellonEndpointPath /mellon',
        '  MellonSecureCookie Off',
        '  MellonSignatureMethod rsa-sha256',
        `  MellonSPentityId ${url}/mellon/metadata`,
        `  MellonSPPrivateKeyFile ${file('sp.key', privateKeyOf(sender))}`,
        `  MellonSPCertFile ${file('sp.crt', certificateOf(sender))}`,
        `  MellonIdPMetadataFile ${file('idp.xml', await saml.metadata())}`,
        ...shownVariables.map((name) => `  RequestHeader set mellon-${name} "%{MELLON_${name}}e"`),
        '</Location>',
        ...asking('/secure'),
        ...Object.entries(contexts).flatMap(([path, lines]) =>
          asking(path, `MellonEndpointPath ${path}/mellon`, ...lines),
        ),
      ]
    }
    apache = await startApache({ module: 'mod_auth_mellon', configure })
    const metadata = await fetch(`${apache.url}/mellon/metadata`)
    const additionalAcsUrls = Object.keys(contexts).map(
      (path) => `${apache.url}${path}/mellon/postResponse`,
    )
    await saml.register(await metadata.text(), {
      options: { wantAuthnRequestsSigned: true, additionalAcsUrls },
    })
  })
  afterAll(async () => {
    await apache?.close()
    application?.close()
    await saml?.close()
  })

  it('signs a user in by a signed redirect, and passes the attributes on', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${apache.url}/secure/page?a=1&b=%C3%BC`)
    expect(await visit.shown()).toMatchObject({
      'mellon-username': 'alice',
      'mellon-email': 'alice@acme.example',
    })
    expect(apache.errorLog()).not.toContain(':error]')
    await visit.close()
  })

  it.each(['/password', '/minimum'])('gets the context that it asks for at %s', async (path) => {
    const visit = await saml.visit()
    await visit.signIn(`${apache.url}${path}`)
    expect(await visit.shown()).toMatchObject({ 'mellon-username': 'alice' })
    expect(visit.messages[0]?.xml).toContain('<samlp:RequestedAuthnContext')
    await visit.close()
  })

  it('is told that no sign-in meets a context', async () => {
    const visit = await saml.visit()
    const answer = visit.page.waitForResponse(`${apache.url}/kerberos/mellon/postResponse`)
    await visit.page.goto(`${apache.url}/kerberos`)
    expect((await answer).status()).toBe(401)
    expect(visit.messages.at(-1)?.xml).toContain('NoAuthnContext')
    await visit.close()
  })

  it('is told NoPassive, and gets a user without a page where there is a session', async () => {
    const visit = await saml.visit()
    const passive = `${apache.url}/mellon/login?ReturnTo=/secure/page&IsPassive=true`
    const answer = visit.page.waitForResponse(`${apache.url}/mellon/postResponse`)
    await visit.page.goto(passive)
    expect((await answer).status()).not.toBe(200)
    expect(visit.messages.at(-1)?.xml).toContain('NoPassive')
    await visit.signIn(`${apache.url}/secure/page`)
    await visit.page.goto(passive)
    await visit.page.waitForURL(`${apache.url}/secure/page`)
    expect(await visit.shown()).toMatchObject({ 'mellon-username': 'alice' })
    await visit.close()
  })

  it('signs its user out at the identity provider, and is led back', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${apache.url}/secure/page`)
    const bye = `${apache.url}/bye`
    await visit.page.goto(`${apache.url}/mellon/logout?ReturnTo=${encodeURIComponent(bye)}`)
    await visit.page.waitForURL(bye)
    expect(visit.statuses('LogoutResponse')).toEqual(['identity provider Success'])
    expect(await visit.isSignedOut(`${apache.url}/secure/page`)).toBe(true)
    await visit.close()
  })

  it('signs its user out when the identity provider says so', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${apache.url}/secure/page`)
    await visit.signOut()
    expect(visit.statuses('LogoutResponse')).toEqual(['service provider Success'])
    expect(await visit.isSignedOut(`${apache.url}/secure/page`)).toBe(true)
    await visit.close()
  })
})
