/** Opens the OpenID provider: its endpoints, and what self-service and the admin API share with them. */

import type { FastifyPluginAsync } from 'fastify'
import { createRefusals } from '#server/audit/floods/refusals.ts'
import type { HttpArea } from '#server/http/open.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { SignInArea } from '#server/sign-in/open.ts'
import { addCookieCheck } from '#server/tokens/keycloak/cookie-check.ts'
import { addKeycloakPaths } from '#server/tokens/keycloak/paths.ts'
import { authorizeProtocol } from './authorize/authorize-protocol.ts'
import { createFindPending } from './authorize/pending-sign-in.ts'
import { createConsents } from './consent/consents.ts'
import { createPreflights } from './cors.ts'
import { createCibaDecisions } from './decoupled/ciba-decisions.ts'
import { cibaPings } from './decoupled/ciba-ping.ts'
import { createCibaRequests } from './decoupled/ciba-requests.ts'
import { createConfirmations } from './delegation/confirmations.ts'
import { createDelegations } from './delegation/delegations.ts'
import { createEndpoints, type EndpointNeeds } from './endpoints.ts'
import { installOAuthErrors } from './errors.ts'
import { keycloakPaths } from './keycloak-paths.ts'
import { createFramesOf } from './logout/frames.ts'
import { logoutDeliveries } from './logout/logout-deliveries.ts'
import { takeForms } from './parameters.ts'
import { createUserPages } from './signed-in-pages.ts'
import { createDpop } from './token/dpop.ts'

export interface OidcNeeds extends EndpointNeeds {
  readonly logger: Logger
  readonly http: HttpArea
  readonly signIn: Pick<SignInArea, 'browser' | 'directLack' | 'invitations' | 'roundTrip'>
}

export const openOidc = (needs: OidcNeeds) => {
  const { storage, clock, secrets, outgoing, recorder, jobs, sessions, tokens } = needs
  const { http, signIn } = needs
  const { issuers, mint, subjects, grantsStore } = tokens
  const { pages, mapError } = http
  const { browser } = signIn
  const { vault } = secrets
  const consents = createConsents({ storage, clock, grantsStore })
  const delegations = createDelegations({ storage, clock })
  const confirmations = createConfirmations({ storage, clock })
  const dpopKey = secrets.keyFor('dpop-nonces')
  const dpop = createDpop({ storage, grantsStore, clock, dpopKey })
  const preflights = createPreflights(issuers)
  const userPages = createUserPages({ issuers, sessions, browser, pages, mapError })
  const trip = signIn.roundTrip(authorizeProtocol(needs.provisioning.findClient))
  const cibaRequests = createCibaRequests({ storage, clock, grantsStore, vault })
  const cibaDecisions = createCibaDecisions({ recorder, jobs }, cibaRequests)
  const framesOf = createFramesOf(storage)
  const refusals = createRefusals({ recorder, clock, logger: needs.logger })
  const endpoints = createEndpoints(needs, {
    consents,
    delegations,
    confirmations,
    dpop,
    preflights,
    userPages,
    trip,
    cibaRequests,
    cibaDecisions,
    framesOf,
    refusals,
  })
  return {
    consents,
    delegations,
    confirmations,
    dpop,
    preflights,
    userPages,
    cibaRequests,
    cibaDecisions,
    /** What the sign-in page learns about what waits for it. */
    findPending: createFindPending(trip, signIn.invitations),
    tellLogout: logoutDeliveries({ storage, clock, outgoing, mint, subjects }),
    framesOf,
    pings: cibaPings({ storage, issuers, outgoing, requests: cibaRequests }),
    /** Forms in, JSON out, errors as RFC 6749 §5.2 says. */
    routes: (async (app) => {
      installOAuthErrors(app, mapError)
      app.addHook('onClose', refusals.close)
      takeForms(app)
      addKeycloakPaths(app, issuers, keycloakPaths)
      for (const endpoint of endpoints) endpoint.routes(app)
      addCookieCheck(app, issuers)
    }) satisfies FastifyPluginAsync,
  }
}

export type OidcArea = ReturnType<typeof openOidc>
