import Type, { type Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { fields, flag, oneOf, ref, seconds, setOf } from '../../marks.ts'
import { grantTypes, tokenEndpointAuthMethods } from '../clients/client.ts'

const hosts = (description: string) =>
  setOf(Type.String({ format: 'host-pattern', minLength: 1, maxLength: 253 }), { description })

const spec = fields({
  dcrEnabled: flag(false, 'Whether clients may register themselves (RFC 7591).'),
  anonymousAllowed: flag(false, 'Whether they may do so without an initial access token.'),
  trustedHosts: hosts(
    'Hosts that redirect URIs of registered clients may name: shop.example, or *.shop.example for all below it; none means any.',
  ),
  maxClients: Type.Integer({
    default: 200,
    minimum: 0,
    maximum: 1_000_000,
    description: 'Most clients that are registered, and as many that have metadata documents.',
  }),
  allowedScopes: setOf(ref('client-scope', { onDelete: 'detach' }), {
    description:
      'Client scopes that registered clients may have; none means profile, email, address, phone and offline_access.',
  }),
  allowedGrantTypes: setOf(oneOf(grantTypes), {
    description:
      'Grant types that registered clients may have; none means authorization_code and refresh_token.',
  }),
  allowedAuthMethods: setOf(oneOf(tokenEndpointAuthMethods), {
    description: 'How registered clients may authenticate at the token endpoint; none means any.',
  }),
  allowedResources: setOf(Type.String({ format: 'resource-indicator', maxLength: 2000 }), {
    description:
      'Resource indicators that registered clients may ask for (RFC 8707), such as the address of an MCP server.',
  }),
  consentRequired: flag(true, 'Whether users of registered clients are asked.'),
  unusedClientLifespan: seconds(
    7_776_000,
    'Seconds after which a registered client that is not used is deleted; 0 means never.',
  ),
  softwareStatementIssuers: setOf(
    Type.Object(
      {
        issuer: Type.String({ minLength: 1, maxLength: 2000, description: 'The claim iss.' }),
        jwksUri: Type.String({
          format: 'https-url',
          maxLength: 2000,
          description: 'Where its public keys are published.',
        }),
      },
      { additionalProperties: false },
    ),
    { description: 'Issuers whose software statements are trusted (RFC 7591 §2.3).' },
  ),
  clientMetadataDocuments: flag(
    false,
    'Whether a client_id may be the https address of a client metadata document, as MCP clients use it.',
  ),
  metadataDocumentHosts: hosts(
    'Hosts whose client metadata documents are trusted: client.example, or *.client.example; none means any.',
  ),
  metadataDocumentClients: setOf(Type.String({ format: 'metadata-document', maxLength: 255 }), {
    description:
      'Addresses of client metadata documents that are trusted beside those hosts, and read whatever other addresses requests name: https://client.example/oauth/client.json.',
  }),
  scimEnabled: flag(false, 'Whether senders may provision users and groups by SCIM 2.0.'),
  signalSubjects: oneOf(['NONE', 'ALL'], {
    default: 'NONE',
    description:
      'Users whose security events a stream carries before its receiver adds or removes any (default_subjects of SSF 1.0).',
  }),
  scimClients: setOf(ref('client', { onDelete: 'detach' }), {
    description:
      'Clients that may send SCIM with an access token of their service account (client_credentials): users with the permission manage-users, groups with manage-organizations.',
  }),
})

export type ProvisioningDoc = Static<typeof spec>

export const Provisioning = defineKind({
  kind: 'provisioning',
  shape: 'singleton',
  section: 'provisioning',
  path: '/provisioning',
  pathKey: 'realmId',
  key: 'realmId',
  permission: { read: 'manage-realm', write: 'manage-realm' },
  prune: 'never',
  doc: 'Dynamic client registration, client metadata documents and inbound provisioning.',
  spec,
})
