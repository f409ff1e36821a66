/**
 * Managed users. The document is the truth for the declared fields; the row in the users table, which everybody
 * has, and the memberships are made equal to it in the same transaction.
 */

import { sql } from 'kysely'
import type { UserDoc } from '#schemas/kinds/user.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import type { Passwords } from '#server/accounts/passwords.ts'
import type { Ranks } from '#server/accounts/permissions.ts'
import { changedUserRow, newUserRow } from '#server/accounts/user-record.ts'
import type { Users } from '#server/accounts/users.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import { countOfKind } from '#server/storage/documents/reads.ts'
import { statement } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables.ts'
import type { Behaviour, PrepareTools } from '../behaviour.ts'
import { type Draft, draftValue } from '../drafts.ts'

/** More belong into a directory or SCIM: they are data, not configuration. */
const mostManagedUsers = 20_000

export interface UserBehaviourParts {
  readonly users: Users
  readonly passwords: Passwords
  readonly ranks: Ranks
  readonly copy: Copy
}

const fieldsOf = (user: UserDoc) => ({
  username: user.username,
  email: user.email ?? null,
  emailVerified: user.emailVerified,
  firstName: user.firstName ?? null,
  lastName: user.lastName ?? null,
  enabled: user.enabled,
  attributes: user.attributes,
  requiredActions: user.requiredActions,
})

/** Who stays a member has joined when they joined. */
const organizations = ({ db, now }: PrepareTools, id: string): Statement[] => {
  const named = db
    .selectFrom('document_refs')
    .select('to_id')
    .where('from_id', '=', id)
    .where('path', '=', '/organizations')
  return [
    statement(
      db
        .deleteFrom('organization_members')
        .where('user_id', '=', id)
        .where('organization_id', 'not in', named),
    ),
    statement({
      compile: () =>
        sql`insert into organization_members (user_id, organization_id, joined_at)
          select from_id, to_id, cast(${now} as bigint) from document_refs
          where from_id = ${id} and path = '/organizations'
          on conflict do nothing`.compile(db),
    }),
  ]
}

/** Memberships follow the references of the document, whatever keys they had a moment ago. */
const memberships = (tools: PrepareTools, id: string): Statement[] => {
  const { db } = tools
  const copyOf = (table: string, column: string, paths: readonly string[]): Statement =>
    statement({
      compile: () =>
        sql`insert into ${sql.table(table)} (user_id, ${sql.ref(column)})
          select distinct from_id, to_id from document_refs
          where from_id = ${id} and path in (${sql.join(paths)})`.compile(db),
    })
  return [
    statement(db.deleteFrom('user_roles').where('user_id', '=', id)),
    statement(db.deleteFrom('user_groups').where('user_id', '=', id)),
    copyOf('user_roles', 'role_id', ['/roles', '/clientRoles']),
    copyOf('user_groups', 'group_id', ['/groups']),
    ...organizations(tools, id),
  ]
}

const endSessions = ({ db }: PrepareTools, id: string): Statement =>
  statement(db.deleteFrom('sessions').where('user_id', '=', id))

/** Keys are compared byte for byte, names of users are not: another document may have this user already. */
const refuseDeclaredTwice = async (
  { db }: PrepareTools,
  { key }: Draft,
  existing: UserRow,
): Promise<void> => {
  const other = await db
    .selectFrom('documents')
    .select('key')
    .where('id', '=', existing.id)
    .where('key', '!=', key)
    .executeTakeFirst()
  if (other)
    throw new Problem('conflict', `user "${key}" is declared as "${other.key}" already`, {
      errors: [{ field: '/username', code: 'duplicate', message: 'is taken' }],
    })
}

export const user = (parts: UserBehaviourParts): Behaviour => {
  const { users, passwords } = parts

  const passwordStatements = async (
    draft: Draft,
    row: UserRow,
    { drafts }: PrepareTools,
  ): Promise<readonly Statement[]> => {
    const hash = draft.secrets['/passwordHash']
    const initial = draft.before ? undefined : draft.secrets['/initialPassword']
    if (hash === undefined && initial === undefined) return []
    const settings = drafts.settings()
    const { statements, errors } =
      hash !== undefined
        ? passwords.acceptHash(settings, row, hash)
        : await passwords.prepare(settings, row, initial ?? '', '/initialPassword')
    if (errors.length > 0) throw invalid(errors)
    return statements
  }

  const refuseUnlessOutranked = async (tools: PrepareTools, row: UserRow): Promise<void> => {
    const view = await parts.copy.known(tools.realm)
    if (view) await parts.ranks.refuseUnlessOutranked(view, tools.caller.permissions, row.id)
  }

  const refuseTooMany = async ({ db, realm, drafts }: PrepareTools): Promise<void> => {
    const made = drafts.ofKind('user').filter(({ before }) => before === null).length
    if ((await countOfKind(db, realm, 'user')) + made > mostManagedUsers)
      throw new Problem('validation', `a realm has at most ${mostManagedUsers} managed users`)
  }

  return {
    prepare: async (draft, tools) => {
      const { realm, now } = tools
      const existing = await users.find(realm, draft.before?.id ?? draft.key)
      // Who is only carried along by a role's new name or end is not changed by the caller.
      if (existing && draft.named) await refuseUnlessOutranked(tools, existing)
      if (draft.body === null)
        return { statements: existing ? users.deleteStatements(existing.id) : [] }
      if (!draft.before && existing) await refuseDeclaredTwice(tools, draft, existing)
      if (!draft.before) await refuseTooMany(tools)
      const fields = fieldsOf(draftValue<UserDoc>(draft))
      const id = existing?.id ?? draft.id
      const row = existing
        ? changedUserRow(existing, { ...fields, managed: true }, now)
        : newUserRow(fields, { id, realm, managed: true, now })
      return {
        id,
        statements: [
          ...(existing ? users.updateStatements(existing, row) : users.createStatements(row)),
          ...memberships(tools, id),
          ...(await passwordStatements(draft, row, tools)),
          ...(existing?.enabled === 1 && !fields.enabled ? [endSessions(tools, id)] : []),
        ],
      }
    },
  }
}
