/** OneLogin's toolkit, the service provider of many Python applications, in its strict mode. */

import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certificateOf, privateKeyOf } from '../../saml/keys.ts'
import { backends } from '../../support/backends.ts'
import { type PythonProgram, startPython } from '../../support/processes/programs/python.ts'
import { sender } from '../../xml/keys.ts'
import { openSamlSite, type SamlSite } from './fixture.ts'

const script = fileURLToPath(new URL('./onelogin_sp.py', import.meta.url))
const relayState = '/orders?a=1&b="ü" <x>+%20'

describe.each(backends.slice(-1))('onelogin and the identity provider on $name', (backend) => {
  let saml: SamlSite
  let python: PythonProgram

  beforeAll(async () => {
    saml = await openSamlSite(backend)
    python = await startPython(script, 'onelogin', {
      files: {
        metadata: await saml.metadata(),
        key: privateKeyOf(sender),
        certificate: certificateOf(sender),
      },
    })
    const metadata = await fetch(`${python.url}/metadata`)
    await saml.register(await metadata.text(), {
      options: {
        wantAuthnRequestsSigned: true,
        encryptAssertion: true,
        // xmlsec1 1.2 knows no other transport.
        keyTransportAlgorithm: 'rsa-oaep-mgf1p',
      },
    })
  })
  afterAll(async () => {
    await python?.close()
    await saml?.close()
  })

  it('signs a user in: everything signed, the assertion encrypted, the context as asked for', async () => {
    const visit = await saml.visit()
    const query = `relay_state=${encodeURIComponent(relayState)}`
    await visit.signIn(`${python.url}/login?${query}`, `${python.url}/acs`)
    expect(await visit.shown()).toMatchObject({
      errors: [],
      reason: null,
      format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      attributes: { username: ['alice'], email: ['alice@acme.example'] },
      contexts: ['urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport'],
      relayState,
    })
    await visit.close()
  })
})
