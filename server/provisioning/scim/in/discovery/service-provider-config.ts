/** What this service offers (RFC 7643 §5, RFC 9865 §4): nothing is named that does not work. */

import { maxBody } from '../body.ts'
import type { ScimCall } from '../caller.ts'
import { mostResults, usualResults } from '../paging.ts'
import type { Resource } from '../schema/attribute.ts'

export const configSchema = 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'

const scimToken = {
  type: 'oauthbearertoken',
  name: 'SCIM token',
  description: 'A token that an administrator of the realm made for this sender.',
  specUri: 'https://www.rfc-editor.org/info/rfc6750',
  primary: true,
}

const clientCredentials = {
  type: 'oauth2',
  name: 'OAuth 2.0 client credentials',
  description: 'An access token of a client that an administrator of the realm has named.',
  specUri: 'https://www.rfc-editor.org/info/rfc6749',
}

export const serviceProviderConfig = ({
  base,
  takesAccessTokens,
}: Pick<ScimCall, 'base' | 'takesAccessTokens'>): Resource => ({
  schemas: [configSchema],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: maxBody },
  filter: { supported: true, maxResults: mostResults },
  changePassword: { supported: true },
  sort: { supported: true },
  etag: { supported: true },
  pagination: {
    cursor: true,
    index: true,
    defaultPaginationMethod: 'index',
    defaultPageSize: usualResults,
    maxPageSize: mostResults,
  },
  authenticationSchemes: [scimToken, ...(takesAccessTokens ? [clientCredentials] : [])],
  meta: {
    resourceType: 'ServiceProviderConfig',
    location: `${base}/ServiceProviderConfig`,
  },
})
