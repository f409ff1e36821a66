/**
 * Bulk import of users, with Argon2id hashes in PHC form. All or nothing: every row is checked first and what is
 * wrong is named by its index; then everything is written in one transaction of few, large statements.
 */

import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import { foldName } from '#server/accounts/names.ts'
import { changedUserRow, newUserRow, type UserFields } from '#server/accounts/user-record.ts'
import { newId } from '#server/platform/ids.ts'
import type { Statement } from '#server/storage/contract.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables.ts'
import { type Action, type ActionContext, bodyOf } from '../action.ts'
import { defaultRoleIn } from './create-user.ts'
import { inSlices, openNames } from './import-names.ts'
import { endOtherSessions, type UserParts, userEvent, userFields } from './users.ts'

const policies = ['FAIL', 'SKIP', 'OVERWRITE'] as const

type ImportedUser = Partial<UserFields> &
  Pick<UserFields, 'username'> & { readonly credentials?: readonly { readonly value: string }[] }

interface Result {
  readonly action: 'ADDED' | 'SKIPPED' | 'OVERWRITTEN'
  readonly resourceType: 'USER'
  readonly resourceName: string
  readonly id: string
}

const importedUser = bodyOf(
  {
    ...userFields,
    credentials: {
      type: 'array',
      maxItems: 1,
      items: bodyOf({
        type: { type: 'string', enum: ['password'] },
        value: { type: 'string', format: 'password-hash' },
      }),
    },
  },
  ['username'],
)

/** Users who have one of the usernames already, by folded name. */
const existingUsers = async (
  { storage: { db } }: UserParts,
  realm: string,
  users: readonly ImportedUser[],
): Promise<Map<string, UserRow>> => {
  const found = new Map<string, UserRow>()
  for (const slice of inSlices(users, 1000)) {
    const names = slice.map(({ username }) => foldName(username))
    const rows = await db
      .selectFrom('users')
      .selectAll()
      .where('realm', '=', realm)
      .where('username_key', 'in', names)
      .execute()
    for (const row of rows) found.set(row.username_key, row)
  }
  return found
}

/** Errors of one row, named by its place in the list. */
const atIndex = (index: number, errors: readonly FieldError[]): FieldError[] =>
  errors.map((error) => ({ ...error, field: `/users/${index}${error.field}` }))

const collect = async <T>(
  errors: FieldError[],
  index: number,
  make: () => Promise<T>,
): Promise<T | undefined> => {
  try {
    return await make()
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'validation') throw error
    errors.push(...atIndex(index, error.errors))
    return undefined
  }
}

