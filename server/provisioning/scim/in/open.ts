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
import { takeScimBodies } from './body.ts'
import { createAdmit } from './caller.ts'
import { discoveryRoutes } from './discovery/routes.ts'
import { elsewhereRoutes } from './elsewhere.ts'
import { installScimErrors } from './errors.ts'
import { sendersOf } from './external-ids.ts'
import { groupRoutes } from './groups/routes.ts'
import { searchAllRoutes } from './search-all.ts'
import { userRoutes } from './users/routes.ts'

export interface ScimInNeeds {
  readonly storage: Storage
  readonly clock: Clock
  readonly recorder: Recorder
  readonly users: Pick<UsersArea, 'store' | 'ranks' | 'addressNotice'>
  readonly credentials: Pick<CredentialsArea, 'passwords'>
  readonly sessions: Sessions
  readonly tokens: Pick<TokensArea, 'issuers'>
  readonly realm: Pick<RealmArea, 'writer' | 'lastAdmin'>
  readonly http: Pick<HttpArea, 'mapError'>
}

const path = '/realms/:realm/scim/v2'

export const openScimIn = (needs: ScimInNeeds) => {
  const { storage, clock, recorder, sessions } = needs
  const { store, ranks, addressNotice } = needs.users
  const { passwords } = needs.credentials
  const { writer, lastAdmin } = needs.realm
  const { mapError } = needs.http
  const admit = createAdmit({ storage, clock, issuers: needs.tokens.issuers })
  const users = userRoutes(
    {
      admit,
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
    },
    `${path}/Users`,
  )
  const groups = groupRoutes({ admit, storage, clock, recorder, writer, ranks }, `${path}/Groups`)
  return {
    sendersOf: (userId: string) => sendersOf(storage, userId),
    routes: (async (app) => {
      app.addHook('onRoute', (route) => {
        route.config = { ...route.config, callers: ['scim-token'] }
      })
      installScimErrors(app, mapError)
      takeScimBodies(app)
      users.routes(app)
      groups.routes(app)
      searchAllRoutes({ admit, finders: [users.find, groups.find] }, path)(app)
      discoveryRoutes({ admit }, path)(app)
      elsewhereRoutes({ admit }, path)(app)
    }) satisfies FastifyPluginAsync,
  }
}

export type ScimInArea = ReturnType<typeof openScimIn>
