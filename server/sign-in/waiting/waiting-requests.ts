/**
 * Requests of a protocol that wait for their user. The handle travels through the browser, its digest is stored. A cookie
 * binds the request to the browser in which it began, so that no other browser can be made to finish it (CVE-2026-7507).
 * A request that came by a cross-site POST is not bound to a browser yet: cookies do not travel with such a POST.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '#server/http/cookies/cookies.ts'
import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { insertRows, statement, take } from '#server/storage/statements.ts'

export const waitingMs = 30 * 60_000
const made = /^[A-Za-z0-9_-]{43}$/

/** The table of each protocol, and the prefix that tells its handles from those of the others. */
const protocols = {
  oidc: { table: 'authorizations', prefix: '' },
  saml: { table: 'saml_requests', prefix: 'saml-' },
} as const

export type ProtocolName = keyof typeof protocols

/** Fails when the request was finished at the same moment. */
const guard = 'waiting-request'

export interface Waiting<Request> {
  /** The name of the client in its protocol: a `client_id`, or the entity ID of a service provider. */
  readonly clientId: string
  /** Plain JSON. */
  readonly request: Request
  /** Digest of the browser's cookie. */
  readonly browser?: string
  /** The sign-in of the session at the start; another one is newer. */
  readonly priorSignIn?: string
  /** The session that the user chose to go on with. */
  readonly chosen?: string
}

export interface WaitingRequest<Request> extends Waiting<Request> {
  readonly handle: string
}

export interface WaitingRequests<Request> {
  create(
    realm: string,
    clientDocumentId: string,
    waiting: Waiting<Request>,
  ): { handle: string; statements: Statement[] }
  find(realm: string, handle: string): Promise<WaitingRequest<Request> | undefined>
  /** Only a request that is bound to this browser. */
  findOf(
    request: FastifyRequest,
    realm: string,
    handle: string,
  ): Promise<WaitingRequest<Request> | undefined>
  /** Whether the request is bound to this browser. */
  isOf(request: FastifyRequest, realm: string, waiting: Waiting<Request>): boolean
  change(waiting: WaitingRequest<Request>): Statement[]
  end(handle: string): Statement[]
  /** The digest that binds a request to this browser; sets the cookie where there is none. */
  browserOf(request: FastifyRequest, reply: FastifyReply, realm: string): string
}

export interface WaitingRequestsParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly cookies: Pick<Cookies, 'authorization'>
}

export const createWaitingRequests = <Request>(
  { storage: { db }, clock, cookies }: WaitingRequestsParts,
  protocol: ProtocolName,
): WaitingRequests<Request> => {
  const { table, prefix } = protocols[protocol]

  const idOf = (handle: string): string => sha256(handle.slice(prefix.length))

  const cookieOf = ({ cookies: sent }: FastifyRequest, realm: string): string | undefined => {
    const value = sent[cookies.authorization(realm).name]
    return value !== undefined && made.test(value) ? value : undefined
  }

  const find: WaitingRequests<Request>['find'] = async (realm, handle) => {
    if (!handle.startsWith(prefix) || !made.test(handle.slice(prefix.length))) return undefined
    const row = await db
      .selectFrom(table)
      .selectAll()
      .where('id', '=', idOf(handle))
      .where('realm', '=', realm)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    return row && { ...(JSON.parse(row.data) as Waiting<Request>), handle }
  }

  const isOf: WaitingRequests<Request>['isOf'] = (request, realm, { browser }) => {
    const cookie = cookieOf(request, realm)
    if (browser === undefined || cookie === undefined) return false
    return constantTimeEqual(browser, sha256(cookie))
  }

  return {
    find,
    create: (realm, clientDocumentId, waiting) => {
      const handle = `${prefix}${randomToken()}`
      const row = {
        id: idOf(handle),
        realm,
        client_id: clientDocumentId,
        data: JSON.stringify(waiting),
        expires_at: clock.now() + waitingMs,
      }
      return { handle, statements: insertRows(db, table, [row]) }
    },
    isOf,
    findOf: async (request, realm, handle) => {
      const found = await find(realm, handle)
      return found && isOf(request, realm, found) ? found : undefined
    },
    change: ({ handle, ...waiting }) => [
      statement(
        db
          .updateTable(table)
          .set({ data: JSON.stringify(waiting) })
          .where('id', '=', idOf(handle)),
      ),
    ],
    end: (handle) => [take(db, table, { id: idOf(handle) }, guard)],
    browserOf: (request, reply, realm) => {
      const value = cookieOf(request, realm) ?? randomToken()
      const { name, options } = cookies.authorization(realm)
      reply.setCookie(name, value, options)
      return sha256(value)
    },
  }
}

/** Removes requests that have expired, of all protocols and realms. */
export const forgetWaitingRequests = ({ db }: Pick<Storage, 'db'>, now: number): Statement[] =>
  Object.values(protocols).map(({ table }) =>
    statement(db.deleteFrom(table).where('expires_at', '<=', now)),
  )
