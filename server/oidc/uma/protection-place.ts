/** The caller of the protection API, and the resource server that it is about. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthzArea } from '#server/authz/open.ts'
import type { ResourceServer } from '#server/authz/resource-servers.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { freshIssuer } from '../issuer.ts'
import {
  type ProtectionCaller,
  type ProtectionParts,
  protectionCaller,
} from './protection-token.ts'

export interface PlaceParts extends ProtectionParts {
  readonly issuers: Issuers
  readonly authz: Pick<AuthzArea, 'resourceServers'>
}

/** Of one among many; without an id of all of them. */
export interface OneRoute {
  Params: { realm: string; id: string }
}

export interface Place extends ProtectionCaller {
  readonly issuer: Issuer
  readonly server: ResourceServer
  readonly sourceIp: string
}

/** Throws unless the caller may use the protection API. */
export const createPlaceOf =
  (parts: PlaceParts) =>
  async (request: FastifyRequest<OneRoute>, reply: FastifyReply): Promise<Place> => {
    const issuer = await freshIssuer(parts.issuers, request)
    const caller = await protectionCaller(parts, issuer, request, reply)
    const server = await parts.authz.resourceServers(issuer.view, caller.client)
    return { ...caller, issuer, server, sourceIp: request.ip }
  }
