/** The realm of a protocol request. An unknown realm and a disabled realm get the same response. */

import type { FastifyRequest } from 'fastify'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { noSuchRealm } from './errors.ts'

export interface RealmRoute {
  Params: { realm: string }
}

/** Of a request that was stored. */
export interface HandleRoute {
  Params: { realm: string; handle: string }
}

const orRefuse = (issuer: Issuer | undefined): Issuer => {
  if (!issuer) throw noSuchRealm('There is no such realm.')
  return issuer
}

/** As last known, without a query: only where no user is involved. */
export const knownIssuer = async (
  issuers: Issuers,
  { params }: FastifyRequest<RealmRoute>,
): Promise<Issuer> => orRefuse(await issuers.known(params.realm))

export const freshIssuer = async (
  issuers: Issuers,
  { params }: FastifyRequest<RealmRoute>,
): Promise<Issuer> => orRefuse(await issuers.fresh(params.realm))

const issuerPath = '/realms/:realm'

/** Where a request below the issuer came to, as clients know it: without a query, whatever the Host header says. */
export const addressOf = ({ url }: Issuer, { routeOptions }: FastifyRequest): string =>
  `${url}${(routeOptions.url ?? '').slice(issuerPath.length)}`
