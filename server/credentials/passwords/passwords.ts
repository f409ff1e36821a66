/**
 * Passwords of users: what a realm asks of a new one, what was used before, and whether one matches. All hashing
 * is done when the statements are returned, so that no transaction waits for it.
 */

import { sql } from 'kysely'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { FieldError } from '#schemas/problems.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { BreachCheck } from '#server/platform/passwords/breach.ts'
import { storableHash } from '#server/platform/passwords/foreign.ts'
import type { Hasher } from '#server/platform/passwords/hasher.ts'
import { checkPassword } from '#server/platform/passwords/policy.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedStatement } from '#server/storage/prepared.ts'
import { held, insertRows, statement } from '#server/storage/statements.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'
import { holdUser } from '#server/users/user-rows.ts'
import type { DirectoryPasswords } from '../directory-passwords.ts'
import type { Decoys } from '../guessing/decoys.ts'

type Owner = Pick<UserRow, 'id' | 'realm' | 'username' | 'email'>
type Policies = Pick<SettingsDoc, 'passwordPolicy'>

/** Errors and no statements, or the other way round. */
export interface PreparedPassword {
  readonly statements: readonly Statement[]
  readonly errors: readonly FieldError[]
}

/** The stored password of a user. */
export interface StoredPassword {
  readonly id: string
  readonly secret: string
}

export interface Passwords {
  /** A new password of a user who exists, or who is created by earlier statements of the same commit. */
  prepare(
    settings: Policies,
    user: Owner,
    newPassword: string,
    field?: string,
  ): Promise<PreparedPassword>
  /** What a realm has against a new password, without the cost of hashing it. */
  check(
    settings: Policies,
    user: Owner,
    newPassword: string,
    field?: string,
  ): Promise<readonly FieldError[]>
  /** The first password of a user who is made by the same commit, by a hash that was made elsewhere. */
  firstOf(
    user: Owner,
    hash: string,
    field?: string,
  ): { readonly row?: CredentialRow; readonly errors: readonly FieldError[] }
  /** Of a password that a user has elsewhere and keeps: no policy is asked. */
  hashOf(password: string): Promise<string>
  /** An imported hash; the password is unknown, so no policy can be checked. */
  acceptHash(
    settings: Policies,
    user: Owner,
    hash: string,
    options?: {
      readonly field?: string
      /** Number of former passwords to keep, instead of that of the policy. */
      readonly history?: number
    },
  ): PreparedPassword
  /**
   * Whether it matches. Where there is none, the work is that of some hash of the realm. The statements belong into the
   * commit of what the match allows: they fail the guard `password:<user id>` if the password was changed meanwhile, and
   * store a stronger hash where the old one is behind the times.
   */
  verify(
    who: { readonly realm: string; readonly name: string; readonly userId?: string | undefined },
    stored: StoredPassword | null,
    password: string,
  ): Promise<{ matches: boolean; statements: readonly Statement[] }>
}

export interface PasswordParts {
  readonly hasher: Hasher
  readonly breach: BreachCheck
  readonly decoys: Decoys
  readonly storage: Pick<Storage, 'db' | 'dialect'>
  readonly clock: Clock
  readonly directories?: Pick<DirectoryPasswords, 'keeperOf'> | undefined
}

const replaceSecret = preparedStatement(
  (db, { id, before, secret }: { id: string; before: string; secret: string }) =>
    db.updateTable('credentials').set({ secret }).where('id', '=', id).where('secret', '=', before),
)

const unbearable = (field: string): FieldError => ({
  field,
  code: 'format',
  message: 'must be an Argon2, bcrypt, PBKDF2 or scrypt hash of a cost that can be borne',
})

