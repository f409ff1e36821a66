/** The address of a sign-in that cannot go on in this browser: it has ended, is too old, or began in another browser. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { keepsNoCookies } from '#server/http/cookies/kept.ts'
import type { PageError } from '#server/http/pages/pages.ts'
import { linkToken } from '../authenticators/codes/email-link.ts'
import type { SignInState } from '../flow/state.ts'
import { pathOf, signInPath } from './addresses.ts'
import type { SignInPages } from './definitions/index.ts'
import type { FindPending } from './pending.ts'
import type { SignInRoute } from './status.ts'
import { pageContext, type Visit } from './visit.ts'

export interface GoneParts {
  readonly pages: SignInPages
  readonly findPending?: FindPending | undefined
}

export interface Gone {
  readonly visit: Visit
  /** Of the sign-in, where there is still one. */
  readonly state: SignInState | undefined
  /** Whether a session that this browser has ends the matter. */
  readonly mayGoOn: boolean
}

type SignInRequest = FastifyRequest<SignInRoute>

export const createGone = ({ pages, findPending }: GoneParts) => {
  /** Where a browser goes that has signed in meanwhile: the user went back, or a second tab was faster. */
  const onwards = async (
    request: FastifyRequest,
    { realm, current }: Visit,
    { pending: handle, userId }: Partial<SignInState>,
  ): Promise<string> => {
    const pending = handle === undefined ? undefined : await findPending?.(request, realm, handle)
    if (!pending) return pathOf(realm, 'login')
    return current?.user.id === userId ? pending.continueTo : signInPath(realm, handle)
  }

  /** The start of a new sign-in: for what waited for the old one, as long as it waits in this browser. */
  const startOf = async (
    request: FastifyRequest,
    realm: string,
    handle: string | undefined,
  ): Promise<string> => {
    const waits = handle !== undefined && (await findPending?.(request, realm, handle))
    return waits ? signInPath(realm, handle) : pathOf(realm, 'login')
  }

  return async (
    request: SignInRequest,
    reply: FastifyReply,
    { visit, state, mayGoOn }: Gone,
  ): Promise<FastifyReply> => {
    const { realm, settings, current } = visit
    const hasLink = linkToken(request) !== ''
    if (current !== undefined && mayGoOn && !hasLink)
      return reply.redirect(await onwards(request, visit, state ?? {}), 303)
    // A browser without cookies is not told which links there are.
    const isKnown = Object.keys(request.cookies).length > 0
    const ofLink: PageError = isKnown && !state ? 'link-expired' : 'wrong-browser'
    const ofPage: PageError = keepsNoCookies(request) ? 'cookies' : 'flow-expired'
    return pages.error(reply, {
      ...pageContext(pages, request, realm, settings),
      status: 403,
      error: hasLink ? ofLink : ofPage,
      requestId: request.id,
      backUrl: await startOf(request, realm, state?.pending),
    })
  }
}
