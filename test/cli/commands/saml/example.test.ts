/** The service provider of realms.example, from the files to an assertion. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { OidcSite } from '../../../oidc/fixture.ts'
import { newPerson, password } from '../../../oidc/relying-party.ts'
import { askUrl, only, sentOf, statusOf } from '../../../saml/fixture.ts'
import { startWorld } from '../fixture/fixture.ts'

const world = startWorld()

const example = fileURLToPath(new URL('../../../../realms.example', import.meta.url))
const names = [
  'ORDERS_SECRET',
  'ASSISTANT_SECRET',
  'CHAT_SCIM_TOKEN',
  'SIEM_SECRET',
  'GLOBEX_SECRET',
  'SMTP_PASSWORD',
]
const secret = 'a secret of at least thirty-two characters'
const env = Object.fromEntries([
  ...names.map((name) => [`ACME_${name}`, secret]),
  ...['ALICE', 'BOB'].map((name) => [`ACME_${name}_PASSWORD`, password]),
])

describe('the wiki of realms.example', () => {
  it('is told the address of a user whom the files declare', async () => {
    const { server, home } = world()
    const applied = await home.run(['apply', '--auto-approve'], { cwd: example, env })
    expect(applied.code, applied.stderr).toBe(0)
    const issuer = `${server.url}/realms/acme`
    const site = { issuer, server: { baseUrl: server.url } } as OidcSite
    const asked = askUrl(site, { issuer: 'https://wiki.acme.example/saml' })
    const sent = sentOf(await newPerson(site).signIn(asked, 'bob'))
    expect([sent.url, statusOf(sent)]).toEqual(['https://wiki.acme.example/saml/acs', 'Success'])
    const nameId = only(sent.response, 'saml:Assertion', 'saml:Subject', 'saml:NameID')
    expect(nameId.text).toBe('bob@globex.example')
  })
})
