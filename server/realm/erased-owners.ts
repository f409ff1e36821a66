/**
 * Documents that name a user by username, as their owner or in a policy: after the erasure of the user they hold the id instead,
 * in history too. The id means nothing any more, as in the audit trail: an agent stays suspended for want of its owner, and
 * a policy does not permit the next user of that username.
 */

import type { Doc } from '#schemas/json-schema.ts'
import { AuthzPolicy } from '#schemas/kinds/authorization/authz-policy.ts'
import { AuthzResource } from '#schemas/kinds/authorization/authz-resource.ts'
import { Agent } from '#schemas/kinds/provisioning/agent.ts'
import { contentHash } from '#schemas/normalize.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { touchStatements } from '#server/storage/documents/changes.ts'
import { changeRows, statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { agentsOwnedBy } from '#server/tokens/agents/agent-states.ts'
import { foldName } from '#server/users/names.ts'

const kinds = [Agent.kind, AuthzResource.kind, AuthzPolicy.kind]

const ownerOf = ({ owner }: Doc): string | undefined =>
  typeof owner === 'string' ? foldName(owner) : undefined

const usersOf = ({ users }: Doc): readonly string[] =>
  Array.isArray(users) ? users.filter((one) => typeof one === 'string') : []

/** Agents have a field for the id of their owner; elsewhere a user is named by username or id. */
const withId = (kind: string, body: Doc, names: ReadonlySet<string>, id: string): Doc => {
  if (kind === AuthzPolicy.kind) {
    const users = usersOf(body).map((one) => (names.has(foldName(one)) ? id : one))
    return { ...body, users: [...new Set(users)].sort() }
  }
  const { owner: _, ...rest } = body
  return kind === Agent.kind ? { ...rest, ownerUserId: id } : { ...rest, owner: id }
}

export const forgetOwner = async (
  storage: Storage,
  { id, realm, username }: Pick<UserRow, 'id' | 'realm' | 'username'>,
): Promise<Statement[]> => {
  const { db } = storage
  const owned = await agentsOwnedBy(storage, id)
  const documents = (
    await db
      .selectFrom('documents')
      .select(['id', 'kind', 'key', 'version', 'body'])
      .where('realm', '=', realm)
      .where('kind', 'in', kinds)
      .execute()
  ).map(({ body, ...row }) => ({ ...row, body: JSON.parse(body) as Doc }))
  // An agent keeps its owner when the user is renamed: its document may have a former name.
  const names = new Set([
    foldName(username),
    ...documents.flatMap(({ id: one, body }) => (owned.has(one) ? (ownerOf(body) ?? []) : [])),
  ])
  const isTheirs = (body: Doc): boolean => {
    const owner = ownerOf(body)
    return (
      (owner !== undefined && names.has(owner)) ||
      usersOf(body).some((one) => names.has(foldName(one)))
    )
  }
  const named = documents.filter(({ body }) => isTheirs(body))

  const forgotten = (kind: string, side: string | null): string | null => {
    const kept = side === null ? null : (JSON.parse(side) as { readonly body: Doc })
    return kept && isTheirs(kept.body)
      ? JSON.stringify({ ...kept, body: withId(kind, kept.body, names, id) })
      : side
  }
  const history = await db
    .selectFrom('revision_operations')
    .select(['revision', 'n', 'kind', 'before', 'after'])
    .where('realm', '=', realm)
    .where('kind', 'in', kinds)
    .execute()
  return [
    ...changeRows(
      db,
      'documents',
      named.map((one) => {
        const body = withId(one.kind, one.body, names, id)
        const set = {
          body: JSON.stringify(body),
          hash: contentHash(body),
          version: one.version + 1,
        }
        return { id: one.id, version: one.version, set }
      }),
    ),
    ...history.flatMap(({ revision, n, kind, ...sides }) => {
      const [before, after] = [forgotten(kind, sides.before), forgotten(kind, sides.after)]
      if (before === sides.before && after === sides.after) return []
      return statement(
        db
          .updateTable('revision_operations')
          .set({ before, after })
          .where('realm', '=', realm)
          .where('revision', '=', revision)
          .where('n', '=', n),
      )
    }),
    ...(named.length > 0 ? touchStatements(storage, realm, named) : []),
  ]
}
