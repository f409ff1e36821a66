/** What service providers may ask for, and what makes a request one that nobody answers (SAML Core §3.4.1). */

import { constants, createDecipheriv, privateDecrypt, webcrypto } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certify } from '#server/keys/certificate.ts'
import { statement } from '#server/storage/statements.ts'
import { childrenOf, decryptElement, readElement, readSigned, xmlName } from '#server/xml/index.ts'
import { type OidcSite, openIssuer } from '../oidc/fixture.ts'
import { addPerson, change, newPerson, type Person } from '../oidc/relying-party.ts'
import { anyBackend } from '../support/backends.ts'
import { sender, stranger } from '../xml/keys.ts'
import { signed } from '../xml/messages.ts'
import {
  acsUrl,
  addProvider,
  askUrl,
  authnRequest,
  certificatesOf,
  entityId,
  newRequestId,
  only,
  providerPath,
  redirectUrl,
  sentOf,
  signedForm,
  statusOf,
  verifiedOf,
} from './fixture.ts'
import { keysOf } from './logout/logout-fixture.ts'
import { cameFrom } from './upstream-session.ts'

const ac = 'urn:oasis:names:tc:SAML:2.0:ac:classes'
const format = (name: string) =>
  ['persistent', 'transient'].includes(name)
    ? `urn:oasis:names:tc:SAML:2.0:nameid-format:${name}`
    : `urn:oasis:names:tc:SAML:1.1:nameid-format:${name}`

const policy = (name: string, more = 'AllowCreate="true"') =>
  `<samlp:NameIDPolicy Format="${format(name)}" ${more}/>`

const context = (comparison: string, ...classes: string[]) =>
  `<samlp:RequestedAuthnContext Comparison="${comparison}">${classes
    .map((one) => `<saml:AuthnContextClassRef>${one}</saml:AuthnContextClassRef>`)
    .join('')}</samlp:RequestedAuthnContext>`

