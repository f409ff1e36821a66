/** A realm file with a document for every secret field of every kind, each value taken from a variable of its own. */

import { generateKeyPairSync } from 'node:crypto'
import type { Doc } from '#schemas/json-schema.ts'
import { sectionOf } from '#schemas/realm/realm-document.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { secretFields } from '#schemas/walk.ts'
import { makeCertificate } from '../../../platform/outgoing/certificates.ts'

export interface SecretDocument {
  readonly kind: string
  readonly pointer: string
  readonly variable: string
  /** The document without the secret. */
  readonly entry: Doc
}

const { certificate } = makeCertificate(['eid.example'])
const eid = {
  alias: 'eid',
  protocol: 'eherkenning',
  config: {
    ssoUrl: 'https://eid.example/sso',
    idpEntityId: 'https://eid.example',
    spEntityId: 'https://sp.example',
    idpSigningCertificate: certificate,
    minimumLoa: 'urn:etoegang:core:assurance-class:loa3',
  },
}

/** What a document needs beside its secret. */
const entries: Readonly<Record<string, Doc>> = {
  'client /secret': { clientId: 'api' },
  'identity-provider /config/clientSecret': {
    alias: 'upstream',
    protocol: 'oidc',
    config: { clientId: 'ours', issuer: 'https://upstream.example' },
  },
  'identity-provider /config/bindPassword': {
    alias: 'directory',
    protocol: 'ldap',
    config: { url: 'ldaps://ldap.example', userSearchBase: 'ou=people' },
  },
  'identity-provider /config/spDecryptionPrivateKey': { ...eid, alias: 'eid-decryption' },
  'identity-provider /config/spSigningPrivateKey': {
    ...eid,
    alias: 'eid-signing',
    config: { ...eid.config, spSigningCertificate: certificate },
  },
  'identity-provider /config/tlsClientPrivateKey': {
    ...eid,
    alias: 'eid-tls',
    config: { ...eid.config, tlsClientCertificate: certificate },
  },
  'messaging-provider /secret': {
    channel: 'EMAIL',
    driver: 'smtp',
    config: { host: 'mail.example', port: 587 },
  },
  'scim-target /clientSecret': {
    name: 'oauth-target',
    baseUrl: 'https://target.example/scim',
    authType: 'oauth2',
    tokenUrl: 'https://target.example/token',
    clientId: 'iamctl',
  },
  'scim-target /token': { name: 'target', baseUrl: 'https://target.example/scim' },
  'subject-claim /salt': { strategy: 'pairwise' },
  'user /initialPassword': { username: 'ann' },
  'user /passwordHash': { username: 'ben' },
  'webhook /secret': { name: 'hook', url: 'https://hook.example/', eventTypes: '*' },
}

const newKeyPem = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()

const hash = (salt: string): string =>
  `$argon2id$v=19$m=19456,t=2,p=1$${salt}$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4`

/** Another value with every call. */
const values: Readonly<Record<string, (n: number) => string>> = {
  'identity-provider /config/spDecryptionPrivateKey': newKeyPem,
  'identity-provider /config/spSigningPrivateKey': newKeyPem,
  'identity-provider /config/tlsClientPrivateKey': newKeyPem,
  'user /passwordHash': (n) => hash(Buffer.from(`some salt of user ${n}`).toString('base64url')),
}

const nameOf = ({ kind, pointer }: Pick<SecretDocument, 'kind' | 'pointer'>): string =>
  `${kind} ${pointer}`

/** Every one that a kind declares: a new secret field needs a line above before this runs again. */
export const secretDocuments: readonly SecretDocument[] = kinds.flatMap(({ kind }) =>
  secretFields(kindNamed(kind)).map(({ pointer }, i) => {
    const entry = entries[nameOf({ kind, pointer })]
    if (!entry) throw new Error(`no document is known that holds ${kind} ${pointer}`)
    return { kind, pointer, entry, variable: `${kind}_${i}`.toUpperCase().replaceAll('-', '_') }
  }),
)

const withSecret = ({ entry, pointer, variable }: SecretDocument): Doc => {
  const copy = structuredClone(entry) as Record<string, unknown>
  const names = pointer.split('/').slice(1)
  const last = names.pop() ?? ''
  let inner = copy
  for (const name of names) inner = inner[name] as Record<string, unknown>
  inner[last] = `\${env:${variable}}`
  return copy
}

/** The sections of a realm file, with all of these secrets. */
export const realmWith = (realm: string, documents = secretDocuments): string => {
  const sections: Record<string, unknown> = {}
  for (const document of documents) {
    const kind = kindNamed(document.kind)
    const entry = withSecret(document)
    const section = sectionOf(kind)
    sections[section] =
      kind.shape === 'singleton' ? entry : [...((sections[section] as Doc[]) ?? []), entry]
  }
  return JSON.stringify({ realm, ...sections }, null, 2)
}

let count = 0

/** Values of all the variables, never given before. */
export const newValues = (): Record<string, string> => {
  count += 1
  return Object.fromEntries(
    secretDocuments.map((document) => [
      document.variable,
      values[nameOf(document)]?.(count) ?? `Secret-value-0123456789abcdef-${count}!`,
    ]),
  )
}
