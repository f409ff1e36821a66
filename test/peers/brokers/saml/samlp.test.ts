/** samlp as the identity provider of a realm, over HTTP: a request that it verifies, an answer that it signs and encrypts. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OidcSite, openIssuer } from '../../../oidc/fixture.ts'
import { actionOf, hiddenFields, newPerson } from '../../../oidc/relying-party.ts'
import { certificateOf, pemOf, privateKeyOf } from '../../../saml/keys.ts'
import { backends } from '../../../support/backends.ts'
import { receiver, sender } from '../../../xml/keys.ts'
import { signersIn } from './fixture.ts'
import { type Samlp, startSamlp } from './samlp-idp.ts'

const claims = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims'

describe.each(backends.slice(-1))('samlp as identity provider on $name', (backend) => {
  let site: OidcSite
  let samlp: Samlp
  beforeAll(async () => {
    const env = { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' }
    ;[site, samlp] = await Promise.all([openIssuer(backend, { env }), startSamlp()])
    await site.admin('POST', '/identity-providers', {
      alias: 'samlp',
      protocol: 'saml',
      trustEmail: true,
      config: {
        spEntityId: `${site.issuer}/broker/samlp`,
        metadataUrl: samlp.metadataUrl,
        emailAttribute: `${claims}/emailaddress`,
        firstNameAttribute: `${claims}/givenname`,
        lastNameAttribute: `${claims}/surname`,
        spDecryptionPrivateKey: privateKeyOf(receiver),
        spDecryptionCertificate: certificateOf(receiver),
        wantAssertionsEncrypted: true,
        wantResponseSigned: true,
      },
    })
    const [certificate = ''] = signersIn((await site.get('/broker/samlp/metadata')).body)
    samlp.serve({
      key: sender,
      user: { id: 'ada-1', email: 'ada@there.example' },
      signingCert: pemOf('CERTIFICATE', certificate),
      encryptTo: receiver,
      acsUrl: `${site.issuer}/broker/samlp/endpoint`,
    })
  })
  afterAll(async () => {
    samlp?.close()
    await site?.close()
  })

  it('signs in: request signed in the query, response and assertion signed, assertion encrypted (AES-256-GCM)', async () => {
    const person = newPerson(site)
    const { away = '' } = await person.open(`${site.issuer}/broker/samlp/login`)
    // It refuses what the key of the realm has not signed.
    const forged = new URL(away)
    forged.searchParams.set('RelayState', 'another')
    expect((await fetch(forged)).status).toBe(400)
    expect(samlp.errors.join()).toMatch(/signature/i)
    const form = await (await fetch(away)).text()
    expect(actionOf(form)).toBe(`${site.issuer}/broker/samlp/endpoint`)
    const fields = hiddenFields(form)
    const xml = Buffer.from(fields['SAMLResponse'] ?? '', 'base64').toString()
    expect(xml).toContain('http://www.w3.org/2009/xmlenc11#aes256-gcm')
    await person.open(actionOf(form), fields)
    expect(person.jar.has('iam-session-acme')).toBe(true)
    const { body } = await site.admin('GET', '/users?search=ada@there.example')
    expect(body).toMatchObject([{ email: 'ada@there.example', firstName: 'Ada', lastName: 'Abel' }])
  })
})
