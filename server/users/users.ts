/**
 * The users of all realms, and the table of the names they sign in with. Reads run at once; writes are statements
 * that the caller commits with whatever belongs to the same act (audit, credentials, a document).
 */

import { type SelectQueryBuilder, sql } from 'kysely'
import { Problem } from '#schemas/problems.ts'
import { isUuid } from '#server/platform/ids.ts'
import { ConstraintError, type Statement, type Storage } from '#server/storage/contract.ts'
import { preparedQuery } from '#server/storage/prepared.ts'
import { changeRows, guarded, inSlices, insertRows, statement } from '#server/storage/statements.ts'
import type { Tables, UserRow } from '#server/storage/tables/tables.ts'
import { refusal } from '#server/storage/values.ts'
import { countDepartures } from './group-versions.ts'
import { foldName } from './names.ts'
import { noteUserChanges } from './user-changes.ts'

/** The user that signs in by a name, and the hash that the password is checked against. */
export interface LoginUser {
  readonly user: UserRow
  readonly password: { readonly id: string; readonly secret: string } | null
}

export interface UserPage {
  readonly users: readonly UserRow[]
  readonly total: number
}

export interface Users {
  find(realm: string, idOrUsername: string): Promise<UserRow | undefined>
  /** One query, whether or not the name exists. */
  findByLogin(
    realm: string,
    name: string,
    options: { withEmail: boolean },
  ): Promise<LoginUser | undefined>
  /** Users whose username or email address begins with `search`, by username. */
  list(
    realm: string,
    options: { search?: string | undefined; first?: number; max?: number },
  ): Promise<UserPage>
  createStatements(user: UserRow): Statement[]
  /** Fails the guard `user:<id>` if the user was changed since `before` was read. */
  updateStatements(before: UserRow, after: UserRow): Statement[]
  /** Makes and changes many at once; names that one of them gives up may be another's in the same list. */
  saveStatements(
    changes: readonly { readonly before: UserRow | undefined; readonly after: UserRow }[],
  ): Statement[]
  /** Everything that hangs on the user goes with it. */
  deleteStatements(id: string, now: number): Statement[]
  /** What a refused write of this user tells the caller: a 409 that names the field, or the error itself. */
  explain(error: unknown, user: UserRow): Promise<unknown>
}

/** Above every character that a folded name can hold, so that [prefix, prefix + END) is all names with it. */
const END = '\u{10ffff}'

const namesOf = (user: UserRow): Set<string> =>
  new Set(user.email_key === null ? [user.username_key] : [user.username_key, user.email_key])

type UserQuery = SelectQueryBuilder<Tables, 'users', unknown>

/** By ranges of bytes, not LIKE: both databases then walk an index, whatever the locale and the characters. */
const withPrefix = (
  query: UserQuery,
  column: 'username_key' | 'email_key',
  prefix: string,
): UserQuery => query.where(column, '>=', prefix).where(column, '<', prefix + END)

const namedUser = preparedQuery(
  'named-user',
  (db, { realm, key }: { realm: string; key: string }) =>
    db
      .selectFrom('user_names')
      .innerJoin('users', 'users.id', 'user_names.user_id')
      .leftJoin('credentials', (join) =>
        join.onRef('credentials.user_id', '=', 'users.id').on('credentials.type', '=', 'password'),
      )
      .selectAll('users')
      .select(['credentials.id as credential_id', 'credentials.secret as credential_secret'])
      .where('user_names.realm', '=', realm)
      .where('user_names.name', '=', key),
)

/** By the id as it is given, or in lower case. */
const userById = preparedQuery(
  'user',
  (db, { realm, id, lowered }: { realm: string; id: string; lowered: string }) =>
    db.selectFrom('users').selectAll().where('realm', '=', realm).where('id', 'in', [id, lowered]),
)

