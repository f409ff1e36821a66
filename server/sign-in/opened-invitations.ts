/**
 * The invitation that a browser has opened. Its token is kept in a cookie during sign-in or registration, so that it is in no
 * other address than the link, and in no table.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '#server/http/cookies/cookies.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { InvitationRow } from '#server/storage/tables/sign-in-tables.ts'
import type { Invitations } from '#server/users/organizations/invitations.ts'
import {
  type OrganizationContent,
  openOrganization,
} from '#server/users/organizations/organizations.ts'
import type { PendingSignIn } from './pages/pending.ts'

/** What the sign-in page calls it. */
export const invitationHandle = 'invitation'

export const invitationPath = (realm: string): string => `/realms/${realm}/invitation`

export type OpenedInvitation =
  /** No cookie; none that was made; too late; the organization is not enabled. */
  | { readonly kind: 'none' | 'unknown' | 'expired' | 'closed' }
  | {
      readonly kind: 'open' | 'accepted'
      readonly invitation: InvitationRow
      readonly organization: OrganizationContent
    }

export interface OpenedInvitationParts {
  readonly invitations: Pick<Invitations, 'find' | 'isOpen'>
  readonly copy: Pick<Copy, 'fresh'>
  readonly cookies: Pick<Cookies, 'invitation'>
}

export const createOpenedInvitations = ({ invitations, copy, cookies }: OpenedInvitationParts) => {
  const find = async (request: FastifyRequest, realm: string): Promise<OpenedInvitation> => {
    const token = request.cookies[cookies.invitation(realm).name]
    if (token === undefined) return { kind: 'none' }
    const [invitation, view] = await Promise.all([
      invitations.find(realm, token),
      copy.fresh(realm),
    ])
    if (!invitation || !view) return { kind: 'unknown' }
    const isAccepted = invitation.accepted_by !== null
    if (!isAccepted && !invitations.isOpen(invitation)) return { kind: 'expired' }
    const organization = await openOrganization(view, invitation.organization_id)
    if (!organization) return { kind: 'closed' }
    return { kind: isAccepted ? 'accepted' : 'open', invitation, organization }
  }

  return {
    find,

    keep: (reply: FastifyReply, realm: string, token: string): void => {
      const { name, options } = cookies.invitation(realm)
      reply.setCookie(name, token, options)
    },

    /** Goes on to the page of the invitation whatever has become of it: that page tells. */
    pending: async (request: FastifyRequest, realm: string): Promise<PendingSignIn> => {
      const opened = await find(request, realm)
      const way = { continueTo: invitationPath(realm), formTargets: [] }
      if (opened.kind !== 'open') return way
      const { id, email } = opened.invitation
      return { ...way, username: email, invitation: { id } }
    },
  }
}

export type OpenedInvitations = ReturnType<typeof createOpenedInvitations>
