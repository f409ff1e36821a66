/** Keys of a SAML provider's config that nothing else shows over a whole trip: certificates, clock, encryption, attributes. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { receiver, sender, stranger } from '../../xml/keys.ts'
import { at, attribute, audience, encrypted, idp, response, sp } from './answers.ts'
import { answering, openSamlSite, posted, refused, type SamlSite } from './fixture.ts'

const pem = (party: typeof sender): string => party.x509.toString()

const explicit = {
  spEntityId: sp,
  idpEntityId: idp,
  ssoUrl: 'https://idp.example/sso',
  idpSigningCertificate: pem(sender),
}

describe.each(anyBackend)('the config of a SAML provider', (backend) => {
  let saml: SamlSite
  beforeAll(async () => {
    saml = await openSamlSite(backend)
  }, 60_000)
  afterAll(() => saml.close())

  const asked = async (config: object) => {
    const { alias } = await saml.provider({ ...explicit, ...config })
    return { alias, request: await saml.begin(alias) }
  }

  it('idpSigningCertificates verify answers too, while the key changes', async () => {
    const before = await asked({})
    const byNew = (one: typeof before) =>
      saml.finish(
        one.alias,
        posted(answering(one.request).answer({}, stranger.privateKey), one.request),
      )
    expect(await refused(byNew(before))).toMatch(/signature/)
    const during = await asked({ idpSigningCertificates: [pem(stranger)] })
    expect((await byNew(during)).subject).toBe('alice-1')
    const byOld = await asked({ idpSigningCertificates: [pem(stranger)] })
    const answer = posted(answering(byOld.request).answer(), byOld.request)
    expect((await saml.finish(byOld.alias, answer)).subject).toBe('alice-1')
  })

  it('clockSkewSeconds is 60 if unset, and what is set otherwise', async () => {
    const late = async (config: object, seconds: number) => {
      const { alias, request } = await asked(config)
      const conditions = `<saml:Conditions NotBefore="${at(seconds)}" NotOnOrAfter="${at(600)}">${audience(sp)}</saml:Conditions>`
      return refused(saml.finish(alias, posted(answering(request).answer({ conditions }), request)))
    }
    expect(await late({}, 50)).toBe(undefined)
    expect(await late({}, 70)).not.toBe(undefined)
    expect(await late({ clockSkewSeconds: 0 }, 10)).not.toBe(undefined)
    expect(await late({ clockSkewSeconds: 120 }, 100)).toBe(undefined)
  })

  it('allowCbcEncryption is off if unset', async () => {
    const content = 'http://www.w3.org/2001/04/xmlenc#aes256-cbc'
    const key = receiver.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const told = async (config: object) => {
      const { alias, request } = await asked({ spDecryptionPrivateKey: key, ...config })
      const { signedAssertion, inResponse } = answering(request)
      const xml = await encrypted(signedAssertion(), 'EncryptedAssertion', { content })
      return refused(saml.finish(alias, posted(response(xml, inResponse), request)))
    }
    expect(await told({})).toMatch(/aes256-cbc is not accepted/)
    expect(await told({ allowCbcEncryption: true })).toBe(undefined)
  })

  it('emailAttribute is email if unset', async () => {
    const attributes = `<saml:AttributeStatement>${attribute('email', 'a@example.org')}${attribute('mail', 'b@example.org')}</saml:AttributeStatement>`
    const addressOf = async (config: object) => {
      const { alias, request } = await asked(config)
      const answer = posted(answering(request).answer({ attributes }), request)
      return (await saml.finish(alias, answer)).email
    }
    expect(await addressOf({})).toBe('a@example.org')
    expect(await addressOf({ emailAttribute: 'mail' })).toBe('b@example.org')
  })

  it('assertionConsumerServiceUrl is where answers are sent, ours if unset', async () => {
    const ours = await asked({})
    const address = 'AssertionConsumerServiceURL'
    expect(ours.request.request.attributes[address]).toMatch(
      new RegExp(`/broker/${ours.alias}/endpoint$`),
    )
    const other = await asked({ assertionConsumerServiceUrl: 'https://proxy.example/acs' })
    expect(other.request.request.attributes[address]).toBe('https://proxy.example/acs')
  })
})
