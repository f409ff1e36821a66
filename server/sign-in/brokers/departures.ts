/** Sends a browser to an identity provider: by a redirect, by a form, or by a page where a form of ours led here. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendDeparture } from '#server/broker/departure-pages.ts'
import type { BrokerArea, Hints } from '#server/broker/open.ts'
import type { Purpose } from '#server/broker/trips/trips.ts'
import type { PageContext } from '#server/http/pages/context.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import type { SignInProvider } from './providers.ts'

export interface DepartureParts {
  readonly broker: Pick<BrokerArea, 'begin' | 'tripCookie'>
  readonly pages: SignInPages
}

export interface DepartureWay {
  readonly issuer: Issuer
  readonly provider: Pick<SignInProvider, 'alias' | 'name'>
  readonly purpose: Purpose
  readonly hints?: Hints
  /** Committed with the trip. */
  readonly statements?: readonly Statement[]
  readonly context: PageContext
  /** A form of ours led here. */
  readonly afterForm?: boolean
}

/** Throws `UpstreamRefused`. */
export const createDepartures =
  ({ broker, pages }: DepartureParts) =>
  async (
    request: FastifyRequest,
    reply: FastifyReply,
    { issuer, provider, purpose, hints, statements, context, afterForm = false }: DepartureWay,
  ): Promise<FastifyReply> => {
    const browser = broker.tripCookie.make(request, reply, issuer.name)
    const { alias, name } = provider
    const { departure } = await broker.begin(issuer, alias, purpose, browser, hints, statements)
    return sendDeparture(pages, reply, departure, { context, provider: name, afterForm })
  }

export type Departures = ReturnType<typeof createDepartures>
