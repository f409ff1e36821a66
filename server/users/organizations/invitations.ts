/**
 * Invitations into organizations. The link goes by mail to one address and nowhere else, so that who opens it reads the
 * mail of that address; it is kept as a digest, good once and for a while. One address has one open invitation into an
 * organization: another one takes its place.
 */

import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement } from '#server/storage/statements.ts'
import type { InvitationRow } from '#server/storage/tables/sign-in-tables.ts'
import { joinOrganization } from '../memberships.ts'
import { nameOf } from '../names.ts'

/** Fails when it was used, revoked or replaced at the same moment. */
export const invitationGuard = 'invitation'

export interface NewInvitation {
  readonly realm: string
  readonly organizationId: string
  readonly email: string
  readonly lifetimeSeconds: number
}

export interface Invitations {
  /** Only the link contains the token. */
  create(invitation: NewInvitation): {
    readonly row: InvitationRow
    readonly token: string
    readonly statements: Statement[]
  }
  /** Those that can still be accepted, the latest first. */
  listOpen(organizationId: string): Promise<InvitationRow[]>
  /** Also one that was used or has expired: the caller must see the difference. */
  find(realm: string, token: string): Promise<InvitationRow | undefined>
  findById(realm: string, id: string): Promise<InvitationRow | undefined>
  isOpen(invitation: InvitationRow): boolean
  /** Uses it up and makes the user a member. */
  accept(invitation: InvitationRow, userId: string): Statement[]
  /** Of one that is open. */
  revoke(organizationId: string, id: string): Statement
  /** Removes those that have expired long ago; for the job that keeps tables small. */
  forgetStatements(): Statement[]
}

const made = /^[A-Za-z0-9_-]{43}$/
/** Time for which an expired invitation is reported as expired. */
const rememberedMs = 7 * 24 * 60 * 60 * 1000

export const createInvitations = ({
  storage,
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}): Invitations => {
  const { db } = storage

  const inRealm = (realm: string) =>
    db.selectFrom('invitations').selectAll().where('realm', '=', realm)

  return {
    create: ({ realm, organizationId, email, lifetimeSeconds }) => {
      const token = randomToken()
      const { value, key } = nameOf(email)
      const now = clock.now()
      const row: InvitationRow = {
        id: newId(),
        realm,
        organization_id: organizationId,
        email: value,
        email_key: key,
        digest: sha256(token),
        accepted_by: null,
        created_at: now,
        expires_at: now + lifetimeSeconds * 1000,
      }
      const before = db
        .deleteFrom('invitations')
        .where('organization_id', '=', organizationId)
        .where('email_key', '=', key)
      return {
        row,
        token,
        statements: [statement(before), ...insertRows(db, 'invitations', [row])],
      }
    },

    listOpen: (organizationId) =>
      db
        .selectFrom('invitations')
        .selectAll()
        .where('organization_id', '=', organizationId)
        .where('accepted_by', 'is', null)
        .where('expires_at', '>', clock.now())
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .execute(),

    find: async (realm, token) =>
      made.test(token)
        ? inRealm(realm).where('digest', '=', sha256(token)).executeTakeFirst()
        : undefined,

    findById: (realm, id) => inRealm(realm).where('id', '=', id).executeTakeFirst(),

    isOpen: ({ accepted_by, expires_at }) => accepted_by === null && expires_at > clock.now(),

    accept: ({ id, organization_id }, userId) => {
      const now = clock.now()
      const use = db
        .updateTable('invitations')
        .set({ accepted_by: userId })
        .where('id', '=', id)
        .where('accepted_by', 'is', null)
        .where('expires_at', '>', now)
      return [
        guarded(use, invitationGuard),
        joinOrganization(storage, userId, organization_id, now),
      ]
    },

    revoke: (organizationId, id) =>
      guarded(
        db
          .deleteFrom('invitations')
          .where('id', '=', id)
          .where('organization_id', '=', organizationId)
          .where('accepted_by', 'is', null),
        invitationGuard,
      ),

    forgetStatements: () => [
      statement(db.deleteFrom('invitations').where('expires_at', '<=', clock.now() - rememberedMs)),
    ],
  }
}

/** All that were sent to an address. */
export const deleteInvitationsTo = (
  { db }: Pick<Storage, 'db'>,
  realm: string,
  emailKey: string,
): Statement =>
  statement(
    db.deleteFrom('invitations').where('realm', '=', realm).where('email_key', '=', emailKey),
  )
