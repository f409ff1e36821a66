/** The addresses of a realm's identity provider, as its metadata and its messages state them. */

import type { FastifyRequest } from 'fastify'
import { own } from '#schemas/own.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { KeycloakPaths } from '#server/tokens/keycloak/paths.ts'
import { SamlRefused } from './errors.ts'

export interface RealmRoute {
  Params: { realm: string }
}

export interface HandleRoute {
  Params: { realm: string; handle: string }
}

export const ssoPath = '/saml/idp/sso'
export const initiatePath = '/saml/idp/initiate'
export const sloPath = '/saml/idp/slo'
export const artifactPath = '/saml/idp/artifact'
export const metadataPath = '/saml/idp/metadata'

/** Where Keycloak has them; its address of sign-in takes logout messages too, which ours does not. */
export const keycloakPaths: KeycloakPaths = {
  [ssoPath]: '/protocol/saml',
  [metadataPath]: '/protocol/saml/descriptor',
}

/** The addresses that a message for the endpoint may name as its Destination. */
export const destinationsOf = ({ url, settings }: Issuer, path: string): readonly string[] => {
  const second = settings.keycloakPaths ? own(keycloakPaths, path) : undefined
  return [`${url}${path}`, ...(second === undefined ? [] : [`${url}${second}`])]
}

/** Below the realm. */
export const urlOf = (path: string): string => `/realms/:realm${path}`

/** The same as the issuer of tokens, so that a realm has one name. */
export const entityIdOf = ({ url }: Issuer): string => url

export const freshIssuer = async (
  issuers: Issuers,
  { params }: FastifyRequest<RealmRoute>,
): Promise<Issuer> => {
  const issuer = await issuers.fresh(params.realm)
  if (!issuer) throw new SamlRefused('There is no such realm.', { status: 404 })
  return issuer
}
