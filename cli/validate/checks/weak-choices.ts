/** The list of weak choices. They are warnings: --ignore switches a code off. */

import { planScope } from '#schemas/access/admin-access.ts'
import { nameIdFormatOf } from '#schemas/drivers/saml.ts'
import { createClosure } from '#schemas/graph/closure.ts'
import { type Doc, isObject } from '#schemas/json-schema.ts'
import { parentKeyOf } from '#schemas/kind.ts'
import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import { SamlClient, type SamlClientDoc } from '#schemas/kinds/clients/saml-client.ts'
import { Provisioning, type ProvisioningDoc } from '#schemas/kinds/provisioning/provisioning.ts'
import { WorkloadIdentity } from '#schemas/kinds/provisioning/workload-identity.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '#schemas/kinds/sign-in/identity-provider.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role, type RoleDoc } from '#schemas/kinds/users/role.ts'
import { User } from '#schemas/kinds/users/user.ts'
import type { Model } from '../model.ts'
import { idleAuthorization } from './idle-authorization.ts'
import { unknownNames } from './unknown-names.ts'
import { unsentTemplates } from './unsent-templates.ts'
import {
  hourInSeconds,
  isPlainHttp,
  isPlainLdap,
  type WeakChoice,
  type Weakness,
  weakChoice,
} from './weak-choice.ts'

const unencrypted = (values: readonly (readonly [field: string, value: unknown])[]): Weakness[] =>
  values
    .filter(([, value]) => isPlainHttp(value))
    .map(([field]) => ({
      field,
      message: 'the traffic can be read on the network',
      hint: 'use https; plain http is for this machine only',
    }))

const items = (field: string, list: readonly unknown[]): (readonly [string, unknown])[] =>
  list.map((value, i) => [`${field}/${i}`, value])

const longLife = (lifespan: number | undefined): Weakness | false =>
  lifespan !== undefined &&
  lifespan > hourInSeconds && {
    field: '/accessTokenLifespan',
    message: `an access token that is stolen works for ${lifespan} s`,
    hint: `at most ${hourInSeconds} s, with a refresh token for more`,
  }

const permissionsOfModels = new WeakMap<Model, (role: string) => ReadonlySet<string>>()

/** Whether a role, or one that comes with it, has every permission. */
const isAdmin = (model: Model, name: string): boolean => {
  const roleOf = (key: string) => model.find(Role.kind, key) as RoleDoc | undefined
  const permissionsOf =
    permissionsOfModels.get(model) ??
    createClosure<string, string>({
      own: (key) => roleOf(key)?.permissions ?? [],
      next: (key) => roleOf(key)?.composites ?? [],
    })
  permissionsOfModels.set(model, permissionsOf)
  return permissionsOf(name).has('realm-admin')
}

const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []

/** The roles of a user that the files tell: their own, and those of their groups and the groups above. */
const rolesOf = (model: Model, user: Doc): string[] => {
  const roles = textsIn(user['roles'])
  for (const path of textsIn(user['groups']))
    for (let key: string | null = path; key !== null; key = parentKeyOf(Group, key))
      roles.push(...textsIn(model.find(Group.kind, key)?.['roles']))
  return roles
}

/** Of the file itself, so that the pointers to list items are those of the file. */
const asWritten = (list: unknown): readonly unknown[] => (Array.isArray(list) ? list : [])

/** Grant types that PKCE or a device code protects, and those with a warning of their own. */
const toldOrProtected = new Set(['authorization_code', 'device', 'password', 'client_credentials'])

/** Of the trust in another issuer; `plan` and `doctor` tell the same. */
const trustChoices: readonly WeakChoice[] = Object.entries({
  'mutable-subject': 'a workload is trusted by a name that another owner can get',
  'shared-audience': 'a workload is trusted by an audience that other services receive tokens for',
  'issuer-of-all': 'the issuer of a workload stands for every tenant',
}).map(([code, meaning]) => ({
  kind: WorkloadIdentity,
  code,
  meaning,
  find: ({ doc }) => WorkloadIdentity.cautions?.(doc).filter((one) => one.code === code) ?? [],
}))

