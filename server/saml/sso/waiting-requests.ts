/**
 * Requests for single sign-on that wait for their user. The handle travels through the browser, its digest is stored; a
 * cookie ties the request to the browser it began in, so that what one browser began no other can be made to finish
 * (CVE-2026-7507). One that came by a cross-site POST has no browser yet: its cookies did not travel with it.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '#server/http/cookies/cookies.ts'
import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { insertRows, statement, take } from '#server/storage/statements.ts'
import type { SsoRequest } from './sso-request.ts'

export const waitingMs = 30 * 60_000
/** What tells the handle from those of other protocols. */
const prefix = 'saml-'
const made = /^[A-Za-z0-9_-]{43}$/

/** Fails when the request was finished at the same moment. */
export const waitingGuard = 'saml-request'

export interface Waiting {
  readonly entityId: string
  readonly request: SsoRequest
  /** Digest of the browser's cookie. */
  readonly browser?: string
  /** The session that was there when it began; another one is of somebody who signed in since. */
  readonly priorSession?: string
  /** The session that the user chose to go on with. */
  readonly chosen?: string
}

export interface WaitingRequest extends Waiting {
  readonly handle: string
}

export const createWaitingRequests = ({
  storage: { db },
  clock,
  cookies,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly cookies: Pick<Cookies, 'authorization'>
}) => {
  const idOf = (handle: string): string => sha256(handle.slice(prefix.length))

  const cookieOf = ({ cookies: sent }: FastifyRequest, realm: string): string | undefined => {
    const value = sent[cookies.authorization(realm).name]
    return value !== undefined && made.test(value) ? value : undefined
  }

  const find = async (realm: string, handle: string): Promise<WaitingRequest | undefined> => {
    if (!handle.startsWith(prefix) || !made.test(handle.slice(prefix.length))) return undefined
    const row = await db
      .selectFrom('saml_requests')
      .selectAll()
      .where('id', '=', idOf(handle))
      .where('realm', '=', realm)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    return row && { ...(JSON.parse(row.data) as Waiting), handle }
  }

  return {
    find,
    create: (
      realm: string,
      clientId: string,
      waiting: Waiting,
    ): { handle: string; statements: Statement[] } => {
      const handle = `${prefix}${randomToken()}`
      const row = {
        id: idOf(handle),
        realm,
        client_id: clientId,
        data: JSON.stringify(waiting),
        expires_at: clock.now() + waitingMs,
      }
      return { handle, statements: insertRows(db, 'saml_requests', [row]) }
    },
    /** Also only where it waits for this browser. */
    findOf: async (
      request: FastifyRequest,
      realm: string,
      handle: string,
    ): Promise<WaitingRequest | undefined> => {
      const [found, cookie] = [await find(realm, handle), cookieOf(request, realm)]
      if (found?.browser === undefined || cookie === undefined) return undefined
      return constantTimeEqual(found.browser, sha256(cookie)) ? found : undefined
    },
    change: ({ handle, ...waiting }: WaitingRequest): Statement[] => [
      statement(
        db
          .updateTable('saml_requests')
          .set({ data: JSON.stringify(waiting) })
          .where('id', '=', idOf(handle)),
      ),
    ],
    end: (handle: string): Statement[] => [
      take(db, 'saml_requests', { id: idOf(handle) }, waitingGuard),
    ],
    /** The digest that ties to this browser; sets the cookie where there is none. */
    browserOf: (request: FastifyRequest, reply: FastifyReply, realm: string): string => {
      const value = cookieOf(request, realm) ?? randomToken()
      const { name, options } = cookies.authorization(realm)
      reply.setCookie(name, value, options)
      return sha256(value)
    },
    /** Removes what has expired, of all realms. */
    forgetStatements: (): Statement[] => [
      statement(db.deleteFrom('saml_requests').where('expires_at', '<=', clock.now())),
    ],
  }
}

export type WaitingRequests = ReturnType<typeof createWaitingRequests>
