/** The `config` of a SAML provider with its defaults, and our own keys in it, read once for each document. */

import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { bindingUrns, type NameIdFormat, nameIdFormatOf } from '#schemas/drivers/saml.ts'
import { readCertificate } from '#schemas/public-keys/certificates.ts'
import type { Decryption, SigningKey } from '#server/xml/index.ts'
import { type Provider, UpstreamRefused } from '../../protocol.ts'

export type Config = Provider['config']

type RequestBinding = 'HTTP-Redirect' | 'HTTP-POST'
type ResponseBinding = 'HTTP-POST' | 'HTTP-Artifact'

const bindingOf = <T extends keyof typeof bindingUrns>(
  given: string | undefined,
  byDefault: T,
  names: readonly T[],
): T =>
  given === undefined
    ? byDefault
    : (names.find((name) => name === given || bindingUrns[name] === given) ?? byDefault)

export interface SamlSettings {
  readonly requestBinding: RequestBinding | undefined
  readonly responseBinding: ResponseBinding
  readonly nameIdFormat: NameIdFormat | undefined
  readonly wantAssertionsSigned: boolean
  readonly wantResponseSigned: boolean
  readonly wantAssertionsEncrypted: boolean
  readonly skewMs: number
  readonly decryption: Decryption
  /** Our own key; none: a key of the realm signs. */
  readonly signing: SigningKey | undefined
}

const pemKeys = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----/g

/** One or more private keys in PEM. */
const privateKeysIn = (pem: string | null | undefined): KeyObject[] => {
  try {
    return (pem?.match(pemKeys) ?? []).map((one) => createPrivateKey(one))
  } catch {
    throw new UpstreamRefused(
      'not-allowed',
      'a private key of the provider cannot be read; give it as PEM without a passphrase',
    )
  }
}

/** Our own key of the document, where it has one. */
const signingOf = ({
  spSigningPrivateKey,
  spSigningCertificate,
}: Config): SigningKey | undefined => {
  const [key] = privateKeysIn(spSigningPrivateKey)
  const certificate =
    spSigningCertificate === undefined ? undefined : readCertificate(spSigningCertificate)
  if (!key) return undefined
  if (!certificate?.checkPrivateKey(key))
    throw new UpstreamRefused(
      'not-allowed',
      'spSigningCertificate is not the certificate of spSigningPrivateKey',
    )
  return {
    certificate: certificate.raw.toString('base64'),
    sign: (_algorithm, data) =>
      new Promise((resolve, reject) => {
        sign('sha256', Buffer.from(data), key, (error, signature) =>
          error ? reject(error) : resolve(signature.toString('base64url')),
        )
      }),
  }
}

const read = (config: Config): SamlSettings => ({
  requestBinding:
    config.authnRequestBinding === undefined
      ? undefined
      : bindingOf(config.authnRequestBinding, 'HTTP-Redirect', ['HTTP-Redirect', 'HTTP-POST']),
  responseBinding: bindingOf(config.responseBinding, 'HTTP-POST', ['HTTP-POST', 'HTTP-Artifact']),
  nameIdFormat: config.nameIdFormat === undefined ? undefined : nameIdFormatOf(config.nameIdFormat),
  wantAssertionsSigned: config.wantAssertionsSigned ?? true,
  wantResponseSigned: config.wantResponseSigned ?? false,
  wantAssertionsEncrypted: config.wantAssertionsEncrypted ?? false,
  skewMs: (config.clockSkewSeconds ?? 60) * 1000,
  decryption: {
    keys: privateKeysIn(config.spDecryptionPrivateKey),
    recipient: config.spEntityId,
    allowCbc: config.allowCbcEncryption ?? false,
  },
  signing: signingOf(config),
})

const known = new WeakMap<Config, SamlSettings>()

export const settingsOf = ({ config }: Provider): SamlSettings => {
  const before = known.get(config)
  if (before) return before
  const settings = read(config)
  known.set(config, settings)
  return settings
}
