/**
 * Pushed authorization requests (RFC 9126): stored parameters under a name that is valid for a minute and, once a code was
 * issued for it, never again. A reload before that is no second use.
 */

import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { oauthError } from '../errors.ts'
import { type Parameters, parametersText, parseParameters } from '../parameters.ts'

export const pushedPrefix = 'urn:ietf:params:oauth:request_uri:'
export const pushedLifetime = 60

/** Characters. Anybody can push for a public client, and parameters that nothing reads would be stored with the others. */
const longest = 16_384
const tooLarge = oauthError('invalid_request', 413)

/** As long as a sign-in that began with it may take; see waiting-requests.ts of the sign-in. */
const rememberMs = 3600_000
const purpose = 'pushed-request'

/** How a client proves who it is belongs to the pushing alone. */
const ofTheClient = new Set([
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'request',
])

export interface PushedRequest {
  readonly id: string
  readonly parameters: Parameters
}

export interface PushedRequests {
  /** Throws where the request is too long to keep (RFC 9126 §2.3). */
  create(
    realm: string,
    clientId: string,
    parameters: Parameters,
    more: Readonly<Record<string, string>>,
  ): { requestUri: string; statements: Statement[] }
  /** Undefined unless the client pushed it, within the last minute, and no code came of it. */
  find(realm: string, clientId: string, requestUri: string): Promise<PushedRequest | undefined>
  /** Refused by the database (a unique ConstraintError of replay_guards) when a code came of it before. */
  use(realm: string, id: string): Statement[]
}

export const createPushedRequests = ({
  storage: { db },
  clock,
  grantsStore,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly grantsStore: Pick<GrantsStore, 'once'>
}): PushedRequests => ({
  create: (realm, clientId, parameters, more) => {
    const text = parametersText(parameters, ofTheClient, more)
    if (text.length > longest)
      throw tooLarge(`the pushed request is longer than ${longest} characters`)
    const name = randomToken()
    const row = {
      id: sha256(name),
      realm,
      client_id: clientId,
      data: JSON.stringify(text),
      expires_at: clock.now() + pushedLifetime * 1000,
    }
    return {
      requestUri: `${pushedPrefix}${name}`,
      statements: insertRows(db, 'pushed_requests', [row]),
    }
  },

  find: async (realm, clientId, requestUri) => {
    const row = await db
      .selectFrom('pushed_requests')
      .selectAll()
      .where('id', '=', sha256(requestUri.slice(pushedPrefix.length)))
      .where('realm', '=', realm)
      .where('client_id', '=', clientId)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    return row && { id: row.id, parameters: parseParameters(JSON.parse(row.data) as string) }
  },

  use: (realm, id) => [
    ...grantsStore.once(realm, purpose, id, clock.now() + rememberMs),
    statement(db.deleteFrom('pushed_requests').where('id', '=', id)),
  ],
})
