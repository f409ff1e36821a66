/**
 * The page of an invitation link. Opening it changes nothing, as mail scanners follow links too: it names the organization and
 * leads to sign-in or registration; a user with the invited address accepts there. Possession of the link alone is not
 * enough.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { PageError } from '#server/http/pages/pages.ts'
import { maskedRecipient } from '#server/messaging/recipients.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { FoundSession, Sessions } from '#server/sessions/sessions.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { InvitationRow } from '#server/storage/tables/sign-in-tables.ts'
import type { Invitations } from '#server/users/organizations/invitations.ts'
import type { Users } from '#server/users/users.ts'
import { completed, ownEvent } from './actions/completed.ts'
import { linkToken } from './authenticators/codes/email-link.ts'
import {
  invitationHandle,
  invitationPath,
  type OpenedInvitation,
  type OpenedInvitations,
} from './opened-invitations.ts'
import { registerPath, signInPath } from './pages/addresses.ts'
import type { Browser } from './pages/browser.ts'
import type { InvitationPage } from './pages/definitions/choices.ts'
import type { SignInPages } from './pages/definitions/index.ts'
import { describeAcceptInvitation, describeInvitation } from './pages/description.ts'
import { FORM_LIMIT, readForm } from './pages/form.ts'
import { installPageScope, type PageScopeParts } from './pages/page-scope.ts'
import { pageContext, type RealmRoute, type Visit, type Visits } from './pages/visit.ts'
import { joined } from './sign-in-organizations.ts'

export interface InvitationRouteParts extends PageScopeParts {
  readonly browser: Browser
  readonly visits: Visits
  readonly sessions: Sessions
  readonly pages: SignInPages
  /** The invitation that a browser has opened. */
  readonly opened: OpenedInvitations
  readonly invitations: Invitations
  readonly users: Users
  readonly recorder: Recorder
  readonly clock: Clock
}

type RealmRequest = FastifyRequest<RealmRoute>
type Live = Extract<OpenedInvitation, { kind: 'open' | 'accepted' }>

const refusals = {
  none: ['cookies', 403],
  unknown: ['link-used', 410],
  expired: ['link-expired', 410],
  closed: ['organization-closed', 403],
} as const satisfies Record<Exclude<OpenedInvitation, Live>['kind'], readonly [PageError, number]>

const isInvited = ({ user }: FoundSession, { email_key }: InvitationRow): boolean =>
  user.email_key === email_key

/** Memberships of a managed user come from a file, and an impersonated session cannot accept an invitation. */
const mayAccept = ({ user, session }: FoundSession): boolean =>
  user.managed !== 1 && session.impersonator === null

