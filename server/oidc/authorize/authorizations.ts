/**
 * Authorize requests that wait for their user. The handle travels through the browser, its digest is stored; a cookie
 * ties the request to the browser it began in, so that what one browser began no other can be made to finish
 * (CVE-2026-7507). One that came by a cross-site POST has no browser yet: its cookies did not travel with it.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '#server/http/cookies/cookies.ts'
import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { insertRows, statement, take } from '#server/storage/statements.ts'
import type { AuthorizeRequest } from './authorize-request.ts'

const lifetimeMs = 30 * 60_000
const made = /^[A-Za-z0-9_-]{43}$/

/** Fails when the request was finished at the same moment. */
export const authorizationGuard = 'authorization'

export interface Waiting {
  /** What the protocol calls the client. */
  readonly clientId: string
  readonly request: AuthorizeRequest
  /** Digest of the browser's cookie. */
  readonly browser?: string
  /** The session at the start; another session is a newer sign-in. */
  readonly priorSession?: string
  /** The session that the user chose to go on with. */
  readonly chosen?: string
}

export interface Authorization extends Waiting {
  readonly handle: string
}

export interface Authorizations {
  create(
    realm: string,
    clientDocumentId: string,
    waiting: Waiting,
  ): { handle: string; statements: Statement[] }
  find(realm: string, handle: string): Promise<Authorization | undefined>
  /** Also only where it waits for this browser. */
  findOf(request: FastifyRequest, realm: string, handle: string): Promise<Authorization | undefined>
  change(handle: string, waiting: Waiting): Statement[]
  end(handle: string): Statement[]
  /** The digest that ties to this browser; sets the cookie where there is none. */
  browserOf(request: FastifyRequest, reply: FastifyReply, realm: string): string
}

export const createAuthorizations = ({
  storage: { db },
  clock,
  cookies,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly cookies: Pick<Cookies, 'authorization'>
}): Authorizations => {
  const cookieOf = ({ cookies: sent }: FastifyRequest, realm: string): string | undefined => {
    const value = sent[cookies.authorization(realm).name]
    return value !== undefined && made.test(value) ? value : undefined
  }

  const find: Authorizations['find'] = async (realm, handle) => {
    if (!made.test(handle)) return undefined
    const row = await db
      .selectFrom('authorizations')
      .selectAll()
      .where('id', '=', sha256(handle))
      .where('realm', '=', realm)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    return row && { ...(JSON.parse(row.data) as Waiting), handle }
  }

  return {
    find,
    create: (realm, clientDocumentId, waiting) => {
      const handle = randomToken()
      const row = {
        id: sha256(handle),
        realm,
        client_id: clientDocumentId,
        data: JSON.stringify(waiting),
        expires_at: clock.now() + lifetimeMs,
      }
      return { handle, statements: insertRows(db, 'authorizations', [row]) }
    },
    findOf: async (request, realm, handle) => {
      const [found, cookie] = [await find(realm, handle), cookieOf(request, realm)]
      if (found?.browser === undefined || cookie === undefined) return undefined
      return constantTimeEqual(found.browser, sha256(cookie)) ? found : undefined
    },
    change: (handle, { clientId, request, browser, priorSession, chosen }) => [
      statement(
        db
          .updateTable('authorizations')
          .set({
            data: JSON.stringify({ clientId, request, browser, priorSession, chosen }),
          })
          .where('id', '=', sha256(handle)),
      ),
    ],
    end: (handle) => [take(db, 'authorizations', { id: sha256(handle) }, authorizationGuard)],
    browserOf: (request, reply, realm) => {
      const value = cookieOf(request, realm) ?? randomToken()
      const { name, options } = cookies.authorization(realm)
      reply.setCookie(name, value, options)
      return sha256(value)
    },
  }
}
