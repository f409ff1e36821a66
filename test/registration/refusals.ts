/** Metadata that the policy of a realm refuses, with the error of RFC 7591 §3.2.2. */

import { web } from './fixture.ts'

export const refusals: readonly [
  name: string,
  policy: Readonly<Record<string, unknown>>,
  metadata: Readonly<Record<string, unknown>>,
  error: string,
][] = [
  [
    'a host that is not trusted',
    { trustedHosts: ['app.example', '*.shop.example'] },
    { redirect_uris: ['https://evil.example/'] },
    'invalid_redirect_uri',
  ],
  [
    'a host that ends like a trusted one',
    { trustedHosts: ['app.example', '*.shop.example'] },
    { redirect_uris: ['https://evilshop.example/'] },
    'invalid_redirect_uri',
  ],
  [
    'the host above a trusted one',
    { trustedHosts: ['app.example', '*.shop.example'] },
    { redirect_uris: ['https://shop.example/'] },
    'invalid_redirect_uri',
  ],
  [
    'a scheme of its own in the name of a trusted host',
    { trustedHosts: ['app.example'] },
    { redirect_uris: ['evil://app.example/'] },
    'invalid_redirect_uri',
  ],
  [
    'a way back after logout to another host',
    { trustedHosts: ['app.example'] },
    { ...web, post_logout_redirect_uris: ['https://evil.example/'] },
    'invalid_redirect_uri',
  ],
  [
    'a frame at logout of another host (OIDC Front-Channel Logout §2)',
    {},
    { ...web, frontchannel_logout_uri: 'https://evil.example/' },
    'invalid_client_metadata',
  ],
  [
    'a frame at logout of another port',
    {},
    {
      redirect_uris: ['https://app.example/cb'],
      frontchannel_logout_uri: 'https://app.example:8443/',
    },
    'invalid_client_metadata',
  ],
  [
    'a frame at logout with a fragment (OIDC Front-Channel Logout §2)',
    {},
    { ...web, frontchannel_logout_uri: 'https://app.example/#/out' },
    'invalid_client_metadata',
  ],
  [
    'an endpoint for logout tokens with a fragment (OIDC Back-Channel Logout §2.2)',
    {},
    { ...web, backchannel_logout_uri: 'https://app.example/out#x' },
    'invalid_client_metadata',
  ],
  [
    'a way back after logout with a fragment',
    {},
    { ...web, post_logout_redirect_uris: ['https://app.example/#/out'] },
    'invalid_client_metadata',
  ],
  [
    'the password grant',
    {},
    { ...web, grant_types: ['authorization_code', 'password'] },
    'invalid_client_metadata',
  ],
  [
    'a service account',
    {},
    { grant_types: ['client_credentials'], redirect_uris: [] },
    'invalid_client_metadata',
  ],
  [
    'a grant that is not listed, by its URN',
    { allowedGrantTypes: ['authorization_code'] },
    { ...web, grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'] },
    'invalid_client_metadata',
  ],
  [
    'a method that is not listed',
    { allowedAuthMethods: ['private_key_jwt'] },
    { ...web, token_endpoint_auth_method: 'none' },
    'invalid_client_metadata',
  ],
  [
    'a scope that is not listed',
    { allowedScopes: ['email'] },
    { ...web, scope: 'openid profile' },
    'invalid_client_metadata',
  ],
  ['the scope of the account API', {}, { ...web, scope: 'account' }, 'invalid_client_metadata'],
]
