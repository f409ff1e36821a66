/** LemonLDAP::NG as the identity provider of a realm, on Lasso, in Chromium: sign-in, and sign-out here. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certificateOf, privateKeyOf } from '../../../saml/keys.ts'
import { backends } from '../../../support/backends.ts'
import {
  type LemonLdapSaml,
  openLemonLdapSaml,
} from '../../../support/processes/programs/lemonldap-saml.ts'
import { sender } from '../../../xml/keys.ts'
import { openUpstreamSite, type UpstreamSite } from './fixture.ts'

describe.each(backends.slice(-1))('lemonldap as identity provider on $name', (backend) => {
  let realm: UpstreamSite
  let lemon: LemonLdapSaml
  beforeAll(async () => {
    realm = await openUpstreamSite(backend)
    lemon = await openLemonLdapSaml({
      privateKey: privateKeyOf(sender),
      certificate: certificateOf(sender),
    })
    await realm.connect('lemon', lemon, { config: { authnRequestBinding: 'HTTP-POST' } })
  })
  afterAll(async () => {
    await lemon?.close()
    await realm?.close()
  })

  it('signs in with a request that it verifies, and is signed out when the user signs out here', async () => {
    const visit = await realm.visit()
    await visit.leave('lemon')
    await visit.page.locator('input[name=user]').fill('dwho')
    await visit.page.locator('input[name=password]').fill('dwho')
    await visit.page.locator('input[name=password]').press('Enter')
    expect(await visit.arrived()).toBe('dwho@badwolf.org')
    expect(visit.said()).toEqual(['we AuthnRequest', 'they Response Success'])
    await visit.signOut()
    expect(visit.said().slice(2)).toEqual(['we LogoutRequest', 'they LogoutResponse Success'])
    await visit.close()
  })
})
