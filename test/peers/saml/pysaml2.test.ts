/** pysaml2, the service provider of Django and Flask applications: it verifies with xmlsec1. */

import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certificateOf, privateKeyOf } from '../../saml/keys.ts'
import { backends } from '../../support/backends.ts'
import { type PythonProgram, startPython } from '../../support/processes/programs/python.ts'
import { sender } from '../../xml/keys.ts'
import { openSamlSite, type SamlSite } from './fixture.ts'

const script = fileURLToPath(new URL('./pysaml2_sp.py', import.meta.url))
const relayState = '/orders?a=1&b="ü" <x>+%20'

describe.each(backends.slice(-1))('pysaml2 and the identity provider on $name', (backend) => {
  let saml: SamlSite
  let python: PythonProgram

  beforeAll(async () => {
    saml = await openSamlSite(backend)
    python = await startPython(script, 'pysaml2', {
      issuer: saml.site.issuer,
      files: {
        metadata: await saml.metadata(),
        key: privateKeyOf(sender),
        certificate: certificateOf(sender),
      },
    })
    const metadata = await fetch(`${python.url}/metadata`)
    await saml.register(await metadata.text(), { options: { wantAuthnRequestsSigned: true } })
  })
  afterAll(async () => {
    await python?.close()
    await saml?.close()
  })

  it.each(['', '&form'])('signs a user in by a signed request (%j)', async (form) => {
    const visit = await saml.visit()
    const query = `relay_state=${encodeURIComponent(relayState)}${form}`
    await visit.signIn(`${python.url}/login?${query}`, `${python.url}/acs`)
    expect(await visit.shown()).toMatchObject({
      issuer: saml.site.issuer,
      format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      attributes: { username: ['alice'], email: ['alice@acme.example'] },
      context: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
      relayState,
      cameFrom: relayState,
    })
    await visit.close()
  })
})
