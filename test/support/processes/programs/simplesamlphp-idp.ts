/**
 * SimpleSAMLphp as an identity provider that asks for a name and a password. It is at `localhost`, another site than the addresses
 * of the tests, so that browsers treat what it sends as cross-site.
 */
import { openSimpleSamlPhp } from './simplesamlphp-pages.ts'

export interface SimpleSamlPhpIdp {
  readonly url: string
  readonly entityId: string
  readonly metadataUrl: string
  readonly log: () => string
  /** Registers a service provider from its metadata; `options` are lines of its configuration. */
  readonly register: (metadata: string, options?: Readonly<Record<string, string>>) => Promise<void>
  /** Publishes the certificate of a second key. */
  readonly announceNextKey: () => void
  readonly close: () => Promise<void>
}

/** In PEM. */
interface Key {
  readonly privateKey: string
  readonly certificate: string
}

export interface SimpleSamlPhpIdpOptions {
  readonly key: Key
  readonly nextKey: Key
  /** Names and their attributes; the password of everybody is `there`. */
  readonly users: Readonly<Record<string, Readonly<Record<string, string>>>>
}

const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings'

const usersOf = (users: SimpleSamlPhpIdpOptions['users']): string =>
  Object.entries(users)
    .map(([name, attributes]) => {
      const all = Object.entries({ uid: name, ...attributes })
      return `'${name}:there' => [${all.map(([key, value]) => `'${key}' => ['${value}']`).join(', ')}],`
    })
    .join('\n    ')

const hostedOf = (entityId: string, hasNextKey: boolean): string => `<?php
$metadata['${entityId}'] = [
  'host' => '__DEFAULT__',
  'privatekey' => 'one.key',
  'certificate' => 'one.crt',
  ${hasNextKey ? "'new_privatekey' => 'two.key', 'new_certificate' => 'two.crt'," : ''}
  'auth' => 'people',
  'validate.authnrequest' => true,
  'redirect.validate' => true,
  'validate.logout' => true,
  'redirect.sign' => true,
  'sign.logout' => true,
  'saml20.sendartifact' => true,
  'signature.algorithm' => 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'SingleSignOnServiceBinding' => ['${bindings}:HTTP-Redirect', '${bindings}:HTTP-POST'],
  'SingleLogoutServiceBinding' => ['${bindings}:HTTP-Redirect', '${bindings}:HTTP-POST'],
  'NameIDFormat' => 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  'authproc' => [3 => ['class' => 'saml:PersistentNameID', 'attribute' => 'uid']],
];
`

export const startSimpleSamlPhpIdp = async ({
  key,
  nextKey,
  users,
}: SimpleSamlPhpIdpOptions): Promise<SimpleSamlPhpIdp> => {
  const config = `'enable.saml20-idp' => true, 'module.enable' => ['exampleauth' => true],`
  const { url, file, converted, start } = await openSimpleSamlPhp('localhost', config)
  const entityId = `${url}/idp`
  const known: string[] = []
  file(
    'config/authsources.php',
    `<?php $config = ['people' => ['exampleauth:UserPass',\n    ${usersOf(users)}\n]];\n`,
  )
  for (const [name, { privateKey, certificate }] of Object.entries({ one: key, two: nextKey })) {
    file(`cert/${name}.key`, privateKey)
    file(`cert/${name}.crt`, certificate)
  }
  const publish = (hasNextKey: boolean): void => {
    file('metadata/saml20-idp-hosted.php', hostedOf(entityId, hasNextKey))
  }
  publish(false)
  file('www/bye.php', 'signed out at the provider')
  return {
    url,
    entityId,
    metadataUrl: `${url}/saml2/idp/metadata.php`,
    register: async (metadata, options = {}) => {
      const made = await converted(metadata, 'SP')
      const id = /^\$metadata\[('[^']+')\]/.exec(made)?.[1] ?? ''
      const lines = Object.entries(options).map(
        ([name, value]) => `$metadata[${id}]['${name}'] = ${value};`,
      )
      known.push(made, ...lines)
      file('metadata/saml20-sp-remote.php', `<?php\n${known.join('\n')}\n`)
    },
    announceNextKey: () => publish(true),
    ...(await start()),
  }
}
