/**
 * Links of a signed-in user to accounts at identity providers. A link begins and ends in one session of one browser: an answer
 * that was begun elsewhere would link the account of an attacker to the user who opens it.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import type { Finished } from '#server/broker/open.ts'
import { UpstreamRefused } from '#server/broker/protocol.ts'
import type { FoundSession } from '#server/sessions/sessions.ts'
import { ConstraintError } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { pageContext, type Visit } from '../pages/visit.ts'
import { linkedPath } from './addresses.ts'
import type { Departures } from './departures.ts'
import type { LinkWrites } from './link-writes.ts'
import type { SignInProvider } from './providers.ts'
import { type Refusals, reasonOf } from './refusals.ts'

interface KeptSession {
  readonly sid: string
}

export interface LinkingParts {
  readonly departures: Departures
  readonly refusals: Refusals
  readonly recorder: Pick<Recorder, 'commit'>
  readonly linkWrites: LinkWrites
  readonly pages: SignInPages
}

export const createLinking = ({
  departures,
  refusals,
  recorder,
  linkWrites,
  pages,
}: LinkingParts) => ({
  /** Takes the browser of a signed-in user to the provider. The caller has checked the form and how recent the sign-in is. */
  begin: async (
    request: FastifyRequest,
    reply: FastifyReply,
    issuer: Issuer,
    provider: SignInProvider,
    { session, user }: FoundSession,
  ): Promise<FastifyReply> => {
    const { name: realm } = issuer
    const context = pageContext(pages, request, realm, issuer.settings)
    try {
      return await departures(request, reply, {
        issuer,
        provider,
        purpose: {
          kind: 'link',
          userId: user.id,
          data: { sid: session.sid } satisfies KeptSession,
        },
        // The account there that is to be linked is the one whose owner is here now.
        hints: { forceAuthn: true },
        context,
        afterForm: true,
      })
    } catch (error) {
      const at = { request, realm, provider, context, backUrl: linkedPath(realm), isLink: true }
      return refusals(reply, at, reasonOf(error, request), user.id)
    }
  },

  finish: async (
    request: FastifyRequest,
    reply: FastifyReply,
    { realm, settings, current }: Visit,
    provider: SignInProvider,
    { identity, purpose }: Finished,
  ): Promise<FastifyReply> => {
    if (purpose.kind !== 'link') throw new UpstreamRefused('expired', 'the trip is for a sign-in')
    const { sid } = purpose.data as KeptSession
    const isHere =
      current?.session.sid === sid &&
      current.user.id === purpose.userId &&
      current.session.impersonator === null
    const context = pageContext(pages, request, realm, settings)
    const at = { request, realm, provider, context, backUrl: linkedPath(realm), isLink: true }
    // The session that began the link has ended.
    if (!isHere) return refusals(reply, at, 'expired')
    const place = { realm, address: request.ip }
    const linked = await linkWrites.first(place, { provider, identity }, current.user)
    try {
      await recorder.commit(linked.statements, linked.events)
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error
      // The account there is another user's, or the user has linked another account there.
      return refusals(reply, at, 'linked-already', current.user.id)
    }
    return reply.redirect(`${linkedPath(realm)}?notice=added`, 303)
  },
})

export type Linking = ReturnType<typeof createLinking>
