/** Clients that are open to more than their author may have meant. */

import { planScope } from '#schemas/access/admin-access.ts'
import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import { longLife } from './long-life.ts'
import { asWritten, items, unencrypted } from './unencrypted.ts'
import { type WeakChoice, weakChoice } from './weak-choice.ts'

/** Grant types that PKCE or a device code protects, and those with a warning of their own. */
const toldOrProtected = new Set(['authorization_code', 'device', 'password', 'client_credentials'])

export const clientChoices: readonly WeakChoice[] = [
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
]
