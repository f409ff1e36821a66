/** Declared fields of a managed user are configuration: a change of them is a revision, whatever door it uses. */

import { User, type UserDoc } from '#schemas/kinds/user.ts'
import { complete } from '#schemas/normalize.ts'
import { Problem } from '#schemas/problems.ts'
import { restDoor } from '#server/resources/operations.ts'
import type { Statement } from '#server/storage/contract.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { UserRow } from '#server/storage/tables.ts'
import type { ActionContext } from '../action.ts'
import type { UserParts } from './users.ts'

/** Writes the document of a managed user with some fields changed. */
export const changeManagedUser = async (
  { writer }: UserParts,
  { realm, view, caller }: ActionContext,
  user: UserRow,
  change: (doc: UserDoc) => Partial<UserDoc>,
  alongside: readonly Statement[] = [],
): Promise<void> => {
  const document = await view.byId(User.kind, user.id)
  if (!document) throw new Problem('conflict', 'the user is being changed; try again')
  const { username = document.key } = change(contentOf<UserDoc>(document))
  await writer.write({
    realm,
    caller,
    door: restDoor,
    operations: [
      {
        op: 'put',
        kind: User,
        key: username,
        id: document.id,
        doc: (before) => ({ ...before, ...change(complete(User, before) as UserDoc) }),
        secrets: {},
      },
    ],
    alongside: () => ({ statements: alongside, events: [] }),
  })
}

export const deleteManagedUser = async (
  { writer }: UserParts,
  { realm, view, caller }: ActionContext,
  user: UserRow,
): Promise<void> => {
  const document = await view.byId(User.kind, user.id)
  if (!document) throw new Problem('conflict', 'the user is being changed; try again')
  await writer.write({
    realm,
    caller,
    door: restDoor,
    operations: [{ op: 'delete', kind: User, key: document.key, id: document.id }],
  })
}
