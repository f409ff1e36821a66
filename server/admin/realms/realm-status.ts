/** The endpoints of a realm, and its health. */

import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { activeKeyOf } from '#server/keys/signing-keys.ts'
import { provisioningOf } from '#server/provisioning/endpoint.ts'
import { findIn } from '#server/realm/read/find.ts'
import type { Storage } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import { type Action, bodyOf } from '../action.ts'

/** Below /realms/{realm}. */
const paths = {
  discovery: '/.well-known/openid-configuration',
  authorization: '/authorize',
  token: '/token',
  userinfo: '/userinfo',
  jwks: '/.well-known/jwks.json',
  endSession: '/logout',
  introspection: '/introspect',
  revocation: '/revoke',
  samlMetadata: '/saml/idp/metadata',
  samlSso: '/saml/idp/sso',
  samlSlo: '/saml/idp/slo',
  scim: '/scim/v2',
  registration: '/connect/register',
  delegation: '/agent/delegation/token',
  workloadToken: '/workload-identity/token',
}

const urlSchema = { type: 'string', format: 'uri' } as const

/** Only what is served: an address that answers 404 would be worse than none. */
export const readEndpoints = (baseUrl: string): Action => ({
  operationId: 'read-endpoints',
  method: 'GET',
  path: '/endpoints',
  permission: 'view-events',
  resourceType: 'endpoints',
  summary: "Addresses of the realm's endpoints",
  reply: {
    status: 200,
    schema: bodyOf(
      Object.fromEntries(['issuer', ...Object.keys(paths)].map((name) => [name, urlSchema])),
      ['issuer'],
    ),
  },
  handle: async ({ realm, request, view }) => {
    const { dcrEnabled, scimEnabled } = await provisioningOf(view)
    const isServed = (path: string): boolean =>
      (path !== paths.registration || dcrEnabled) &&
      (path !== paths.scim || scimEnabled) &&
      (['GET', 'POST'] as const).some((method) =>
        request.server.hasRoute({ method, url: `/realms/:realm${path}` }),
      )
    const issuer = `${baseUrl}/realms/${realm}`
    const served = Object.entries(paths).filter(([, path]) => isServed(path))
    return {
      issuer,
      ...Object.fromEntries(served.map(([name, path]) => [name, `${issuer}${path}`])),
    }
  },
})

const component = bodyOf({ status: { type: 'string', enum: ['UP', 'DOWN'] } })

export const readRealmHealth = (storage: Storage): Action => ({
  operationId: 'read-realm-health',
  method: 'GET',
  path: '/health',
  permission: 'view-events',
  resourceType: 'health',
  summary: 'Whether the realm can sign users in',
  reply: {
    status: 200,
    schema: bodyOf({
      status: { type: 'string', enum: ['UP', 'DOWN'] },
      components: bodyOf({ db: component, enabled: component, signingKey: component }),
    }),
  },
  handle: async ({ realm, view }) => {
    const settings = contentOf<SettingsDoc>(await findIn(view, Settings, Settings.kind))
    const key = await activeKeyOf(storage, { realm, clientId: null })
    const up = (is: boolean) => ({ status: is ? 'UP' : 'DOWN' })
    const components = {
      db: up(await storage.ping()),
      enabled: up(settings.enabled),
      signingKey: up(key !== undefined),
    }
    const all = Object.values(components).every(({ status }) => status === 'UP')
    return { ...up(all), components }
  },
})
