/**
 * Where a trip to an identity provider leads back to that makes no session: to the sign-in that it began in, for what waits in
 * this browser, or to the account.
 */

import type { FastifyRequest } from 'fastify'
import { TripRefused } from '#server/broker/open.ts'
import type { Purpose } from '#server/broker/trips/trips.ts'
import type { SignIn, SignIns } from '../flow/sign-ins.ts'
import { signInPath, startPath } from '../pages/addresses.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import type { FindPending, PendingSignIn } from '../pages/pending.ts'
import { pageContext, type RealmRoute, type Visit } from '../pages/visit.ts'
import { linkedPath } from './addresses.ts'
import type { SignInProvider } from './providers.ts'
import type { RefusalAt } from './refusals.ts'
import { stayParameter } from './sent-away.ts'

export interface WaysBackParts {
  readonly pages: SignInPages
  readonly signIns: Pick<SignIns, 'findOfAny'>
  readonly findPending?: FindPending | undefined
}

/** What a trip keeps of the sign-in that it belongs to. */
export interface KeptSignIn {
  readonly signIn: string
}

/** What the trip is known to have begun in: its purpose, or a sign-in that may not be stored. */
export interface Begun {
  readonly purpose?: Purpose | undefined
  readonly signIn?: SignIn | undefined
}

export interface WayBack {
  /** In this browser. */
  readonly pending: PendingSignIn | undefined
  readonly at: RefusalAt
}

/** The first page, on which an automatic departure does not repeat. */
const staying = (path: string): string =>
  `${path}${path.includes('?') ? '&' : '?'}${stayParameter}=`

export const purposeOf = (error: unknown): Purpose | undefined =>
  error instanceof TripRefused ? error.purpose : undefined

export const createWaysBack = ({ pages, signIns, findPending }: WaysBackParts) => {
  const signInOf = async (realm: string, { purpose, signIn }: Begun): Promise<SignIn | undefined> =>
    signIn ?? (purpose && signIns.findOfAny(realm, (purpose.data as KeptSignIn).signIn))

  return async (
    request: FastifyRequest<RealmRoute>,
    { realm, settings }: Visit,
    provider: SignInProvider,
    begun: Begun,
  ): Promise<WayBack> => {
    const contextFor = (locales?: string) => pageContext(pages, request, realm, settings, locales)
    if (begun.purpose?.kind === 'link') {
      const backUrl = linkedPath(realm)
      const at = { request, realm, provider, context: contextFor(), backUrl, isLink: true }
      return { pending: undefined, at }
    }
    const signIn = await signInOf(realm, begun)
    const waiting = signIn?.state.pending
    const pending = waiting === undefined ? undefined : await findPending?.(request, realm, waiting)
    const isHere = signIn !== undefined && (pending !== undefined || waiting === undefined)
    const backUrl = staying(isHere ? startPath(signIn) : signInPath(realm, undefined))
    const at = { request, realm, provider, context: contextFor(pending?.locales), backUrl }
    return { pending, at }
  }
}

export type WaysBack = ReturnType<typeof createWaysBack>
