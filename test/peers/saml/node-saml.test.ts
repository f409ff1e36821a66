/** node-saml as the service provider of a small application, in Chromium. What it checks by itself is in test/saml. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SAML, type SamlConfig, ValidateInResponseTo } from '@node-saml/node-saml'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certificateOf, privateKeyOf } from '../../saml/keys.ts'
import { backends } from '../../support/backends.ts'
import { sender } from '../../xml/keys.ts'
import { openSamlSite, type SamlSite } from './fixture.ts'

// Without a space: node-saml signs it as %20 and sends it as +.
const relayState = '/orders?a=1&b="ü"<x>+%20'

const openProvider = async (issuer: string, certificates: string[]) => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const providerWith = (more: Partial<SamlConfig>): SAML =>
    new SAML({
      issuer: `${url}/metadata`,
      callbackUrl: `${url}/acs`,
      entryPoint: `${issuer}/saml/idp/sso`,
      idpIssuer: issuer,
      idpCert: certificates,
      privateKey: privateKeyOf(sender),
      decryptionPvk: privateKeyOf(sender),
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      identifierFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      validateInResponseTo: ValidateInResponseTo.always,
      ...more,
    })
  const saml = providerWith({})
  // A form carries the request as it is (SAML Bindings §3.5.4); node-saml compresses it unless told otherwise.
  const byForm = providerWith({
    authnRequestBinding: 'HTTP-POST',
    skipRequestCompression: true,
    cacheProvider: saml.cacheProvider,
  })
  server.on('request', async (request, response) => {
    if (request.url === '/acs') {
      const form = Object.fromEntries(new URLSearchParams(await text(request)))
      const shown = await saml.validatePostResponseAsync(form).then(
        ({ profile }) => ({ ...profile, relayState: form['RelayState'] }),
        (error: unknown) => ({ refused: String(error) }),
      )
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(shown))
    } else if (request.url === '/form')
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(await byForm.getAuthorizeFormAsync(relayState))
    else if (request.url === '/') {
      const location = await saml.getAuthorizeUrlAsync(relayState, undefined, {})
      response.writeHead(302, { location }).end()
    }
    // The icon, which a browser asks for by itself: a redirect would begin a second sign-on beside the one of the page.
    else response.writeHead(404).end()
  })
  const certificate = certificateOf(sender)
  return {
    url,
    metadata: saml.generateServiceProviderMetadata(certificate, certificate),
    close: () => server.close(),
  }
}

describe.each(backends.slice(-1))('node-saml and the identity provider on $name', (backend) => {
  let saml: SamlSite
  let provider: Awaited<ReturnType<typeof openProvider>>

  beforeAll(async () => {
    saml = await openSamlSite(backend)
    provider = await openProvider(saml.site.issuer, await saml.certificates())
    await saml.register(provider.metadata, { options: { wantAuthnRequestsSigned: true } })
  })
  afterAll(async () => {
    provider?.close()
    await saml?.close()
  })

  it.each(['/', '/form'])('signs a user in, from %s', async (path) => {
    const visit = await saml.visit()
    await visit.signIn(`${provider.url}${path}`, `${provider.url}/acs`)
    expect(await visit.shown()).toMatchObject({
      issuer: saml.site.issuer,
      username: 'alice',
      email: 'alice@acme.example',
      relayState,
    })
    await visit.close()
  })
})
