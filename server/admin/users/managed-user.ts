/** Declared fields of a managed user are configuration: a change of them is a revision, whichever API makes it. */

import { User, type UserDoc } from '#schemas/kinds/users/user.ts'
import { complete } from '#schemas/normalize.ts'
import { Problem } from '#schemas/problems.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { type Expectation, restChannel } from '#server/realm/write/operations.ts'
import type { Statement } from '#server/storage/contract.ts'
import { contentOf, etagOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { ActionContext } from '../action.ts'
import { asksForMatch, refuseStale, type UserParts, userEvent } from './users.ts'

/** What is written along with the document, in the same transaction. */
export interface DataChange {
  readonly statements: readonly Statement[]
  readonly events: readonly AuditEvent[]
}

/**
 * The document as it was when the user was read, where the caller asks for that. It was read after the user: only if
 * the user is still the same does it belong to what the caller has seen.
 */
const expectationOf = async (
  { users }: UserParts,
  context: ActionContext,
  user: UserRow,
  document: StoredDocument,
): Promise<Expectation> => {
  if (!asksForMatch(context)) return { exists: true }
  const now = await users.find(context.realm, user.id)
  if (now) refuseStale(context, now)
  return { exists: true, conditions: { ifMatch: etagOf(document) } }
}

const documentOf = async ({ view }: ActionContext, user: UserRow): Promise<StoredDocument> => {
  const document = await view.byId(User.kind, user.id)
  if (!document) throw new Problem('conflict', 'the user is being changed; try again')
  return document
}

/** Writes the document of a managed user with some fields changed. */
export const changeManagedUser = async (
  parts: UserParts,
  context: ActionContext,
  user: UserRow,
  change: (doc: UserDoc) => Partial<UserDoc>,
  data?: DataChange,
): Promise<void> => {
  const { realm, caller } = context
  const document = await documentOf(context, user)
  const { username = document.key } = change(contentOf<UserDoc>(document))
  await parts.writer.write({
    realm,
    caller,
    channel: restChannel,
    operations: [
      {
        op: 'put',
        kind: User,
        key: username,
        id: document.id,
        doc: (before) => ({ ...before, ...change(complete(User, before) as UserDoc) }),
        secrets: {},
        expect: await expectationOf(parts, context, user, document),
      },
    ],
    ...(data && {
      // Every admin write has its event; that of the document is only there where it changes.
      alongside: ({ length }) => ({
        statements: data.statements,
        events: [
          ...(length > 0 ? [] : [userEvent(context, 'ADMIN_UPDATE', user.id)]),
          ...data.events,
        ],
      }),
    }),
  })
}

export const deleteManagedUser = async (
  parts: UserParts,
  context: ActionContext,
  user: UserRow,
  data?: DataChange,
): Promise<void> => {
  const { realm, caller } = context
  const document = await documentOf(context, user)
  await parts.writer.write({
    realm,
    caller,
    channel: restChannel,
    operations: [
      {
        op: 'delete',
        kind: User,
        key: document.key,
        id: document.id,
        expect: await expectationOf(parts, context, user, document),
      },
    ],
    ...(data && { alongside: () => data }),
  })
}
