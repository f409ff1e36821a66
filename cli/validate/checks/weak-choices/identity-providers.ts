/** Identity providers and directories that are trusted with more than they protect. */

import { nameIdFormatOf } from '#schemas/drivers/saml.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '#schemas/kinds/sign-in/identity-provider.ts'
import { isPlainLdap, unencrypted } from './unencrypted.ts'
import { type WeakChoice, weakChoice } from './weak-choice.ts'

export const identityProviderChoices: readonly WeakChoice[] = [
  weakChoice<IdentityProviderDoc>(
    IdentityProvider,
    'plain-http',
    'an address of another machine without TLS',
    ({ config }) =>
      unencrypted(Object.entries(config).map(([key, value]) => [`/config/${key}`, value])),
  ),
  weakChoice<IdentityProviderDoc>(
    IdentityProvider,
    'plain-ldap',
    'passwords are sent to a directory without encryption',
    ({ config: { url = '', startTls } }) => [
      startTls !== true &&
        url.split(' ').some(isPlainLdap) && {
          field: '/config/url',
          message: 'the passwords of users and of bindDn can be read on the network',
          hint: 'use ldaps://, or set startTls: true',
        },
    ],
  ),
  weakChoice<IdentityProviderDoc>(
    IdentityProvider,
    'weak-saml-provider',
    'a SAML provider may send what protects less',
    ({ config }) => [
      config.allowCbcEncryption === true && {
        field: '/config/allowCbcEncryption',
        message: 'AES-CBC does not protect what it hides (CVE-2011-1096)',
        hint: 'let the provider encrypt with AES-GCM',
      },
      config.idpInitiatedSsoEnabled === true && {
        field: '/config/idpInitiatedSsoEnabled',
        message: 'another site can begin a sign-in in the browser of a user',
        hint: 'let users begin at the application',
      },
      config.nameIdFormat !== undefined &&
        config.subjectAttribute === undefined &&
        nameIdFormatOf(config.nameIdFormat) === 'email' && {
          field: '/config/nameIdFormat',
          message: 'an address may be given to another person, who then gets the account',
          hint: 'use persistent, or set subjectAttribute to an id that stays with one person',
        },
    ],
  ),
  weakChoice<IdentityProviderDoc>(
    IdentityProvider,
    'no-receiving-country',
    'an eIDAS provider refuses every sign-in',
    ({ protocol, config }) => [
      protocol === 'eidas' &&
        config.receivingCountry === undefined && {
          field: '/config',
          message: 'every sign-in is refused: identifiers are compared with receivingCountry',
          hint: 'set receivingCountry to the country of the service',
        },
    ],
  ),
  weakChoice<IdentityProviderDoc>(
    IdentityProvider,
    'trusted-email',
    'addresses of an identity provider count as verified',
    ({ trustEmail }) => [
      trustEmail && {
        field: '/trustEmail',
        message: 'a user of this provider can take over an account by claiming its address',
        hint: 'only for providers that verify addresses themselves',
      },
    ],
  ),
]