export const createPasswords = (parts: PasswordParts): Passwords => {
  const { hasher, breach, decoys, clock } = parts
  const { db, dialect } = parts.storage
  const stillStored = preparedStatement((db, { id, secret }: { id: string; secret: string }) =>
    held(
      dialect,
      db.selectFrom('credentials').select('id').where('id', '=', id).where('secret', '=', secret),
    ),
  )

  const usedBefore = async (
    userId: string,
    password: string,
    remembered: number,
  ): Promise<boolean> => {
    if (remembered === 0) return false
    const current = await db
      .selectFrom('credentials')
      .select('secret as hash')
      .where('user_id', '=', userId)
      .where('type', '=', 'password')
      .execute()
    const earlier = await db
      .selectFrom('password_history')
      .select('hash')
      .where('user_id', '=', userId)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(remembered - 1)
      .execute()
    for (const { hash } of [...current, ...earlier]) {
      if (await hasher.verify(hash, password)) return true
    }
    return false
  }

  const refusals = async (
    { passwordPolicy: policy }: Policies,
    user: Owner,
    password: string,
  ): Promise<{ code: string; message: string }[]> => {
    const keeper = await parts.directories?.keeperOf(user)
    if (keeper !== undefined)
      return [
        {
          code: 'password.directory',
          message: `is kept in the directory "${keeper}": change it there`,
        },
      ]
    const issues: { code: string; message: string }[] = checkPassword(password, policy, user)
    const readable = !issues.some(({ code }) => code === 'password.maxLength')
    if (policy.breachCheck && readable && (await breach.isBreached(password)))
      issues.push({ code: 'password.breached', message: 'is known from a breach' })
    // Last, because every remembered password costs as much as a sign-in.
    if (issues.length === 0 && (await usedBefore(user.id, password, policy.passwordHistory)))
      issues.push({ code: 'password.history', message: 'was used before' })
    return issues
  }

  const rowOf = (user: Owner, secret: string): CredentialRow => ({
    id: newId(),
    realm: user.realm,
    user_id: user.id,
    type: 'password',
    label: null,
    priority: 0,
    secret,
    created_at: clock.now(),
    used: 0,
  })

  /** Replaces the password. The user's row is locked first, so that two changes at once leave one password. */
  const replace = (user: Owner, secret: string, remembered: number): Statement[] => {
    const now = clock.now()
    const passwordOf = { user_id: user.id, type: 'password' }
    const kept = db
      .selectFrom('password_history')
      .select('id')
      .where('user_id', '=', user.id)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(Math.max(remembered - 1, 0))
    return [
      holdUser(parts.storage, user.id),
      statement(
        db
          .insertInto('password_history')
          .columns(['id', 'user_id', 'hash', 'created_at'])
          .expression((eb) =>
            eb
              .selectFrom('credentials')
              .select([
                sql<string>`${newId()}`.as('id'),
                'user_id',
                'secret',
                sql<number>`cast(${now} as bigint)`.as('created_at'),
              ])
              .where((where) => where.and(passwordOf)),
          ),
      ),
      statement(
        db
          .deleteFrom('password_history')
          .where('user_id', '=', user.id)
          .where('id', 'not in', kept),
      ),
      statement(db.deleteFrom('credentials').where((where) => where.and(passwordOf))),
      ...insertRows(db, 'credentials', [rowOf(user, secret)]),
    ]
  }

  const check: Passwords['check'] = async (settings, user, newPassword, field = '/newPassword') =>
    (await refusals(settings, user, newPassword)).map((issue) => ({ field, ...issue }))

  return {
    check,

    firstOf(user, hash, field = '/passwordHash') {
      const secret = storableHash(hash)
      return secret === undefined
        ? { errors: [unbearable(field)] }
        : { row: rowOf(user, secret), errors: [] }
    },

    async prepare(settings, user, newPassword, field) {
      const errors = await check(settings, user, newPassword, field)
      if (errors.length > 0) return { statements: [], errors }
      const hash = await hasher.hash(newPassword)
      return {
        statements: replace(user, hash, settings.passwordPolicy.passwordHistory),
        errors: [],
      }
    },

    hashOf: (password) => hasher.hash(password),

    acceptHash({ passwordPolicy }, user, hash, options = {}) {
      const { field = '/passwordHash', history = passwordPolicy.passwordHistory } = options
      const secret = storableHash(hash)
      return secret === undefined
        ? { statements: [], errors: [unbearable(field)] }
        : { statements: replace(user, secret, history), errors: [] }
    },

    async verify({ realm, name, userId }, stored, password) {
      // Checked for every name, so that the check does not reveal whether a user exists.
      const decoy = await decoys.of(realm, name)
      if (stored) decoys.saw(realm, stored.secret)
      const hash = stored?.secret ?? decoy
      const isRight =
        hash === undefined
          ? await hasher.verifyDecoy(password)
          : await hasher.verify(hash, password)
      const isBehind = hash !== undefined && hasher.needsRehash(hash)
      if (!stored || !isRight) {
        // As costly as the new hash of a match.
        if (isBehind) await hasher.verifyDecoy(password)
        return { matches: false, statements: [] }
      }
      const { id, secret: before } = stored
      const unchanged = isBehind
        ? replaceSecret(db, { id, before, secret: await hasher.hash(password) })
        : stillStored(db, { id, secret: before })
      const expect = { rows: 1, guard: `password:${userId}` }
      return { matches: true, statements: [{ ...unchanged, expect }] }
    },
  }
}