const createHandlers = (parts: InvitationRouteParts) => {
  const { browser, visits, opened, invitations, pages, users, recorder, sessions } = parts

  const refuse = (
    request: RealmRequest,
    reply: FastifyReply,
    { realm, settings }: Visit,
    [error, status]: readonly [PageError, number],
  ): FastifyReply =>
    pages.error(reply, {
      ...pageContext(pages, request, realm, settings),
      error,
      status,
      requestId: request.id,
      backUrl: signInPath(realm, undefined),
    })

  /** The sign-in page for the invited address, or the registration page if there is no account. */
  const wayOf = async ({ realm, email, email_key }: InvitationRow) => {
    const found = await users.findByLogin(realm, email, { withEmail: true })
    return found?.user.email_key === email_key
      ? ({ what: 'sign-in', continueUrl: signInPath(realm, invitationHandle) } as const)
      : ({ what: 'register', continueUrl: registerPath(realm, invitationHandle) } as const)
  }

  const stepOf = async (
    reply: FastifyReply,
    { realm, current }: Visit,
    { kind, invitation, organization }: Live,
  ): Promise<Pick<InvitationPage, 'what' | 'form' | 'continueUrl' | 'status'>> => {
    if (kind === 'accepted')
      return {
        what: 'accepted',
        continueUrl: organization.doc.redirectUrl ?? `/realms/${realm}/account`,
      }
    if (!current) return wayOf(invitation)
    if (!isInvited(current, invitation))
      return { ...(await wayOf(invitation)), what: 'other-account', status: 403 }
    const csrf = browser.greet(reply, current.session)
    return { what: 'accept', form: { action: invitationPath(realm), csrf } }
  }

  const tell = async (
    request: RealmRequest,
    reply: FastifyReply,
    visit: Visit,
    found: OpenedInvitation,
  ): Promise<FastifyReply> => {
    const { realm, settings, current } = visit
    if (!('invitation' in found)) return refuse(request, reply, visit, refusals[found.kind])
    const { kind, invitation, organization } = found
    if (kind === 'accepted' && current?.user.id !== invitation.accepted_by)
      return refuse(request, reply, visit, refusals.unknown)
    const step = await stepOf(reply, visit, found)
    if (step.what === 'accept' && current && !mayAccept(current))
      return refuse(request, reply, visit, ['forbidden', 403])
    return pages.invitation(reply, {
      ...pageContext(pages, request, realm, settings),
      ...step,
      organization: organization.name,
      // Another signed-in user does not learn the invited address.
      email:
        step.what === 'other-account'
          ? maskedRecipient('EMAIL', invitation.email)
          : invitation.email,
      username: current?.user.username,
    })
  }

  const show = async (request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const visit = await visits(request)
    const { realm } = visit
    if (!visit.isOpen) return refuse(request, reply, visit, ['closed', 403])
    const token = linkToken(request)
    if (token !== '') {
      opened.keep(reply, realm, token.slice(0, 100))
      return reply.redirect(invitationPath(realm), 303)
    }
    if (visit.current) await sessions.touch(visit.current.session, visit.settings)
    return tell(request, reply, visit, await opened.find(request, realm))
  }

  const accept = async (request: RealmRequest, current: FoundSession, { invitation }: Live) => {
    const { user } = current
    const isNews = user.email_verified === 0
    const verified = isNews ? { emailVerified: true } : {}
    const context = { realm: user.realm, address: request.ip }
    await recorder.commit(
      [
        ...invitations.accept(invitation, user.id),
        ...completed(parts, user, 'VERIFY_EMAIL', verified),
      ],
      [
        joined(user, invitation.organization_id, request.ip, 'invitation'),
        ...(isNews ? [ownEvent(context, user, 'VERIFY_EMAIL', 'invitation')] : []),
      ],
    )
  }

  const answer = async (request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const visit = await visits(request)
    const { realm, current } = visit
    const back = (): FastifyReply => reply.redirect(invitationPath(realm), 303)
    // The page says what there is to do instead.
    if (!current) return back()
    const form = readForm(request.body)
    if (!browser.isOfSession(current.session, form('_csrf')))
      throw new Problem('csrf', 'The form is not from this session.')
    const found = await opened.find(request, realm)
    if (found.kind !== 'open') return back()
    const { invitation } = found
    if (!isInvited(current, invitation) || !mayAccept(current)) {
      const { organization_id: id } = invitation
      const actor = { realm, id: current.session.impersonator ?? current.user.id }
      const event = joined(actor, id, request.ip, 'invitation of another person', 'FAILURE')
      await recorder.append([], [event])
      return tell(request, reply, visit, found)
    }
    if (form('decision') !== 'accept')
      throw new Problem('bad-request', 'Accept or decline the invitation.')
    try {
      await accept(request, current, found)
    } catch (error) {
      // The same form twice, or revoked at this moment: the page tells which.
      if (!(error instanceof GuardFailedError)) throw error
    }
    return back()
  }

  return { show, answer }
}

export const invitationRoutes =
  (parts: InvitationRouteParts) =>
  async (app: FastifyInstance): Promise<void> => {
    const { show, answer } = createHandlers(parts)
    await installPageScope(app, parts)
    const url = invitationPath(':realm')
    app.get<RealmRoute>(url, describeInvitation, show)
    app.post<RealmRoute>(url, { ...describeAcceptInvitation, bodyLimit: FORM_LIMIT }, answer)
  }