export const importUsers = (parts: UserParts): Action => {
  const { users, passwords, storage, recorder, clock, ranks } = parts

  const credentialOf = (row: UserRow, user: ImportedUser): CredentialRow[] => {
    const hash = user.credentials?.[0]?.value
    if (hash === undefined) return []
    const { row: credential, errors } = passwords.firstOf(row, hash, '/credentials/0/value')
    if (!credential) throw invalid(errors)
    return [credential]
  }

  /** A password for somebody who gets a role is a way to its permissions. */
  const refuseWaysIn = async (
    { view, caller }: ActionContext,
    roleIds: readonly string[],
  ): Promise<void> => {
    const roles = await Promise.all(roleIds.map((id) => view.byId('role', id)))
    const granted = await ranks.permissionsOfRoles(
      view,
      roles.filter((role) => role !== undefined),
    )
    for (const permission of granted)
      if (!caller.permissions.has(permission))
        throw new Problem(
          'forbidden',
          `the default role grants ${permission}, which you do not hold`,
        )
  }

  const overwrite = async (
    context: ActionContext,
    before: UserRow,
    user: ImportedUser,
  ): Promise<Statement[]> => {
    if (before.managed === 1)
      throw new Problem('conflict', `user "${before.username}" is managed by a file`)
    await ranks.refuseUnlessOutranked(context.view, context.caller.permissions, before.id)
    const { credentials, ...fields } = user
    const after = changedUserRow(before, fields, clock.now())
    const hash = credentials?.[0]?.value
    const settings = { passwordPolicy: { passwordHistory: 0 } } as Parameters<
      typeof passwords.acceptHash
    >[0]
    const password =
      hash === undefined
        ? { statements: [], errors: [] }
        : passwords.acceptHash(settings, before, hash, '/credentials/0/value')
    if (password.errors.length > 0) throw invalid(password.errors)
    const shutOut = hash !== undefined || (before.enabled === 1 && after.enabled === 0)
    return [
      ...users.updateStatements(before, after),
      ...password.statements,
      ...(shutOut ? endOtherSessions(parts, context, before.id) : []),
    ]
  }

  return {
    operationId: 'import-users',
    method: 'POST',
    events: ['ADMIN_CREATE', 'ADMIN_UPDATE', 'RESET_PASSWORD'],
    path: '/users/import',
    permission: 'manage-users',
    resourceType: 'users',
    summary: 'Imports many users at once, all or none',
    bodyLimit: 64 * 1024 * 1024,
    body: bodyOf(
      {
        ifResourceExists: { type: 'string', enum: policies, default: 'FAIL' },
        users: { type: 'array', minItems: 1, maxItems: 100_000, items: importedUser },
      },
      ['users'],
    ),
    reply: {
      status: 200,
      schema: bodyOf({
        added: { type: 'integer' },
        skipped: { type: 'integer' },
        overwritten: { type: 'integer' },
        results: {
          type: 'array',
          items: bodyOf({
            action: { type: 'string', enum: ['ADDED', 'SKIPPED', 'OVERWRITTEN'] },
            resourceType: { type: 'string', enum: ['USER'] },
            resourceName: { type: 'string' },
            id: { type: 'string', format: 'uuid' },
          }),
        },
      }),
    },
    handle: async (context) => {
      const { realm, view } = context
      const { ifResourceExists, users: given } = context.body as unknown as {
        ifResourceExists: (typeof policies)[number]
        users: ImportedUser[]
      }
      const existing = await existingUsers(parts, realm, given)
      const errors: FieldError[] = []
      const rows: UserRow[] = []
      const credentials: CredentialRow[] = []
      const statements: Statement[] = []
      const results: Result[] = []
      /** Users whose password is replaced. */
      const reset: string[] = []
      const names = await openNames(storage.db, realm, given)
      for (const [index, user] of given.entries()) {
        const folded = foldName(user.username)
        const before = existing.get(folded)
        const skipped = before !== undefined && ifResourceExists === 'SKIP'
        const exists = {
          field: `/users/${index}/username`,
          code: 'duplicate',
          message: 'exists already',
        }
        const refused = before !== undefined && ifResourceExists === 'FAIL'
        const taken = skipped ? [] : refused ? [exists] : names.claim(index, user, before?.id)
        if (taken.length > 0) {
          errors.push(...taken)
          continue
        }
        const result = { resourceType: 'USER', resourceName: user.username } as const
        if (skipped) {
          results.push({ ...result, action: 'SKIPPED', id: before.id })
        } else if (before) {
          const changes = await collect(errors, index, () => overwrite(context, before, user))
          statements.push(...(changes ?? []))
          results.push({ ...result, action: 'OVERWRITTEN', id: before.id })
          if (user.credentials?.[0]) reset.push(before.id)
        } else {
          const { credentials: _, ...fields } = user
          const row = await collect(errors, index, async () =>
            newUserRow(fields, { id: newId(), realm, now: clock.now() }),
          )
          if (!row) continue
          rows.push(row)
          const credential = await collect(errors, index, async () => credentialOf(row, user))
          credentials.push(...(credential ?? []))
          results.push({ ...result, action: 'ADDED', id: row.id })
        }
      }
      if (errors.length > 0) {
        const onlyTaken = errors.every(({ code }) => code === 'duplicate')
        if (!onlyTaken) throw invalid(errors.slice(0, 100))
        throw new Problem('conflict', `${errors.length} names are taken`, {
          errors: errors.slice(0, 100),
        })
      }
      const nameRows = rows.flatMap((row) =>
        [...new Set([row.username_key, row.email_key])].flatMap((name) =>
          name === null ? [] : [{ realm, name, user_id: row.id }],
        ),
      )
      const defaults = await defaultRoleIn(view)
      if (credentials.length > 0) await refuseWaysIn(context, defaults)
      const roles = defaults.flatMap((role_id) => rows.map(({ id }) => ({ user_id: id, role_id })))
      await recorder.commit(
        [
          ...insertRows(storage.db, 'users', rows),
          ...insertRows(storage.db, 'user_names', nameRows),
          ...insertRows(storage.db, 'credentials', credentials),
          ...insertRows(storage.db, 'user_roles', roles),
          ...statements,
        ],
        [
          ...results
            .filter(({ action }) => action !== 'SKIPPED')
            .map(({ id, action }) =>
              userEvent(
                context,
                action === 'ADDED' ? 'ADMIN_CREATE' : 'ADMIN_UPDATE',
                id,
                'imported',
              ),
            ),
          ...reset.map((id) => userEvent(context, 'RESET_PASSWORD', id, 'imported')),
        ],
      )
      const count = (action: Result['action']): number =>
        results.filter((result) => result.action === action).length
      return {
        added: count('ADDED'),
        skipped: count('SKIPPED'),
        overwritten: count('OVERWRITTEN'),
        results,
      }
    },
  }
}
