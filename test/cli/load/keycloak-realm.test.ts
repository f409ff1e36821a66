/** A realm of Keycloak is one error with what to do, not hundreds about its fields. */
import { describe, expect, it } from 'vitest'
import { brief, createFolder } from './folder.ts'

const exported = JSON.stringify({
  id: '0b5a',
  realm: 'shop',
  sslRequired: 'external',
  roles: { realm: [{ id: '1', name: 'reader' }], client: {} },
  clients: [{ id: '3', clientId: 'web', protocol: 'openid-connect', redirectUris: ['*'] }],
  keycloakVersion: '26.0.0',
})

describe('a realm of Keycloak', () => {
  it.each([
    ['an export of a realm', exported],
    ['an export of a server', `[${exported}]`],
    ['a file of its tools', 'realm: shop\nenabled: true\nroles:\n  realm:\n    - name: reader\n'],
  ])('is refused as what it is: %s', async (_, text) => {
    using folder = createFolder({ 'realms/export.json': text, 'realms/own.yaml': 'realm: other\n' })
    const { realms, diagnostics } = await folder.load()
    expect(brief(diagnostics)).toEqual(['realms/export.json:1:1 realm-of-keycloak'])
    expect(diagnostics[0]?.hint).toContain('iamctl users import')
    expect(realms.map(({ realm }) => realm)).toEqual(['other'])
  })

  it('beside a file that is named is no part of its estate', async () => {
    using folder = createFolder({
      'shop.yaml': 'realm: shop\nroles: [{ name: reader }]\n',
      'realm-export.json': exported,
    })
    const { realms, diagnostics } = await folder.load({ paths: ['shop.yaml'] })
    expect(diagnostics).toEqual([])
    expect(realms[0]?.elsewhere).toEqual([])
  })
})
