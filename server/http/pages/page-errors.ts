/** Errors of page routes: the same problems as everywhere, shown on a page. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemCode } from '#schemas/problems.ts'
import { keepsNoCookies } from '../cookies/kept.ts'
import { logProblem, type MapError, setProblemHeaders, toProblem } from '../errors.ts'
import type { ErrorPage, PageContext, PageError, Pages } from './pages.ts'

const told: Partial<Readonly<Record<ProblemCode, PageError>>> = {
  csrf: 'expired',
  unauthenticated: 'expired',
  forbidden: 'forbidden',
  'not-found': 'not-found',
  gone: 'link-expired',
  'rate-limited': 'rate-limited',
  internal: 'internal',
  unavailable: 'internal',
}

export interface PageErrorOptions {
  readonly pages: Pages
  /** What is known of the realm; it must not throw and may be asked for a realm that does not exist. */
  readonly contextOf: (request: FastifyRequest) => PageContext | Promise<PageContext>
  readonly mapError?: MapError | undefined
  /** Renders errors of a protocol; undefined for errors with the common rendering. */
  readonly tell?: (
    error: unknown,
  ) => Pick<ErrorPage, 'status' | 'error' | 'detail' | 'backUrl'> | undefined
}

export const createPageErrors =
  ({ pages, contextOf, mapError, tell }: PageErrorOptions) =>
  async (error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const own = tell?.(error)
    if (own)
      return pages.error(reply, { ...(await contextOf(request)), ...own, requestId: request.id })
    const problem = toProblem(error, mapError)
    logProblem(request, problem)
    setProblemHeaders(reply, problem)
    const context = await contextOf(request)
    const isBlocked = problem.code === 'csrf' && keepsNoCookies(request)
    const page = isBlocked ? 'cookies' : (told[problem.code] ?? 'bad-request')
    const startsAgain = page === 'cookies' || page === 'expired'
    return pages.error(reply, {
      ...context,
      status: problem.status,
      error: page,
      requestId: request.id,
      ...(startsAgain && context.realm !== '' ? { backUrl: `/realms/${context.realm}/login` } : {}),
    })
  }

/** Makes the scope of `app` answer with pages instead of problem documents. */
export const installPageErrors = (app: FastifyInstance, options: PageErrorOptions): void => {
  app.setErrorHandler(createPageErrors(options))
}