describe.each(anyBackend)('requests of service providers on $name', (backend) => {
  let site: OidcSite
  let alice: Person
  beforeAll(async () => {
    site = await openIssuer(backend)
    await addProvider(site, {
      signingCertificate: sender.certificate,
      encryptionCertificate: sender.certificate,
    })
    await addPerson(site, 'alice')
    alice = newPerson(site)
    await alice.signIn(askUrl(site))
  }, 60_000)
  afterAll(() => site.close())

  const ask = async (inside: string, attributes: Record<string, string> = {}) =>
    sentOf(await alice.open(askUrl(site, { inside, attributes })))

  describe('that must be signed', () => {
    beforeAll(() => change(site, providerPath(), { options: { wantAuthnRequestsSigned: true } }))
    afterAll(() => change(site, providerPath(), { options: {} }))
    const key = sender.privateKey
    const sha1 = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'

    it('are answered with a signature of the service provider, by redirect and by form', async () => {
      const page = await alice.open(askUrl(site, {}, { key, relayState: 'r' }))
      expect(statusOf(sentOf(page))).toBe('Success')
      expect((await site.post('/saml/idp/sso', signedForm(site))).status).toBe(303)
    })

    it.each([
      ['unsigned', {}],
      ['signed by another key', { key: stranger.privateKey }],
      ['signed with SHA-1', { key, algorithm: sha1 }],
      [
        'with another RelayState',
        { key, relayState: 'a', spoil: (q: string) => q.replace('RelayState=a', 'RelayState=b') },
      ],
      ['with a RelayState that was not signed', { key, spoil: (q: string) => `${q}&RelayState=x` }],
      ['with a second SAMLRequest', { key, spoil: (q: string) => `${q}&SAMLRequest=AAAA` }],
      ['with a second SigAlg', { key, spoil: (q: string) => `${q}&SigAlg=x` }],
      ['without its Signature', { key, spoil: (q: string) => q.replace(/&Signature=.*/, '') }],
    ])('are refused %s (redirect)', async (_what, options) => {
      const page = await alice.open(askUrl(site, {}, options))
      expect([page.status, page.body.includes('SAMLResponse')]).toEqual([400, false])
    })

    it('are refused unsigned, by another key, with SHA-1, or wrapped (form)', async () => {
      const id = newRequestId()
      const xml = authnRequest(site, { id })
      const whole = signed(xml, id)
      const forged = authnRequest(site, {
        attributes: { AssertionConsumerServiceURL: 'https://evil.example/acs' },
        inside: `<samlp:Extensions>${whole}</samlp:Extensions>`,
      })
      for (const sent of [
        xml,
        signed(xml, id, { key: stranger.privateKey }),
        signed(xml, id, { signatureAlgorithm: sha1 }),
        whole.replace('Version="2.0"', 'Version="2.0" ForceAuthn="true"'),
        forged,
      ]) {
        const form = { SAMLRequest: Buffer.from(sent).toString('base64') }
        expect((await site.post('/saml/idp/sso', form)).status).toBe(400)
      }
    })

    it('name their Destination', async () => {
      const xml = authnRequest(site, { attributes: { Destination: null } })
      expect((await alice.open(redirectUrl(site, xml, { key }))).status).toBe(400)
    })

    it('use an algorithm of the service provider, where it lists some', async () => {
      const more = 'http://www.w3.org/2001/04/xmldsig-more#'
      await change(site, providerPath(), {
        options: {
          wantAuthnRequestsSigned: true,
          requestSignatureAlgorithms: [`${more}rsa-sha512`],
        },
      })
      expect((await alice.open(askUrl(site, {}, { key }))).status).toBe(400)
    })
  })

  it('tries twenty certificates of a service provider for a signature (CWE-405)', async () => {
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
    const size = { modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) }
    const pair = await webcrypto.subtle.generateKey({ ...algorithm, ...size }, true, [
      'sign',
      'verify',
    ])
    // A set is kept in the order of its texts; that of the sender must be the last one.
    const names = ['a', 'other', 'another party']
    const made = await Promise.all(
      names.map((name) =>
        Promise.all(Array.from({ length: 20 }, () => certify(name, pair, algorithm, Date.now()))),
      ),
    )
    const others = made.find((some) => some.every((one) => one < sender.certificate)) ?? []
    expect(others).toHaveLength(20)
    const issuer = 'https://many.example'
    await addProvider(site, { entityId: issuer })
    const options = { wantAuthnRequestsSigned: true }
    const statusWith = async (certificates: readonly string[]): Promise<number> => {
      await change(site, providerPath(issuer), { options, certificates })
      return (await alice.open(askUrl(site, { issuer }, { key: sender.privateKey }))).status
    }
    expect(await statusWith([...others.slice(1), sender.certificate])).toBe(200)
    expect(await statusWith([...others, sender.certificate])).toBe(400)
  })

  it('refuses a signature that no certificate can verify', async () => {
    await addProvider(site, { entityId: 'https://bare.example' })
    const url = askUrl(site, { issuer: 'https://bare.example' }, { key: sender.privateKey })
    expect((await alice.open(url)).status).toBe(400)
  })

  it('gives the NameID that is asked for, and a status where it cannot', async () => {
    const told = async (inside: string) =>
      verifiedOf(site, await alice.open(askUrl(site, { inside })))
    const [one, two] = [await told(policy('transient')), await told(policy('transient'))]
    expect([one.format, two.nameId]).toEqual(['transient', one.nameId])
    const asked = askUrl(site, { inside: policy('transient') })
    const inOther = await verifiedOf(site, await newPerson(site).signIn(asked))
    expect(inOther.nameId).not.toBe(one.nameId)
    // The address could belong to another person.
    expect(statusOf(await ask(policy('emailAddress')))).toBe('Requester/InvalidNameIDPolicy')
    await change(site, '/users/alice', { emailVerified: true })
    expect((await told(policy('emailAddress'))).nameId).toBe('alice@acme.example')
    const persistent = await told(policy('persistent'))
    expect((await told(policy('unspecified'))).nameId).toBe(persistent.nameId)
    await addProvider(site, { entityId: 'https://second.example' })
    const other = await verifiedOf(
      site,
      await alice.open(askUrl(site, { issuer: 'https://second.example' })),
    )
    expect(other.nameId).not.toBe(persistent.nameId)
    const kerberos =
      '<samlp:NameIDPolicy Format="urn:oasis:names:tc:SAML:2.0:nameid-format:kerberos"/>'
    for (const refused of [kerberos, policy('persistent', 'SPNameQualifier="https://x.example"')])
      expect(statusOf(await ask(refused))).toBe('Requester/InvalidNameIDPolicy')
    await addProvider(site, { entityId: 'https://third.example' })
    const first = await alice.open(
      askUrl(site, { issuer: 'https://third.example', inside: policy('persistent', '') }),
    )
    expect(statusOf(sentOf(first))).toBe('Requester/InvalidNameIDPolicy')
  })

  it.each([
    ['unspecified as SAML 2.0', 'Format="urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified"'],
    ['unspecified as SAML 1.1', 'Format="urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"'],
    ['no', ''],
  ])(
    'leave the choice of a NameID with %s Format, also without AllowCreate',
    async (name, given) => {
      const issuer = `https://${encodeURIComponent(name)}.example`
      await addProvider(site, { entityId: issuer })
      const inside = `<samlp:NameIDPolicy ${given} AllowCreate="false"/>`
      const told = await verifiedOf(site, await alice.open(askUrl(site, { issuer, inside })))
      expect(told.format).toBe('persistent')
    },
  )

  it('name attributes in the format that fits the name (SAML Core §8.2)', async () => {
    const issuer = 'https://attributes.example'
    await addProvider(site, { entityId: issuer })
    const formats = {
      groups: 'basic',
      'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name': 'uri',
      'First Name': 'unspecified',
    }
    for (const [index, name] of Object.keys(formats).entries())
      await site.admin('POST', `${providerPath(issuer)}/mappers`, {
        name: `m${index}`,
        protocolMapper: 'saml-hardcode-attribute-mapper',
        config: { 'attribute.name': name, 'attribute.value': 'x' },
      })
    const { xml } = await verifiedOf(site, await alice.open(askUrl(site, { issuer })))
    for (const [name, wanted] of Object.entries(formats))
      expect(xml).toContain(
        `Name="${name}" NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:${wanted}"`,
      )
  })

  it('asks again for ForceAuthn, and not at all for IsPassive', async () => {
    const forced = await alice.open(askUrl(site, { attributes: { ForceAuthn: 'true' } }))
    expect(forced.body).toContain('name="password"')
    const passive = askUrl(site, { attributes: { IsPassive: 'true' } })
    expect(statusOf(sentOf(await alice.open(passive)))).toBe('Success')
    const nobody = askUrl(site, { attributes: { IsPassive: '1' } })
    expect(statusOf(sentOf(await newPerson(site).open(nobody)))).toBe('Responder/NoPassive')
    const both = { IsPassive: 'true', ForceAuthn: 'true' }
    expect(statusOf(await ask('', both))).toBe('Responder/NoPassive')
  })

  it('asks again at every request where the service provider is set so, also for one that starts here', async () => {
    const options = { forceAuthn: true, idpInitiatedSsoEnabled: true }
    await change(site, providerPath(), { options })
    const initiated = `${site.issuer}/saml/idp/initiate?entityId=${encodeURIComponent(entityId)}`
    for (const url of [
      askUrl(site),
      askUrl(site, { attributes: { ForceAuthn: 'false' } }),
      initiated,
    ])
      expect((await alice.open(url)).body).toContain('name="password"')
    expect(statusOf(await ask('', { IsPassive: 'true' }))).toBe('Responder/NoPassive')
    expect(statusOf(sentOf(await alice.signIn(askUrl(site))))).toBe('Success')
    await change(site, providerPath(), { options: {} })
    expect(statusOf(await ask(''))).toBe('Success')
  })

  it.each([
    ['exact', [`${ac}:PasswordProtectedTransport`], 'Success'],
    ['minimum', [`${ac}:Password`], 'Success'],
    ['maximum', ['https://refeds.org/profile/mfa'], 'Success'],
    ['better', ['https://refeds.org/profile/mfa'], 'Responder/NoAuthnContext'],
    ['exact', [`${ac}:X509`], 'Responder/NoAuthnContext'],
    ['exact', ['https://refeds.org/profile/mfa'], 'Responder/NoPassive'],
    ['better', [`${ac}:Password`], 'Responder/NoPassive'],
  ])('meets the authentication context %s %s with %s', async (comparison, classes, status) => {
    expect(statusOf(await ask(context(comparison, ...classes), { IsPassive: 'true' }))).toBe(status)
  })

  it('asserts a password only of a session that began with one', async () => {
    const person = newPerson(site)
    await person.signIn(askUrl(site))
    const told = async (asked: string) => {
      const attributes = { IsPassive: 'true' }
      const inside = context('exact', asked)
      return statusOf(sentOf(await person.open(askUrl(site, { inside, attributes }))))
    }
    const { storage } = site.server.areas
    const [last] = await storage.db
      .selectFrom('sessions')
      .select('sid')
      .orderBy('created_at', 'desc')
      .execute()
    expect(await told(`${ac}:Password`)).toBe('Success')
    // As a passkey would have made it.
    const passkey = { amr: JSON.stringify(['hwk', 'user']) }
    await storage.commit([
      statement(
        storage.db
          .updateTable('sessions')
          .set(passkey)
          .where('sid', '=', last?.sid ?? ''),
      ),
    ])
    expect(await told(`${ac}:Password`)).toBe('Responder/NoPassive')
    expect(await told('https://refeds.org/profile/sfa')).toBe('Success')
  })

  it('names the identity provider that the session came from, unless a ProxyCount of 0 forbids it', async () => {
    const person = newPerson(site)
    const authorities = async () => {
      const { assertion } = await verifiedOf(site, await person.open(askUrl(site)))
      const context = only(assertion, 'saml:AuthnStatement', 'saml:AuthnContext')
      return childrenOf(context, 'saml:AuthenticatingAuthority').map(({ text }) => text)
    }
    const direct = (count: string) =>
      `<samlp:Scoping ProxyCount="${count}"><samlp:RequesterID>https://x.example</samlp:RequesterID></samlp:Scoping>`
    const passive = async (inside: string) => {
      const asked = askUrl(site, { inside, attributes: { IsPassive: 'true' } })
      return statusOf(sentOf(await person.open(asked)))
    }
    await person.signIn(askUrl(site))
    expect([await authorities(), await passive(direct('0'))]).toEqual([[], 'Success'])
    await cameFrom(site, 'https://hub.example')
    expect(await authorities()).toEqual(['https://hub.example'])
    expect(await passive(direct('1'))).toBe('Success')
    expect(await passive(direct('0'))).toBe('Responder/NoPassive')
    const page = await person.open(askUrl(site, { inside: direct('0') }))
    expect(page.body).toContain('name="password"')
    const told = await verifiedOf(site, await person.signIn(askUrl(site, { inside: direct('0') })))
    expect(told.xml).not.toContain('AuthenticatingAuthority')
  })

  it.each([
    ['a flag that is neither true nor false', '', { ForceAuthn: 'yes' }, 'RequestUnsupported'],
    ['a Comparison that there is not', context('stronger', `${ac}:Password`), {}, 'NoAuthnContext'],
    ['no class', context('exact'), {}, 'NoAuthnContext'],
    ['a NameIDPolicy twice', policy('persistent').repeat(2), {}, 'RequestUnsupported'],
    [
      'more than 50 classes',
      context('exact', ...Array.from({ length: 51 }, () => `${ac}:Password`)),
      {},
      'NoAuthnContext',
    ],
  ])('tells the service provider what is wrong with %s', async (_what, inside, more, status) => {
    expect(statusOf(await ask(inside, more))).toMatch(new RegExp(`/${status}$`))
  })

  it('are not stored with what no session can meet while their user signs in', async () => {
    const { db } = site.server.areas.storage
    const unknown = Array.from({ length: 49 }, (_, at) => `urn:${at}:${'x'.repeat(1000)}`)
    const inside = context('exact', ...unknown, `${ac}:Password`)
    const before = await db.selectFrom('saml_requests').selectAll().execute()
    const told = await newPerson(site).signIn(askUrl(site, { inside }))
    expect(statusOf(sentOf(told))).toBe('Success')
    await newPerson(site).open(askUrl(site, { inside }))
    const after = await db.selectFrom('saml_requests').selectAll().execute()
    const fresh = after.filter(({ id }) => !before.some((one) => one.id === id))
    expect(fresh.map(({ data }) => data.length > 0 && data.length < 1000)).toEqual([true])
    expect(statusOf(await ask(context('exact', ...unknown)))).toBe('Responder/NoAuthnContext')
  })

  it('may be limited to authentication contexts, and to requests with a page', async () => {
    const options = {
      allowedAuthnContextClassRefs: ['https://refeds.org/profile/sfa'],
      allowPassive: false,
    }
    await change(site, providerPath(), { options })
    const statuses = [
      statusOf(await ask(context('exact', `${ac}:Password`))),
      statusOf(await ask(context('exact', 'https://refeds.org/profile/sfa'))),
      statusOf(await ask('', { IsPassive: 'true' })),
    ]
    await change(site, providerPath(), { options: {} })
    expect(statuses).toEqual(['Responder/NoAuthnContext', 'Success', 'Responder/NoPassive'])
  })

  it('may name the user, and get an answer about no other', async () => {
    await addPerson(site, 'bob')
    const subject = (name: string, kind = 'unspecified') =>
      `<saml:Subject><saml:NameID Format="${format(kind)}">${name}</saml:NameID></saml:Subject>`
    expect(statusOf(await ask(subject('alice')))).toBe('Success')
    expect(statusOf(await ask(subject('\n  alice\n')))).toBe('Success')
    const passive = { IsPassive: 'true' }
    expect(statusOf(await ask(subject('bob'), passive))).toBe('Responder/NoPassive')
    expect(statusOf(await ask(subject('_1', 'transient')))).toBe('Requester/UnknownPrincipal')
    for (const qualifier of ['NameQualifier', 'SPNameQualifier']) {
      const ofOthers = subject('alice').replace(
        ' Format',
        ` ${qualifier}="https://x.example" Format`,
      )
      expect(statusOf(await ask(ofOthers))).toBe('Requester/UnknownPrincipal')
    }
    const long = await newPerson(site).open(askUrl(site, { inside: subject('x'.repeat(1024)) }))
    expect(/name="username"[^>]*value="(x*)"/.exec(long.body)?.[1]?.length).toBe(255)
    expect(statusOf(await ask('<saml:Subject/>'))).toBe('Requester/UnknownPrincipal')
    expect(statusOf(await ask(subject('x'.repeat(1025))))).toBe('Requester/UnknownPrincipal')
    const other = await newPerson(site).signIn(askUrl(site, { inside: subject('bob') }), 'alice')
    expect(statusOf(sentOf(other))).toBe('Requester/UnknownPrincipal')
  })

  it('are told a status under a signature, also where responses have none', async () => {
    await change(site, providerPath(), { options: { signResponse: false } })
    const { xml, response } = await ask('', { IsPassive: 'true', ForceAuthn: 'true' })
    await change(site, providerPath(), { options: {} })
    expect(only(response, 'samlp:Status', 'samlp:StatusCode').attributes['Value']).toMatch(
      /Responder$/,
    )
    const keys = await keysOf(site)
    expect(readSigned(xml, { root: xmlName('samlp:Response'), keys }).element.name).toBe('Response')
  })

  it('are answered under a signature where the realm leaves out the one and the service provider the other', async () => {
    const { saml } = (await site.admin('GET', '/settings')).body
    await change(site, '/settings', { saml: { ...saml, signResponse: false } })
    await change(site, providerPath(), { options: { signAssertion: false } })
    const { xml } = await ask('')
    await change(site, providerPath(), { options: {} })
    await change(site, '/settings', { saml })
    const expected = { root: xmlName('samlp:Response'), keys: await keysOf(site) }
    expect(readSigned(xml, expected).element.name).toBe('Response')
  })

  it('are refused where assertions of the realm are encrypted, and the service provider has no certificate', async () => {
    await addProvider(site, { entityId: 'https://open.example' })
    const { saml } = (await site.admin('GET', '/settings')).body
    await change(site, '/settings', { saml: { ...saml, encryptAssertion: true } })
    const told = sentOf(await alice.open(askUrl(site, { issuer: 'https://open.example' })))
    await change(site, '/settings', { saml })
    expect([statusOf(told), told.xml.includes('alice')]).toEqual(['Requester/RequestDenied', false])
  })

  it('encrypts the NameID for a NameIDPolicy that asks for it (SAML Core §3.4.1.1)', async () => {
    const asked =
      '<samlp:NameIDPolicy Format="urn:oasis:names:tc:SAML:2.0:nameid-format:encrypted"/>'
    const { response, xml } = sentOf(await alice.open(askUrl(site, { inside: asked })))
    const subject = only(response, 'saml:Assertion', 'saml:Subject')
    expect(subject.children.map(({ name }) => name)).toEqual(['EncryptedID', 'SubjectConfirmation'])
    const opened = decryptElement(only(subject, 'saml:EncryptedID'), { keys: [sender.privateKey] })
    const nameId = readElement(opened, { root: xmlName('saml:NameID') })
    const plain = await verifiedOf(site, await alice.open(askUrl(site)))
    expect([nameId.attributes['Format'], nameId.text]).toEqual([format('persistent'), plain.nameId])
    expect(xml).not.toContain(plain.nameId)
    await addProvider(site, { entityId: 'https://keyless.example' })
    const keyless = askUrl(site, { issuer: 'https://keyless.example', inside: asked })
    expect(statusOf(sentOf(await alice.open(keyless)))).toBe('Requester/InvalidNameIDPolicy')
  })

  it('encrypts assertions to the encryption certificate', async () => {
    await change(site, providerPath(), { options: { encryptAssertion: true } })
    const { response, xml } = sentOf(await alice.open(askUrl(site)))
    await change(site, providerPath(), { options: {} })
    expect(xml).not.toContain('alice')
    const data = only(response, 'saml:EncryptedAssertion', 'xenc:EncryptedData')
    const value = (element: typeof data) =>
      Buffer.from(only(element, 'xenc:CipherData', 'xenc:CipherValue').text, 'base64')
    const key = privateDecrypt(
      {
        key: sender.privateKey,
        padding: constants.RSA_PKCS1_OAEP_PADDING,
        oaepHash: 'sha256',
      },
      value(only(data, 'ds:KeyInfo', 'xenc:EncryptedKey')),
    )
    const bytes = value(data)
    const opened = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
    opened.setAuthTag(bytes.subarray(-16))
    const plain = opened.update(bytes.subarray(12, -16), undefined, 'utf8') + opened.final('utf8')
    expect(plain).toMatch(/^<saml:Assertion .*alice@acme\.example/)
  })

  it('starts sign-in here only where it is enabled, and asks the user first', async () => {
    const url = `${site.issuer}/saml/idp/initiate?entityId=${encodeURIComponent(entityId)}&RelayState=x`
    expect((await alice.open(url)).status).toBe(403)
    await change(site, providerPath(), { options: { idpInitiatedSsoEnabled: true } })
    expect((await alice.open(`${url}${'x'.repeat(4096)}`)).status).toBe(400)
    expect((await alice.open(`${url}&RelayState=y`)).status).toBe(400)
    const asked = await alice.open(url)
    expect(asked.body).not.toContain('SAMLResponse')
    const told = await verifiedOf(site, await alice.submit(asked, { decision: 'continue' }))
    expect([told.url, told.relayState]).toEqual([acsUrl, 'x'])
    expect(told.xml).not.toContain('InResponseTo')
  })

  it('publishes the same signed metadata on both paths, with the key that signs and the next', async () => {
    const long = await site.get('/saml/idp/metadata')
    const short = await fetch(`${site.server.baseUrl}/acme/saml/idp/metadata`)
    expect(await short.text()).toBe(long.body)
    expect(long.headers.get('content-type')).toContain('application/samlmetadata+xml')
    expect(long.body).toMatch(/validUntil="20\d\d-/)
    const { body: keys } = await site.admin('GET', '/keys')
    expect(certificatesOf(long.body)).toHaveLength(2)
    expect(new Set(certificatesOf(long.body)).size).toBe(2)
    expect(keys.length).toBeGreaterThan(0)
    const { body } = await site.admin('GET', '/endpoints')
    expect(body).toMatchObject({
      samlMetadata: `${site.issuer}/saml/idp/metadata`,
      samlSso: `${site.issuer}/saml/idp/sso`,
    })
  })
})
