/**
 * Users whom a file declares: a change by SCIM is a revision of the realm that names the sender, and so drift with a name on it.
 */

import type { Doc } from '#schemas/json-schema.ts'
import { User, type UserDoc } from '#schemas/kinds/users/user.ts'
import { complete } from '#schemas/normalize.ts'
import { Problem } from '#schemas/problems.ts'
import { runtimeChannel } from '#server/realm/write/operations.ts'
import type { Alongside, Writer } from '#server/realm/write/write.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { ScimCall } from '../caller.ts'
import type { StatedUser } from './resource.ts'

/** The document with the fields that were stated. */
const changed = (before: UserDoc, { fields }: StatedUser): Doc => ({
  ...before,
  username: fields.username,
  emailVerified: fields.emailVerified,
  enabled: fields.enabled,
  attributes: fields.attributes as Record<string, string[]>,
  email: fields.email ?? undefined,
  firstName: fields.firstName ?? undefined,
  lastName: fields.lastName ?? undefined,
})

const documentOf = async ({ view }: ScimCall, user: UserRow) => {
  const document = await view.byId(User.kind, user.id)
  if (!document) throw new Problem('conflict', 'the user is being changed; try again')
  return document
}

export const changeManagedUser = async (
  writer: Writer,
  call: ScimCall,
  user: UserRow,
  stated: StatedUser,
  alongside: (changes: number) => Alongside,
): Promise<void> => {
  const document = await documentOf(call, user)
  await writer.write({
    realm: call.realm,
    caller: call.caller,
    channel: runtimeChannel,
    operations: [
      {
        op: 'put',
        kind: User,
        key: stated.fields.username,
        id: document.id,
        doc: (before) => ({
          ...before,
          ...changed(complete(User, before) as UserDoc, stated),
        }),
        secrets: {},
        expect: { exists: true },
      },
    ],
    alongside: ({ length }) => alongside(length),
  })
}

export const deleteManagedUser = async (
  writer: Writer,
  call: ScimCall,
  user: UserRow,
  guards: readonly Statement[],
): Promise<void> => {
  const document = await documentOf(call, user)
  await writer.write({
    realm: call.realm,
    caller: call.caller,
    channel: runtimeChannel,
    operations: [{ op: 'delete', kind: User, key: document.key, id: document.id }],
    alongside: () => ({ guards, statements: [], events: [] }),
  })
}
