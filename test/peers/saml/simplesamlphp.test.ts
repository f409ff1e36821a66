/** SimpleSAMLphp as a service provider: requests signed in the query, assertions signed and encrypted in a form. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { password } from '../../oidc/relying-party.ts'
import { certificateOf, privateKeyOf } from '../../saml/keys.ts'
import { backends } from '../../support/backends.ts'
import {
  type SimpleSamlPhp,
  startSimpleSamlPhp,
} from '../../support/processes/programs/simplesamlphp.ts'
import { sender } from '../../xml/keys.ts'
import { openSamlSite, type SamlSite } from './fixture.ts'

describe.each(backends.slice(-1))('simplesamlphp and the identity provider on $name', (backend) => {
  let saml: SamlSite
  let php: SimpleSamlPhp

  const metadataOf = async (source: string): Promise<string> =>
    (await fetch(`${php.url}/module.php/saml/sp/metadata.php/${source}`)).text()

  beforeAll(async () => {
    saml = await openSamlSite(backend)
    php = await startSimpleSamlPhp({
      issuer: saml.site.issuer,
      metadata: await saml.metadata(),
      privateKey: privateKeyOf(sender),
      certificate: certificateOf(sender),
    })
    const options = {
      wantAuthnRequestsSigned: true,
      encryptAssertion: true,
      // The only transport that its library knows.
      keyTransportAlgorithm: 'rsa-oaep-mgf1p',
    }
    for (const source of ['by-post', 'by-artifact'])
      await saml.register(await metadataOf(source), { options })
  })
  afterAll(async () => {
    await php?.close()
    await saml?.close()
  })

  it('signs a user in: request signed by redirect, assertion signed and encrypted (AES-256-GCM) by POST', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${php.url}/app.php?as=by-post`)
    expect(await visit.shown()).toMatchObject({
      idp: saml.site.issuer,
      // What it asks for unless it is configured otherwise.
      format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
      attributes: { username: ['alice'], email: ['alice@acme.example'] },
    })
    const [asked, answered] = visit.messages
    expect([asked?.binding, new URL(asked?.url ?? '').searchParams.has('Signature')]).toEqual([
      'HTTP-Redirect',
      true,
    ])
    expect(answered?.xml).toContain('http://www.w3.org/2009/xmlenc11#aes256-gcm')
    const assertion = saml.judges.decrypted(answered?.xml ?? '', privateKeyOf(sender))
    expect(saml.judges.signedIn(assertion, await saml.certificates())).toEqual(['Assertion'])
    await visit.close()
  })

  it('signs a user in by an artifact, which it resolves over SOAP', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${php.url}/app.php?as=by-artifact`)
    expect(await visit.shown()).toMatchObject({ attributes: { username: ['alice'] } })
    // The browser has carried no response.
    expect(visit.statuses('Response')).toEqual([])
    await visit.close()
  })

  it('signs its user out at the identity provider, and at the other application of the session', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${php.url}/app.php?as=by-artifact`)
    await visit.page.goto(`${php.url}/app.php?as=by-post`)
    await visit.page.waitForURL(`${php.url}/app.php?as=by-post`)
    await visit.page.goto(`${php.url}/app.php?as=by-post&logout`)
    await visit.page.waitForURL(`${php.url}/bye.php`)
    expect(visit.statuses('LogoutResponse')).toEqual([
      'service provider Success',
      'identity provider Success',
    ])
    for (const source of ['by-post', 'by-artifact'])
      expect(await visit.isSignedOut(`${php.url}/app.php?as=${source}`)).toBe(true)
    await visit.close()
  })

  it('signs its user out when the identity provider says so', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${php.url}/app.php?as=by-post`)
    await visit.signOut()
    expect(visit.statuses('LogoutResponse')).toEqual(['service provider Success'])
    expect(await visit.isSignedOut(`${php.url}/app.php?as=by-post`)).toBe(true)
    await visit.close()
  })

  it('follows a rotation of the signing key: the next one is in the metadata that it has, later ones in what it reads again', async () => {
    const certificateIn = (xml = ''): string => /<ds:X509Certificate>([^<]*)/.exec(xml)?.[1] ?? ''
    const signer = async (): Promise<string> => {
      const visit = await saml.visit()
      await visit.signIn(`${php.url}/app.php?as=by-post`)
      expect(await visit.shown()).toMatchObject({ attributes: { username: ['alice'] } })
      const response = visit.messages.find(({ parameter }) => parameter === 'SAMLResponse')
      await visit.close()
      return certificateIn(response?.xml)
    }
    const [first, second] = await saml.certificates()
    expect(await signer()).toBe(first)
    await saml.site.admin('POST', '/keys/rotate')
    expect(await signer()).toBe(second)
    // As after a break-in: the key signs at once, and has been in no metadata before.
    await saml.site.admin('POST', '/keys/rotate?fresh=true')
    const [third] = await saml.certificates()
    const early = await saml.visit()
    const consumed = early.page.waitForResponse((one) => one.url().includes('saml2-acs.php'))
    await early.page.goto(`${php.url}/app.php?as=by-post`)
    await early.page.getByLabel('Username').fill('alice')
    await early.page.getByLabel('Password').fill(password)
    await early.page.getByRole('button', { name: 'Sign in' }).click()
    // It does not know this key yet, and does not lead on to the application.
    expect((await consumed).headers()['location']).toBeUndefined()
    await early.close()
    await php.readMetadata(await saml.metadata())
    expect(await signer()).toBe(third)
  })
})
