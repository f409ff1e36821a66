/** Answers that a SAML provider sends without being asked (SAML Profiles §4.1.5), by POST to the server. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newPerson } from '../../oidc/relying-party.ts'
import { anyBackend } from '../../support/backends.ts'
import { sender, stranger } from '../../xml/keys.ts'
import { idp, sp } from './answers.ts'
import { answering, answerTo, openSamlSite, posted, type SamlSite } from './fixture.ts'

const config = {
  spEntityId: sp,
  idpEntityId: idp,
  ssoUrl: 'https://idp.example/sso',
  idpSigningCertificate: sender.x509.toString(),
}
const allowed = { ...config, idpInitiatedSsoEnabled: true }

describe.each(anyBackend)('a SAML provider that begins by itself on $name', (backend) => {
  let saml: SamlSite
  beforeAll(async () => {
    saml = await openSamlSite(backend)
    for (const [alias, enabled] of [
      ['open', true],
      ['closed', false],
    ] as const)
      await saml.site.admin('POST', '/organizations', { alias, name: alias, enabled })
  }, 60_000)
  afterAll(() => saml.close())

  const endpoint = (alias: string): string => `${saml.site.issuer}/broker/${alias}/endpoint`
  const unasked = (alias: string, key = sender.privateKey): string =>
    answerTo(endpoint(alias)).answer({}, key)
  const bring = async (url: string, xml: string, relayState = 'https://evil.example/') => {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(posted(xml, { relayState })),
    })
    return {
      status: response.status,
      location: response.headers.get('location'),
      cookies: response.headers.getSetCookie().map((one) => one.split('=')[0]),
      body: await response.text(),
    }
  }
  const users = async (): Promise<number> =>
    (await saml.site.admin('GET', '/users?max=100')).body.length

  it('sends the browser to a sign-in at the provider, and takes nothing of the answer', async () => {
    const { alias } = await saml.provider(allowed)
    const before = await users()
    const xml = unasked(alias)
    const answer = await bring(endpoint(alias), xml)
    expect([answer.status, answer.location]).toEqual([303, `/realms/acme/broker/${alias}/login`])
    expect(answer.cookies).not.toContain('iam-session-acme')
    expect(await users()).toBe(before)
    const person = newPerson(saml.site)
    const { away = '' } = await person.open(
      endpoint(alias),
      posted(unasked(alias), { relayState: 'x' }),
    )
    expect(away).toMatch(/^https:\/\/idp\.example\/sso\?SAMLRequest=/)
    expect(person.jar.has('iam-session-acme')).toBe(false)
    // An invitation counts once too.
    expect((await bring(endpoint(alias), xml)).status).toBe(400)
  })

  it.each([
    ['where the document does not allow it', config, {}, 403],
    ['of a provider for linked accounts alone', allowed, { linkOnly: true }, 403],
    ['of a hidden provider', allowed, { hideOnLogin: true }, 403],
    [
      'of a hidden provider of an organization',
      allowed,
      { hideOnLogin: true, organization: 'open' },
      403,
    ],
    ['of a provider of a closed organization', allowed, { organization: 'closed' }, 404],
    ['of a disabled provider', allowed, { enabled: false }, 404],
  ])('is dead %s', async (_what, settings, more, status) => {
    const { alias } = await saml.provider(settings, 'saml', more)
    const answer = await bring(endpoint(alias), unasked(alias))
    expect([answer.status, answer.location]).toEqual([status, null])
    expect(answer.body).not.toContain('name="password"')
  })

  it('is dead in another realm, and with an answer for another provider, of a stranger, or to a request', async () => {
    const [{ alias }, { alias: other }] = [
      await saml.provider(allowed),
      await saml.provider(allowed),
    ]
    await saml.site.server.createRealm('elsewhere')
    const elsewhere = endpoint(alias).replace('/acme/', '/elsewhere/')
    expect((await bring(elsewhere, unasked(alias))).status).toBe(404)
    expect((await bring(endpoint(alias), unasked(other))).status).toBe(400)
    expect((await bring(endpoint(alias), unasked(alias, stranger.privateKey))).status).toBe(400)
    const asked = await saml.begin(alias)
    const expired = await bring(endpoint(alias), answering(asked).answer())
    expect([expired.status, expired.location]).toEqual([403, null])
  })
})
