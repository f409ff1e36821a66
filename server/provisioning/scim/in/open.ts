/** Opens SCIM 2.0 for senders (RFC 7643, RFC 7644): its routes below `/realms/{realm}/scim/v2`. */

import type { FastifyPluginAsync } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import type { CredentialsArea } from '#server/credentials/open.ts'
import type { HttpArea } from '#server/http/open.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { RealmArea } from '#server/realm/open.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import type { UsersArea } from '#server/users/open.ts'
import { createAccessTokens, type Possession } from './access-tokens.ts'
import { searchAllRoutes } from './across/search-all.ts'
import { takeScimBodies } from './body.ts'
import { createAdmit } from './caller.ts'
import { discoveryRoutes } from './discovery/routes.ts'
import { installScimErrors } from './errors.ts'
import { sendersOf } from './external-ids.ts'
import { createGroupResources } from './groups/resources.ts'
import { createRefusedTokens } from './refused-tokens.ts'
import { addResourceRoutes, createScimTurns } from './resource-routes.ts'
import { createScimTokens } from './tokens.ts'
import { refusedAt, unsupportedRoutes } from './unsupported-paths.ts'
import { createUserResources } from './users/resources.ts'

export interface ScimInNeeds {
  readonly storage: Storage
  readonly clock: Clock
  readonly recorder: Recorder
  readonly users: Pick<UsersArea, 'store' | 'ranks' | 'addressNotice'>
  readonly credentials: Pick<CredentialsArea, 'passwords'>
  readonly sessions: Sessions
  readonly tokens: Pick<TokensArea, 'issuers' | 'verifier'>
  /** Proofs of possession (RFC 9449). */
  readonly oidc: { readonly dpop: Possession }
  readonly realm: Pick<RealmArea, 'writer' | 'lastAdmin'>
  readonly http: Pick<HttpArea, 'mapError' | 'slowRefusal' | 'foreground'>
}

const path = '/realms/:realm/scim/v2'

/** Whether a URL is below the path of SCIM. */
export const isScim = (url: string): boolean => /^\/realms\/[^/]+\/scim\/v2/.test(url)

export const openScimIn = (needs: ScimInNeeds) => {
  const { storage, clock, recorder, sessions } = needs
  const { store, ranks, addressNotice } = needs.users
  const { passwords } = needs.credentials
  const { writer, lastAdmin } = needs.realm
  const { mapError, slowRefusal, foreground } = needs.http
  const { issuers, verifier } = needs.tokens
  const { admit, admitAnyone } = createAdmit({
    issuers,
    scimToken: createScimTokens({ storage, clock }),
    accessToken: createAccessTokens({ verifier, possession: needs.oidc.dpop, ranks }),
    refused: createRefusedTokens({ storage, clock }),
    slowRefusal,
  })
  const turns = createScimTurns(foreground)
  const users = createUserResources({
    storage,
    clock,
    recorder,
    writer,
    users: store,
    passwords,
    ranks,
    sessions,
    lastAdmin,
    addressNotice,
  })
  const groups = createGroupResources({ storage, clock, recorder, writer, ranks })
  return {
    sendersOf: (userId: string) => sendersOf(storage, userId),
    routes: (async (app) => {
      app.addHook('onRoute', (route) => {
        route.config = { callers: ['scim-token'], ...route.config }
      })
      installScimErrors(app, mapError, refusedAt)
      takeScimBodies(app)
      addResourceRoutes(app, { admit, turns }, `${path}/Users`, users)
      addResourceRoutes(app, { admit, turns }, `${path}/Groups`, groups)
      searchAllRoutes({ admit, types: [users, groups] }, path)(app)
      discoveryRoutes({ admitAnyone }, path)(app)
      unsupportedRoutes({ admit, admitAnyone }, path)(app)
    }) satisfies FastifyPluginAsync,
  }
}

export type ScimInArea = ReturnType<typeof openScimIn>