export const createUsers = ({ db }: Pick<Storage, 'db'>): Users => {
  /** The names that the users did not have before. */
  const insertNames = (
    changes: readonly { readonly before: UserRow | undefined; readonly after: UserRow }[],
  ): Statement[] =>
    insertRows(
      db,
      'user_names',
      changes.flatMap(({ before, after }) => {
        const had = before ? namesOf(before) : new Set()
        return [...namesOf(after)]
          .filter((name) => !had.has(name))
          .map((name) => ({ realm: after.realm, name, user_id: after.id }))
      }),
    )

  /** What changes in the row. */
  const columnsOf = (before: UserRow, after: UserRow) => {
    const { id: _id, realm: _realm, created_at: _created, ...columns } = after
    return { ...columns, version: before.version + 1 }
  }

  /** The names that the user no longer has. */
  const dropNames = (before: UserRow, after: UserRow): Statement[] => {
    const has = namesOf(after)
    const lost = [...namesOf(before)].filter((name) => !has.has(name))
    if (lost.length === 0) return []
    return [
      statement(
        db.deleteFrom('user_names').where('user_id', '=', before.id).where('name', 'in', lost),
      ),
    ]
  }

  return {
    async find(realm, idOrUsername) {
      if (refusal(idOrUsername) !== undefined) return undefined
      if (isUuid(idOrUsername)) {
        const lowered = idOrUsername.toLowerCase()
        const [row] = await userById(db, { realm, id: idOrUsername, lowered })
        return row
      }
      return db
        .selectFrom('users')
        .selectAll()
        .where('realm', '=', realm)
        .where('username_key', '=', foldName(idOrUsername))
        .executeTakeFirst()
    },

    async findByLogin(realm, name, { withEmail }) {
      const key = foldName(name)
      if (refusal(key) !== undefined) return undefined
      const [row] = await namedUser(db, { realm, key })
      if (row === undefined || (!withEmail && row.username_key !== key)) return undefined
      const { credential_id: id, credential_secret: secret, ...user } = row
      return { user, password: id === null || secret === null ? null : { id, secret } }
    },

    async list(realm, { search, first = 0, max = 100 }) {
      const prefix = foldName(search ?? '')
      if (refusal(prefix) !== undefined) return { users: [], total: 0 }
      const all = db.selectFrom('users').where('realm', '=', realm)
      const byName = prefix === '' ? all : withPrefix(all, 'username_key', prefix)
      // Two lists without a common user instead of an OR: with that, and an order, SQLite walks all users.
      const byEmailAlone =
        prefix === ''
          ? undefined
          : withPrefix(all, 'email_key', prefix).where((eb) =>
              eb.or([eb('username_key', '<', prefix), eb('username_key', '>=', prefix + END)]),
            )
      const count = async (query: UserQuery | undefined): Promise<number> => {
        const row = await query
          ?.select((eb) => eb.fn.countAll<number>().as('total'))
          .executeTakeFirst()
        return Number(row?.total ?? 0)
      }
      const page = byEmailAlone
        ? byName.selectAll().unionAll(byEmailAlone.selectAll())
        : byName.selectAll()
      const [users, names, emails] = await Promise.all([
        page.orderBy('username_key').limit(max).offset(first).execute(),
        count(byName),
        count(byEmailAlone),
      ])
      return { users, total: names + emails }
    },

    createStatements: (user) => [
      ...insertRows(db, 'users', [user]),
      ...insertNames([{ before: undefined, after: user }]),
      ...noteUserChanges({ db }, [user.id]),
    ],

    updateStatements: (before, after) => [
      guarded(
        db
          .updateTable('users')
          .set(columnsOf(before, after))
          .where('id', '=', before.id)
          .where('version', '=', before.version),
        `user:${after.id}`,
      ),
      ...dropNames(before, after),
      ...insertNames([{ before, after }]),
      ...noteUserChanges({ db }, [after.id]),
    ],

    saveStatements(changes) {
      const made = changes.filter(({ before }) => before === undefined)
      const kept = changes.flatMap(({ before, after }) => (before ? [{ before, after }] : []))
      const renamed = kept.filter(({ before, after }) => before.username_key !== after.username_key)
      return [
        // Names may be swapped: they step aside first. No name holds a control character.
        ...inSlices(renamed.map(({ before }) => before.id)).map((ids) =>
          statement(
            db
              .updateTable('users')
              .set({ username_key: sql<string>`'\u0001' || id` })
              .where('id', 'in', ids),
          ),
        ),
        ...changeRows(
          db,
          'users',
          kept.map(({ before, after }) => ({
            id: before.id,
            version: before.version,
            set: columnsOf(before, after),
          })),
        ),
        ...kept.flatMap(({ before, after }) => dropNames(before, after)),
        ...insertRows(
          db,
          'users',
          made.map(({ after }) => after),
        ),
        ...insertNames(changes),
        ...noteUserChanges(
          { db },
          changes.map(({ after }) => after.id),
        ),
      ]
    },

    deleteStatements: (id, now) => [
      ...noteUserChanges({ db }, [id]),
      ...countDepartures({ db }, [id], now),
      guarded(db.deleteFrom('users').where('id', '=', id), `user:${id}`),
    ],

    async explain(error, user) {
      if (!(error instanceof ConstraintError) || error.constraint !== 'unique') return error
      if (error.table !== 'users' && error.table !== 'user_names') return error
      const taken = await db
        .selectFrom('user_names')
        .select('name')
        .where('realm', '=', user.realm)
        .where('name', 'in', [...namesOf(user)])
        .where('user_id', '!=', user.id)
        .execute()
      const names = new Set(taken.map(({ name }) => name))
      const fields = [
        ...(names.has(user.username_key) ? ['username'] : []),
        ...(user.email_key !== null && names.has(user.email_key) ? ['email'] : []),
      ]
      const named = fields.length > 0 ? fields : ['username']
      return new Problem('conflict', `${named.join(' and ')}: another user has it already`, {
        errors: named.map((field) => ({
          field: `/${field}`,
          code: 'conflict',
          message: 'another user has it already',
        })),
        cause: error,
      })
    },
  }
}
