/** SimpleSAMLphp as the identity provider of a realm: requests that it verifies, answers in every form that it can send. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certificateOf, privateKeyOf } from '../../../saml/keys.ts'
import { backends } from '../../../support/backends.ts'
import {
  type SimpleSamlPhpIdp,
  startSimpleSamlPhpIdp,
} from '../../../support/processes/programs/simplesamlphp-idp.ts'
import { receiver, sender, stranger } from '../../../xml/keys.ts'
import { openUpstreamSite, type UpstreamSite, type Visit } from './fixture.ts'

const keyOf = (party: typeof sender) => ({
  privateKey: privateKeyOf(party),
  certificate: certificateOf(party),
})
const person = { email: 'ada@there.example', givenName: 'Ada', sn: 'Abel' }

describe.each(backends.slice(-1))('simplesamlphp as identity provider on $name', (backend) => {
  let realm: UpstreamSite
  let php: SimpleSamlPhpIdp
  /** Milliseconds that our clock is ahead. */
  let ahead = 0

  beforeAll(async () => {
    realm = await openUpstreamSite(backend, { now: () => Date.now() + ahead })
    php = await startSimpleSamlPhpIdp({
      key: keyOf(sender),
      nextKey: keyOf(stranger),
      users: Object.fromEntries(
        [
          'response',
          'assertion',
          'both',
          'encrypted',
          'artifact',
          'rollover',
          'form',
          'redirect',
          'portal',
        ].map((name) => [name, { ...person, email: `${name}@there.example` }]),
      ),
    })
  })
  afterAll(async () => {
    await php?.close()
    await realm?.close()
  })

  const answerSignIn = async ({ page }: Visit, username: string): Promise<void> => {
    await page.locator('input[name=username]').fill(username)
    await page.locator('input[name=password]').fill('there')
    await page.locator('input[name=password]').press('Enter')
  }
  const signIn = async (visit: Visit, alias: string): Promise<string> => {
    await visit.leave(alias)
    await answerSignIn(visit, alias)
    return visit.arrived()
  }
  const responseIn = ({ messages }: Visit): string =>
    messages.find(({ parameter }) => parameter === 'SAMLResponse')?.xml ?? ''
  const signedIn = (xml: string): string[] => realm.judges.signedIn(xml, [sender.certificate])

  it.each([
    [
      'response',
      { wantAssertionsSigned: false, wantResponseSigned: true },
      { 'saml20.sign.assertion': 'false' },
      ['Response'],
    ],
    ['assertion', {}, { 'saml20.sign.response': 'false' }, ['Assertion']],
    ['both', { wantResponseSigned: true }, {}, ['Response', 'Assertion']],
  ] as const)(
    'signs in with a signed request and a signed %s',
    async (alias, config, options, signed) => {
      await realm.connect(alias, php, { config, options })
      const visit = await realm.visit()
      expect(await signIn(visit, alias)).toBe(`${alias}@there.example`)
      expect(visit.said()).toEqual(['we AuthnRequest', 'they Response Success'])
      expect(signedIn(responseIn(visit))).toEqual(signed)
      await visit.close()
    },
  )

  it('signs in with an encrypted assertion: AES-CBC, all that it has, only where the document allows it', async () => {
    const config = {
      spDecryptionPrivateKey: privateKeyOf(receiver),
      spDecryptionCertificate: certificateOf(receiver),
      wantAssertionsEncrypted: true,
      authnRequestBinding: 'HTTP-POST',
    }
    const options = { 'assertion.encryption': 'true' }
    await realm.connect('strict', php, { config, options })
    await realm.connect('encrypted', php, {
      config: { ...config, allowCbcEncryption: true },
      options,
    })
    const visit = await realm.visit()
    expect(await signIn(visit, 'encrypted')).toBe('encrypted@there.example')
    expect(visit.messages[0]?.binding).toBe('HTTP-POST')
    expect(responseIn(visit)).toContain('http://www.w3.org/2001/04/xmlenc#aes128-cbc')
    expect(responseIn(visit)).not.toContain('encrypted@there.example')
    await visit.close()
    const strict = await realm.visit()
    await strict.leave('strict')
    await answerSignIn(strict, 'encrypted')
    await strict.page.waitForURL(`${realm.site.issuer}/broker/strict/endpoint**`)
    expect(await strict.isSignedIn()).toBe(false)
    await strict.close()
  })

  it('signs in by an artifact, which we resolve over SOAP', async () => {
    await realm.connect('artifact', php, { config: { responseBinding: 'HTTP-Artifact' } })
    const visit = await realm.visit()
    expect(await signIn(visit, 'artifact')).toBe('artifact@there.example')
    // The browser has carried no response.
    expect(visit.said()).toEqual(['we AuthnRequest'])
    await visit.close()
  })

  const logoutUrl = (alias: string): string => `${realm.site.issuer}/broker/${alias}/logout`
  const bindings = ['HTTP-Redirect', 'HTTP-POST'] as const
  /** A provider for logouts by this binding alone, in both directions. */
  const connectFor = async (binding: (typeof bindings)[number]): Promise<string> => {
    const alias = binding === 'HTTP-POST' ? 'form' : 'redirect'
    const service = `['Binding' => 'urn:oasis:names:tc:SAML:2.0:bindings:${binding}', 'Location' => '${logoutUrl(alias)}']`
    await realm.connect(alias, php, {
      config: { singleLogoutServiceBinding: binding },
      options: { SingleLogoutService: `[${service}]` },
    })
    return alias
  }

  it.each(bindings)(
    'is signed out when the user signs out here, and the other way round, by %s',
    async (binding) => {
      const alias = await connectFor(binding)
      const ours = await realm.visit()
      await signIn(ours, alias)
      await ours.signOut()
      expect(ours.said().slice(2)).toEqual(['we LogoutRequest', 'they LogoutResponse Success'])
      expect(ours.messages.slice(2).map((one) => one.binding)).toEqual([binding, binding])
      await ours.leave(alias)
      // The session there is over: it asks for the password.
      await ours.page.locator('input[name=password]').waitFor()
      await ours.close()

      const theirs = await realm.visit()
      await signIn(theirs, alias)
      const bye = `${php.url}/bye.php`
      await theirs.page.goto(
        `${php.url}/saml2/idp/initSLO.php?RelayState=${encodeURIComponent(bye)}`,
      )
      await theirs.page.waitForURL(bye)
      expect(theirs.said().slice(2)).toEqual(['they LogoutRequest', 'we LogoutResponse Success'])
      expect(theirs.messages.slice(2).map((one) => one.binding)).toEqual([binding, binding])
      expect(await theirs.isSignedIn()).toBe(false)
      await theirs.close()
    },
  )

  it('may begin by itself where the document allows it: the user is asked for again', async () => {
    await realm.connect('portal', php, { config: { idpInitiatedSsoEnabled: true } })
    const from = (alias: string): string =>
      `${php.url}/saml2/idp/SSOService.php?${new URLSearchParams({
        spentityid: `${realm.site.issuer}/broker/${alias}`,
        RelayState: 'https://evil.example/',
      })}`
    const visit = await realm.visit()
    await visit.page.goto(from('portal'))
    await answerSignIn(visit, 'portal')
    await visit.page.waitForURL(`${realm.site.issuer}/**`)
    expect(visit.said()).toEqual([
      'they Response Success',
      'we AuthnRequest',
      'they Response Success',
    ])
    expect(await visit.isSignedIn()).toBe(true)
    await visit.close()

    const refused = await realm.visit()
    await refused.page.goto(from('both'))
    await answerSignIn(refused, 'both')
    await refused.page.waitForURL(`${realm.site.issuer}/broker/both/endpoint`)
    expect(await refused.isSignedIn()).toBe(false)
    await refused.close()
  })

  it('follows a change of keys: the second certificate of the metadata verifies a signature that names no key', async () => {
    await realm.connect('rollover', php)
    const before = await realm.visit()
    await signIn(before, 'rollover')
    await before.close()
    php.announceNextKey()
    const metadata = await realm.site.get('/broker/rollover/metadata')
    await php.register(metadata.body, { 'signature.privatekey': `'two.key'` })
    // The metadata was read a moment ago, and is not read again for every answer that does not fit.
    const early = await realm.visit()
    await early.leave('rollover')
    await answerSignIn(early, 'rollover')
    await early.page.waitForURL(`${realm.site.issuer}/broker/rollover/endpoint**`)
    expect(await early.isSignedIn()).toBe(false)
    await early.close()
    ahead = 61_000
    const after = await realm.visit()
    expect(await signIn(after, 'rollover')).toBe('rollover@there.example')
    expect(responseIn(after)).not.toContain('KeyInfo')
    expect(realm.judges.signedIn(responseIn(after), [stranger.certificate])).toEqual([
      'Response',
      'Assertion',
    ])
    await after.close()
  })
})
