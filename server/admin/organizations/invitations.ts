/**
 * Invitations to an organization: sent by mail, listed while they are open, revoked. Only the mail contains the link, and the
 * audit trail contains no address: the invited person may never become a user.
 */

import { Organization } from '#schemas/kinds/users/organization.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import type { InvitationRecord } from '#schemas/wire/records.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Messaging } from '#server/messaging/sender.ts'
import type { Clock } from '#server/platform/clock.ts'
import { findIn } from '#server/realm/read/find.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import type { InvitationRow } from '#server/storage/tables/sign-in-tables.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { isMemberOfOrganization } from '#server/users/memberships.ts'
import type { MessageLimits } from '#server/users/messages/message-limits.ts'
import type { Post } from '#server/users/messages/post.ts'
import { emailErrors, foldName } from '#server/users/names.ts'
import { type Invitations, invitationGuard } from '#server/users/organizations/invitations.ts'
import {
  type OrganizationContent,
  openOrganization,
} from '#server/users/organizations/organizations.ts'
import type { Users } from '#server/users/users.ts'
import { type Action, type ActionContext, asChecked, bodyOf, noContent } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface InvitationParts {
  readonly storage: Storage
  readonly recorder: Recorder
  readonly clock: Clock
  readonly users: Users
  readonly invitations: Invitations
  readonly messaging: Messaging
  readonly post: Pick<Post, 'statements' | 'wake'>
  readonly messageLimits: Pick<MessageLimits, 'admit'>
  readonly baseUrl: string
}

const day = 24 * 60 * 60
const resourceType = 'invitations'
const templateKey = 'invitation'
/** Enough for a company's people in a list, too few to make the realm a source of unwanted mail. */
const perAdministrator = { messages: 500, seconds: 3600 } as const
/** Also where several administrators invite it into several organizations. */
const perAddress = { messages: 5, seconds: 3600 } as const

const shownSchema = bodyOf({
  id: { type: 'string', format: 'uuid' },
  organizationId: { type: 'string', format: 'uuid' },
  email: { type: 'string' },
  createdAt: { type: 'integer', description: 'In epoch milliseconds.' },
  expiresAt: { type: 'integer', description: 'In epoch milliseconds.' },
})

const shown = (row: InvitationRow): InvitationRecord => ({
  id: row.id,
  organizationId: row.organization_id,
  email: row.email,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
})

export const invitationActions = (parts: InvitationParts): Action[] => {
  const { storage, recorder, users, invitations, messaging, post, baseUrl } = parts
  const path = `${Organization.path}/:orgId/invitations`
  const common = { permission: 'manage-organizations', resourceType } as const

  const organizationIn = ({ view, params }: ActionContext) =>
    findIn(view, Organization, params['orgId'] ?? '')

  const openIn = async (context: ActionContext): Promise<OrganizationContent> => {
    const { id } = await organizationIn(context)
    const organization = await openOrganization(context.view, id)
    if (!organization)
      throw new Problem('conflict', 'the organization is disabled; enable it before you invite')
    return organization
  }

  const userAt = async (realm: string, email: string): Promise<UserRow | undefined> => {
    const found = await users.findByLogin(realm, email, { withEmail: true })
    return found?.user.email_key === foldName(email) ? found.user : undefined
  }

  /** No invitation is sent to an address whose user could not accept it. */
  const refuseNeedless = async (
    { id: userId, managed }: UserRow,
    { id, alias }: OrganizationContent,
  ): Promise<void> => {
    if (managed === 1)
      throw new Problem(
        'conflict',
        `email: a file declares the user; name "${alias}" among the organizations there`,
      )
    if (await isMemberOfOrganization(storage, userId, id))
      throw new Problem('conflict', 'email: the user with this address is a member already')
  }

  const refuseUnlessReady = async (
    { view, realm, caller }: ActionContext,
    email: string,
  ): Promise<void> => {
    const mail = await messaging.ready(view, { channel: 'EMAIL', templateKey })
    if (!mail.ready) throw new Problem('conflict', `invitations cannot be sent: ${mail.reason}`)
    await parts.messageLimits.admit(realm, [
      { limit: 'administrator', of: `invitation:${caller.actor}`, ...perAdministrator },
      { limit: 'address', of: `invitation:${foldName(email)}`, ...perAddress },
    ])
  }

  const invite = async (context: ActionContext) => {
    const { realm, body, request, reply } = context
    const { email, expiration, locale } = asChecked<{
      email: string
      expiration: number
      locale?: string
    }>(body)
    const organization = await openIn(context)
    const errors = emailErrors(email)
    if (errors.length > 0) throw invalid(errors)
    const user = await userAt(realm, email)
    if (user) await refuseNeedless(user, organization)
    await refuseUnlessReady(context, email)
    const { row, token, statements } = invitations.create({
      realm,
      organizationId: organization.id,
      email,
      lifetimeSeconds: expiration,
    })
    const letter = post.statements({
      realm,
      // An unverified address may belong to another person: the message does not name the account.
      user: user?.email_verified === 1 ? user : undefined,
      channel: 'EMAIL',
      to: row.email,
      cause: { by: 'administrator' },
      locale,
      templateKey,
      values: {
        organization: organization.name,
        link: `${baseUrl}/realms/${realm}/invitation?token=${token}`,
        time: new Date(row.expires_at).toISOString(),
      },
      expiresAt: row.expires_at,
    })
    await recorder.commit(
      [...statements, ...letter],
      [actionEvent(context, 'ADMIN_CREATE', { type: resourceType, id: row.id }, organization.id)],
    )
    post.wake()
    reply.header('location', `${request.url.split('?')[0]}/${row.id}`)
    return shown(row)
  }

  return [
    {
      ...common,
      operationId: 'invite-organization-member',
      method: 'POST',
      path,
      summary: 'Invites an address by mail to become a member; an earlier invitation of it ends',
      body: bodyOf(
        {
          email: {
            type: 'string',
            minLength: 3,
            maxLength: 320,
            'x-described': { format: 'email' },
          },
          expiration: {
            type: 'integer',
            minimum: 60,
            maximum: 30 * day,
            default: 7 * day,
            description: 'Lifetime in seconds.',
          },
          locale: {
            type: 'string',
            minLength: 2,
            maxLength: 35,
            description: "Language of the message; the realm's unless it is given.",
          },
        },
        ['email'],
      ),
      reply: { status: 201, schema: shownSchema },
      handle: invite,
    },
    {
      ...common,
      operationId: 'list-organization-invitations',
      method: 'GET',
      path,
      summary: 'Invitations that can still be accepted, the latest first',
      reply: { status: 200, schema: { type: 'array', items: shownSchema } },
      handle: async (context) => {
        const { id } = await organizationIn(context)
        return (await invitations.listOpen(id)).map(shown)
      },
    },
    {
      ...common,
      operationId: 'revoke-organization-invitation',
      method: 'DELETE',
      path: `${path}/:invitationId`,
      summary: 'Revokes an invitation and its link',
      reply: noContent,
      handle: async (context) => {
        const organization = await organizationIn(context)
        const id = context.params['invitationId'] ?? ''
        try {
          await recorder.commit(
            [invitations.revoke(organization.id, id)],
            [actionEvent(context, 'ADMIN_DELETE', { type: resourceType, id }, organization.id)],
          )
        } catch (error) {
          if (!(error instanceof GuardFailedError) || error.guard !== invitationGuard) throw error
          throw new Problem('not-found', `there is no open invitation "${id}"`)
        }
      },
    },
  ]
}
