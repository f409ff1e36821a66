/** xmlsec1 and libxml2 judge what we write, and sign what we read: they share no code with ours. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { canonicalize } from '#server/xml/canonicalize.ts'
import {
  type ContentAlgorithm,
  element,
  encryptElement,
  readSigned,
  signElement,
  type Template,
  writeElement,
} from '#server/xml/index.ts'
import { parse } from '#server/xml/parse.ts'
import { pathOf } from '../support/processes/programs/programs.ts'
import { documents, templates } from '../xml/generated.ts'
import { sender } from '../xml/keys.ts'
import { c14n, enveloped, refusalOf, rsa256, sha256 } from '../xml/messages.ts'

const folder = mkdtempSync(join(tmpdir(), 'iamctl-xmlsec1-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const privateKey = file(
  'key.pem',
  sender.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
)
const certificate = file('certificate.pem', sender.x509.toString())
const ids = [
  '--id-attr:ID',
  'urn:oasis:names:tc:SAML:2.0:protocol:Response',
  '--id-attr:ID',
  'urn:oasis:names:tc:SAML:2.0:assertion:Assertion',
  '--id-attr:ID',
  'urn:one:root',
]

const run = (program: 'xmlsec1' | 'xmllint', args: readonly string[]): string =>
  execFileSync(pathOf(program), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

/** Whether the signature right inside the element of an ID holds. */
const verifies = (xml: string, id: string): boolean => {
  try {
    run('xmlsec1', [
      '--verify',
      ...ids,
      '--pubkey-cert-pem',
      certificate,
      '--node-xpath',
      `//*[@ID='${id}']/*[local-name()='Signature']`,
      file('verify.xml', xml),
    ])
    return true
  } catch {
    return false
  }
}

const LIMIT = 1_000_000
const few = { numRuns: 25 }

const signedResponse = async (content: readonly Template[]): Promise<string> => {
  const issuer = element('saml:Issuer', {}, 'https://idp.example')
  const assertion = element('saml:Assertion', { ID: '_a' }, [issuer, ...content])
  const inside = await signElement(assertion, sender.signing)
  return writeElement(
    await signElement(element('samlp:Response', { ID: '_r' }, [issuer, inside]), sender.signing),
  )
}

describe('what we write', () => {
  it('is its own canonical form to libxml2, for generated elements', () => {
    fc.assert(
      fc.property(templates, (template) => {
        const written = writeElement(template)
        expect(run('xmllint', ['--exc-c14n', file('written.xml', written)])).toBe(written)
      }),
      few,
    )
  })

  it('verifies for xmlsec1, both signatures, and no longer when it was changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(templates, { maxLength: 3 }), async (content) => {
        const xml = await signedResponse(content)
        expect([verifies(xml, '_r'), verifies(xml, '_a')]).toEqual([true, true])
      }),
      few,
    )
    const changed = (await signedResponse([])).replaceAll('https://idp', 'https://evil')
    expect([verifies(changed, '_r'), verifies(changed, '_a')]).toEqual([false, false])
  })

  it.each<ContentAlgorithm>(['aes256-gcm', 'aes128-gcm', 'aes256-cbc'])(
    'is decrypted by xmlsec1: %s',
    (content) => {
      const secret = element('saml:Assertion', { ID: '_a' }, [element('saml:Issuer', {}, 'alice')])
      const encrypted = encryptElement(secret, {
        content,
        transport: 'rsa-oaep-mgf1p',
        certificate: sender.x509,
      })
      const xml = file(
        'encrypted.xml',
        writeElement(element('saml:EncryptedAssertion', {}, [encrypted])),
      )
      const decrypted = run('xmlsec1', ['--decrypt', '--privkey-pem', privateKey, xml])
      expect(decrypted).toContain(writeElement(secret))
    },
  )
})

describe('what other software writes', () => {
  it('has the canonical form that libxml2 gives it', () => {
    fc.assert(
      fc.property(documents, (xml) => {
        const ours = canonicalize(parse(xml, LIMIT), { limit: LIMIT })
        // xmllint canonicalizes with comments.
        const plain = file('document.xml', xml.replace(/<!--.*?-->/g, ''))
        expect(ours).toBe(run('xmllint', ['--exc-c14n', plain]))
      }),
      { numRuns: 100 },
    )
  })

  it('is read when xmlsec1 signed it, and refused when it was changed after that', () => {
    const method = (name: string, algorithm: string, inside = '') =>
      `<ds:${name} Algorithm="${algorithm}">${inside}</ds:${name}>`
    const template = (prefixes: string) => {
      const list =
        prefixes === '' ? '' : `<i:InclusiveNamespaces xmlns:i="${c14n}" PrefixList="${prefixes}"/>`
      return `<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>${method('CanonicalizationMethod', c14n, list)}${method('SignatureMethod', rsa256)}<ds:Reference URI="#_1"><ds:Transforms>${method('Transform', enveloped)}${method('Transform', c14n, list)}</ds:Transforms>${method('DigestMethod', sha256)}<ds:DigestValue/></ds:Reference></ds:SignedInfo><ds:SignatureValue/></ds:Signature>`
    }
    const expected = { root: { namespace: 'urn:one', name: 'root' }, keys: [sender.publicKey] }
    fc.assert(
      fc.property(
        documents,
        fc.constantFrom('', 'p', 'Q', '#default', 'p Q #default', 'unbound'),
        (xml, prefixes) => {
          const at = xml.indexOf('>') + 1
          const unsigned = xml.slice(0, at) + template(prefixes) + xml.slice(at)
          const signed = run('xmlsec1', [
            '--sign',
            ...ids,
            '--privkey-pem',
            privateKey,
            file('sign.xml', unsigned),
          ])
          const { element: read } = readSigned(signed, expected)
          expect(read.attributes['ID']).toBe('_1')
          const changed = signed.replace('</p:root>', '<a/></p:root>')
          expect(refusalOf(() => readSigned(changed, expected))).toBe('digest')
        },
      ),
      { numRuns: 60 },
    )
  })
})