export const weakChoices: readonly WeakChoice[] = [
  ...idleAuthorization,
  unknownNames,
  unsentTemplates,
  {
    kind: Client,
    code: 'password-grant',
    meaning: 'a client may take passwords itself',
    find: ({ doc }) =>
      items('/grantTypes', asWritten(doc['grantTypes']))
        .filter(([, grant]) => grant === 'password')
        .map(([field]) => ({
          field,
          message: 'the client sees the passwords of users',
          hint: 'use authorization_code (RFC 9700 §2.4)',
        })),
  },
  weakChoice<ClientDoc>(
    Client,
    'public-client-grants',
    'a public client has no grant that PKCE protects',
    ({ publicClient, grantTypes }) => [
      publicClient &&
        grantTypes.length > 0 &&
        !grantTypes.some((grant) => toldOrProtected.has(grant)) && {
          field: '/grantTypes',
          message: 'a public client is protected by PKCE only, and none of its grants uses it',
          hint: 'use authorization_code',
        },
    ],
  ),
  weakChoice<ClientDoc>(
    Client,
    'unused-redirects',
    'a client has redirect URIs, and no grant that uses them',
    ({ redirectUris, grantTypes }) => [
      redirectUris.length > 0 &&
        !grantTypes.includes('authorization_code') && {
          field: '/redirectUris',
          message: 'no user can sign in to the client: it may not use authorization_code',
          hint: 'add authorization_code to grantTypes, or leave redirectUris out',
        },
    ],
  ),
  weakChoice<ClientDoc>(
    Client,
    'plan-by-scope',
    'a client may only plan because of a scope',
    ({ adminAccess, defaultScopes }) => [
      adminAccess !== 'plan' &&
        defaultScopes.includes(planScope) && {
          field: '/defaultScopes',
          message: `the client may only plan as long as ${planScope} is among its default scopes`,
          hint: 'set adminAccess: plan',
        },
    ],
  ),
  weakChoice<ClientDoc>(
    Client,
    'long-access-token',
    'access tokens live for more than an hour',
    ({ accessTokenLifespan }) => [longLife(accessTokenLifespan)],
  ),
  weakChoice<SettingsDoc>(
    Settings,
    'long-access-token',
    'access tokens live for more than an hour',
    ({ accessTokenLifespan }) => [longLife(accessTokenLifespan)],
  ),
  {
    kind: Client,
    code: 'plain-http',
    meaning: 'an address of another machine without TLS',
    find: ({ doc }) =>
      unencrypted([
        ...items('/redirectUris', asWritten(doc['redirectUris'])),
        ...items('/postLogoutRedirectUris', asWritten(doc['postLogoutRedirectUris'])),
        ['/frontchannelLogoutUri', doc['frontchannelLogoutUri']],
        ['/backchannelLogoutUri', doc['backchannelLogoutUri']],
      ]),
  },
  {
    kind: SamlClient,
    code: 'plain-http',
    meaning: 'an address of another machine without TLS',
    find: ({ doc }) => {
      const options = isObject(doc['options']) ? doc['options'] : {}
      return unencrypted([
        ['/assertionConsumerServiceUrl', doc['assertionConsumerServiceUrl']],
        ['/singleLogoutServiceUrl', doc['singleLogoutServiceUrl']],
        ['/singleLogoutServiceResponseUrl', doc['singleLogoutServiceResponseUrl']],
        ['/singleLogoutServiceSoapUrl', doc['singleLogoutServiceSoapUrl']],
        ...items('/options/additionalAcsUrls', asWritten(options['additionalAcsUrls'])),
        ...asWritten(doc['acs']).map(
          (one, i) => [`/acs/${i}/url`, isObject(one) ? one['url'] : undefined] as const,
        ),
        ['/metadataUrl', doc['metadataUrl']],
      ])
    },
  },
  weakChoice<SamlClientDoc>(
    SamlClient,
    'untold-logout',
    'logouts go over the back channel, and there is no address for them',
    ({ options, singleLogoutServiceUrl, singleLogoutServiceSoapUrl, metadataRefresh }) => [
      options.backChannelSloEnabled === true &&
        singleLogoutServiceUrl === undefined &&
        singleLogoutServiceSoapUrl === undefined &&
        // Its metadata may name one.
        metadataRefresh === undefined && {
          field: '/options/backChannelSloEnabled',
          message: 'the service provider is not told of any logout: it has no address for them',
          hint: 'set singleLogoutServiceSoapUrl, or leave backChannelSloEnabled out',
        },
    ],
  ),
  weakChoice<SamlClientDoc>(
    SamlClient,
    'unauthenticated-encryption',
    'assertions are encrypted in CBC mode, which can be read by an attacker who may ask often',
    ({ options: { encryptionAlgorithm = '' } }) => [
      encryptionAlgorithm.endsWith('-cbc') && {
        field: '/options/encryptionAlgorithm',
        message: 'an attacker who sees how the service provider answers can decrypt assertions',
        hint: 'leave it out (aes256-gcm) unless the service provider supports CBC only',
      },
    ],
  ),
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
  weakChoice<SettingsDoc>(
    Settings,
    'short-passwords',
    'passwords may have fewer than 8 characters',
    ({ passwordPolicy }) => [
      passwordPolicy.length < 8 && {
        field: '/passwordPolicy/length',
        message: `passwords of ${passwordPolicy.length} characters can be guessed`,
        hint: 'at least 8, better 12 (NIST SP 800-63B)',
      },
    ],
  ),
  weakChoice<SettingsDoc>(
    Settings,
    'no-breach-check',
    'passwords known from breaches are accepted',
    ({ passwordPolicy }) => [
      !passwordPolicy.breachCheck && {
        field: '/passwordPolicy/breachCheck',
        message: 'passwords known from breaches are the first that are tried',
        hint: 'leave it out: they are refused',
      },
    ],
  ),
  weakChoice<SettingsDoc>(
    Settings,
    'no-brute-force-protection',
    'passwords can be guessed as often as one likes',
    ({ bruteForceProtected }) => [
      !bruteForceProtected && {
        field: '/bruteForceProtected',
        message: 'passwords can be guessed as often as one likes',
        hint: 'leave it out: guessing is slowed down',
      },
    ],
  ),
  weakChoice<SettingsDoc>(
    Settings,
    'reusable-refresh-token',
    'a refresh token that is stolen is not noticed',
    ({ revokeRefreshToken }) => [
      !revokeRefreshToken && {
        field: '/revokeRefreshToken',
        message: 'a refresh token that is stolen works along with the real one and is not noticed',
        hint: 'leave it out: each refresh token is valid once (RFC 9700 §4.14.2)',
      },
    ],
  ),
  weakChoice<SettingsDoc>(
    Settings,
    'admin-by-default',
    'every new user administers the realm',
    ({ defaultRole }, model) => [
      isAdmin(model, defaultRole) && {
        field: '/defaultRole',
        message: `every new user gets "${defaultRole}" and with it realm-admin`,
        hint: 'choose a role without admin permissions',
      },
    ],
  ),
  weakChoice<ProvisioningDoc>(
    Provisioning,
    'open-registration',
    'clients can be registered without authentication, for any address',
    ({ dcrEnabled, anonymousAllowed, trustedHosts }) => [
      dcrEnabled &&
        anonymousAllowed &&
        trustedHosts.length === 0 && {
          field: '/anonymousAllowed',
          message: 'clients can be registered without authentication, with any redirect URI',
          hint: 'name trustedHosts, or ask for initial access tokens',
        },
    ],
  ),
  ...trustChoices,
  {
    kind: User,
    code: 'admin-initial-password',
    meaning: 'the initial password of an administrator is known to others',
    find: ({ doc, secrets }, model) =>
      secrets['/initialPassword'] !== undefined &&
      !textsIn(doc['requiredActions']).includes('UPDATE_PASSWORD') &&
      rolesOf(model, doc).some((role) => isAdmin(model, role))
        ? [
            {
              field: '/initialPassword',
              message: 'the initial password of an administrator is known to others',
              hint: 'add UPDATE_PASSWORD to requiredActions, or let them set it by mail',
            },
          ]
        : [],
  },
]
