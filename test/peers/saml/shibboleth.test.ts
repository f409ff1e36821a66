/** Apache with Shibboleth's service provider, the one of the federations: metadata by URL, signed and encrypted messages. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logoutJobs } from '#server/run/background.ts'
import { addPerson, change } from '../../oidc/relying-party.ts'
import { providerPath } from '../../saml/fixture.ts'
import { certificateOf, pemOf, privateKeyOf } from '../../saml/keys.ts'
import { backends } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { type Apache, startApache } from '../../support/processes/programs/apache.ts'
import { type Shibd, startShibd } from '../../support/processes/programs/shibd.ts'
import { sender } from '../../xml/keys.ts'
import { type Application, openApplication } from '../application.ts'
import { openSamlSite, type SamlSite } from './fixture.ts'
import { attributeMap, loggerOf, logoutAndBack, shibbolethConfig } from './shibboleth-config.ts'

const ac = 'urn:oasis:names:tc:SAML:2.0:ac:classes'
const options = { wantAuthnRequestsSigned: true, encryptAssertion: true }
const mfa = 'https://refeds.org/profile/mfa'

const mapper = (name: string, protocolMapper: string, config: Record<string, string>) => ({
  name,
  protocolMapper,
  config: { 'attribute.name': name, ...config },
})

describe.each(backends.slice(-1))('shibboleth and the identity provider on $name', (backend) => {
  let saml: SamlSite
  let application: Application
  let shibd: Shibd
  /** What shibd keeps of the metadata that it read. */
  let metadataFile: string
  let apache: Apache
  let entityId: string
  let acs: readonly { readonly index: number; readonly binding: string }[]
  let totp: TOTP

  const prepareUsers = async (): Promise<void> => {
    const { site, aliceId } = saml
    await change(site, `/users/${aliceId}`, {
      attributes: { displayName: ['Alice <"&\'> Ünal'] },
    })
    for (const name of ['staff', 'night shift']) {
      const { body } = await site.admin('POST', '/groups', { name })
      await site.admin('PUT', `/groups/${body.groupId}/members/${aliceId}`)
    }
    const { body } = await site.admin(
      'POST',
      `/users/${await addPerson(site, 'stella')}/credentials`,
      {
        type: 'otp',
      },
    )
    totp = new TOTP({ secret: Secret.fromBase32(body.secret), digits: 6, period: 30 })
    const step = (authenticator: string, more = {}) => ({
      authenticator,
      requirement: 'REQUIRED',
      ...more,
    })
    const put = (alias: string, executions: readonly object[], more = {}) =>
      site.admin('PUT', `/flows/${alias}`, { alias, ...more, authenticationExecutions: executions })
    await put('browser', [step('username-password')])
    await put(
      'browser-second-factor',
      [step('condition-acr', { authenticatorConfig: { acr: '2' } }), step('totp')],
      { topLevel: false },
    )
    await put('browser', [
      step('username-password'),
      { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' },
    ])
  }

  beforeAll(async () => {
    ;[saml, application] = await Promise.all([openSamlSite(backend), openApplication()])
    const { site } = saml
    const certificates = await saml.certificates()
    const configure = async (url: string, folder: string): Promise<string[]> => {
      const file = (name: string, text: string): string => {
        writeFileSync(join(folder, name), text)
        return join(folder, name)
      }
      file('attribute-map.xml', attributeMap)
      file('shibd.logger', loggerOf(folder))
      const configuration = file(
        'shibboleth2.xml',
        shibbolethConfig({
          url,
          folder,
          issuer: site.issuer,
          metadataUrl: `${site.issuer}/saml/idp/metadata`,
          key: file('sp.key', privateKeyOf(sender)),
          certificate: file('sp.crt', certificateOf(sender)),
          metadataCertificates: certificates.map((one, index) =>
            file(`idp-${index}.crt`, pemOf('CERTIFICATE', one)),
          ),
        }),
      )
      metadataFile = join(folder, 'idp.xml')
      shibd = await startShibd(folder)
      return [
        `ShibConfig ${configuration}`,
        'ProxyPass /Shibboleth.sso !',
        `ProxyPass / ${application.url}/`,
        '<Location /Shibboleth.sso>',
        '  SetHandler shib',
        '</Location>',
        '<Location /secure>',
        '  AuthType shibboleth',
        '  ShibRequestSetting requireSession 1',
        '  ShibUseHeaders On',
        '  Require valid-user',
        '</Location>',
      ]
    }
    apache = await startApache({ module: 'mod_shib', configure })
    const metadata = await fetch(`${apache.url}/Shibboleth.sso/Metadata`)
    entityId = await saml.register(await metadata.text(), {
      options,
    })
    acs = (await site.admin('GET', providerPath(entityId))).body.acs
    const urn = { 'attribute.nameformat': 'URI Reference' }
    for (const one of [
      mapper('urn:oid:0.9.2342.19200300.100.1.3', 'saml-user-property-mapper', {
        ...urn,
        'friendly.name': 'mail',
        'user.attribute': 'email',
      }),
      mapper('urn:oid:2.16.840.1.113730.3.1.241', 'saml-user-attribute-mapper', {
        ...urn,
        'user.attribute': 'displayName',
      }),
      mapper('groups', 'saml-group-membership-mapper', { 'full.path': 'false' }),
    ])
      await site.admin('POST', `${providerPath(entityId)}/mappers`, one)
    await prepareUsers()
  })
  afterAll(async () => {
    await apache?.close()
    await shibd?.close()
    application?.close()
    await saml?.close()
  })

  const login = (asked: Record<string, string>): string =>
    `${apache.url}/Shibboleth.sso/Login?${new URLSearchParams({ target: `${apache.url}/secure/page`, ...asked })}`

  it('decrypts an assertion (AES-256-GCM, RSA-OAEP with SHA-256) and shows its attributes', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${apache.url}/secure/page`)
    const shown = await visit.shown()
    expect(shown).toMatchObject({
      mail: 'alice@acme.example',
      groups: expect.stringMatching(/^(staff;night shift|night shift;staff)$/),
      'persistent-id': expect.stringContaining(`${saml.site.issuer}!${entityId}!`),
      'shib-authncontext-class': `${ac}:PasswordProtectedTransport`,
    })
    // Apache hands on bytes, Node.js reads them as Latin-1.
    const displayName = Buffer.from(String(shown['displayname']), 'latin1').toString()
    expect(displayName).toBe('Alice <"&\'> Ünal')
    expect(visit.messages.at(-1)?.xml).toMatch(/xmlenc11#aes256-gcm.*xmlenc11#rsa-oaep/)
    await visit.close()
  })

  it('has the user asked again by forceAuthn, and gets a newer AuthnInstant', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${apache.url}/secure/page`)
    const first = (await visit.shown())['shib-authentication-instant']
    await visit.page.goto(login({ forceAuthn: 'true' }))
    expect(await visit.page.getByLabel('Password').count()).toBe(1)
    await visit.signIn(visit.page.url(), `${apache.url}/secure/page`)
    const second = (await visit.shown())['shib-authentication-instant']
    expect(Date.parse(String(second))).toBeGreaterThan(Date.parse(String(first)))
    await visit.close()
  })

  it('has the user asked for the second factor by authnContextClassRef, and only for that', async () => {
    const visit = await saml.visit()
    const { page } = visit
    await visit.signIn(`${apache.url}/secure/page`, undefined, 'stella')
    await page.goto(login({ authnContextClassRef: mfa }))
    expect(await page.getByLabel('Password').count()).toBe(0)
    await page.getByLabel('Code').fill(totp.generate())
    await page.getByLabel('Code').press('Enter')
    await page.waitForURL(`${apache.url}/secure/page`)
    expect(await visit.shown()).toMatchObject({ 'shib-authncontext-class': mfa })
    await visit.close()
  })

  it('is told that no sign-in meets a context', async () => {
    const visit = await saml.visit()
    await visit.page.goto(login({ authnContextClassRef: `${ac}:Kerberos` }))
    await visit.page.waitForURL(`${apache.url}/Shibboleth.sso/SAML2/POST`)
    expect(visit.messages.at(-1)?.xml).toContain('NoAuthnContext')
    await visit.close()
  })

  it('signs a user in by an artifact, which it resolves over SOAP', async () => {
    const visit = await saml.visit()
    const index = acs.find(({ binding }) => binding === 'HTTP-Artifact')?.index
    await visit.signIn(login({ acsIndex: String(index) }), `${apache.url}/secure/page`)
    expect(await visit.shown()).toMatchObject({ mail: 'alice@acme.example' })
    expect(visit.statuses('Response')).toEqual([])
    await visit.close()
  })

  it('signs its user out at the identity provider, and is led back', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${apache.url}/secure/page`)
    const bye = `${apache.url}/bye`
    const query = new URLSearchParams({ return: bye })
    await visit.page.goto(`${apache.url}/Shibboleth.sso${logoutAndBack}?${query}`)
    await visit.page.waitForURL(bye)
    expect(visit.statuses('LogoutResponse')).toEqual(['identity provider Success'])
    expect(await visit.isSignedOut(`${apache.url}/secure/page`)).toBe(true)
    await visit.close()
  })

  it('signs its user out at the identity provider, who stays there, where it asks for no answer', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${apache.url}/secure/page`)
    await visit.page.goto(`${apache.url}/Shibboleth.sso/Logout`)
    await visit.page.waitForURL(`${saml.site.issuer}/**`)
    await visit.page.getByRole('heading', { name: 'Signed out' }).waitFor()
    expect(visit.statuses('LogoutResponse')).toEqual([])
    expect(await visit.isSignedOut(`${apache.url}/secure/page`)).toBe(true)
    await visit.close()
  })

  it('signs its user out when the identity provider says so, in the browser', async () => {
    const visit = await saml.visit()
    await visit.signIn(`${apache.url}/secure/page`)
    await visit.signOut()
    expect(visit.statuses('LogoutResponse')).toEqual(['service provider Success'])
    expect(await visit.isSignedOut(`${apache.url}/secure/page`)).toBe(true)
    await visit.close()
  })

  it('signs its user out when the identity provider says so over SOAP', async () => {
    const { site } = saml
    await change(site, providerPath(entityId), {
      singleLogoutServiceSoapUrl: `${apache.url}/Shibboleth.sso/SLO/SOAP`,
      options: { ...options, backChannelSloEnabled: true },
    })
    const visit = await saml.visit()
    await visit.signIn(`${apache.url}/secure/page`)
    await visit.signOut()
    expect(visit.statuses('LogoutResponse')).toEqual([])
    const { areas } = site.server
    await runJobs(areas.jobs, logoutJobs(areas))
    expect(await visit.isSignedOut(`${apache.url}/secure/page`)).toBe(true)
    await visit.close()
  })

  it('follows a rotation of the signing key by the metadata that it reads again and again', async () => {
    const signer = async (): Promise<string> => {
      const visit = await saml.visit()
      await visit.signIn(`${apache.url}/secure/page`)
      expect(await visit.shown()).toMatchObject({ mail: 'alice@acme.example' })
      const response = visit.messages.find(({ parameter }) => parameter === 'SAMLResponse')
      await visit.close()
      return /<ds:X509Certificate>([^<]*)/.exec(response?.xml ?? '')?.[1] ?? ''
    }
    const [first, second] = await saml.certificates()
    expect(await signer()).toBe(first)
    await saml.site.admin('POST', '/keys/rotate')
    // At once: the next key has been in the metadata all the time.
    expect(await signer()).toBe(second)
    const third = (await saml.certificates()).find((one) => one !== first && one !== second)
    // Metadata that the second key has signed is accepted, and brings the third.
    await expect.poll(() => readFileSync(metadataFile, 'utf8')).toContain(third)
  })
})
