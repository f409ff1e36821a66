/** The life of a realm: made with its seeds, its first administrator and its signing key in one transaction. */

import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { complete } from '#schemas/normalize.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { deleteEventsOf } from '#server/audit/retention.ts'
import type { Passwords } from '#server/credentials/passwords/passwords.ts'
import { type Caller, doneBy } from '#server/http/caller.ts'
import { insertSigningKeys, makeSigningKey } from '#server/keys/signing-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, statement } from '#server/storage/statements.ts'
import type { RealmRow } from '#server/storage/tables/tables.ts'
import { insertUserRoles } from '#server/users/memberships.ts'
import { usernameErrors } from '#server/users/names.ts'
import { newUserRow } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import { bootstrapChannel, type Operation } from './write/operations.ts'
import type { Alongside, Writer } from './write/write.ts'

/** The realm whose administrators administer every realm. */
export const masterRealm = 'master'

export interface FirstAdmin {
  readonly username: string
  /** One of both; neither leaves the realm without an administrator of its own. */
  readonly password?: string
  readonly passwordHash?: string
}

export interface NewRealm {
  readonly realm: string
  readonly displayName?: string
  readonly admin?: FirstAdmin
}

/** What must be written beside anything else with which a realm begins. */
export interface Birth {
  readonly operations: readonly Operation[]
  readonly alongside: Alongside
}

export interface Realms {
  list(): Promise<RealmRow[]>
  find(realm: string): Promise<RealmRow | undefined>
  /** Seeds, signing key and event of a realm that does not exist yet; a dry run needs no key. */
  birth(
    realm: string,
    caller: Caller,
    options?: { readonly displayName?: string | undefined; readonly dryRun?: boolean },
  ): Promise<Birth>
  create(realm: NewRealm, caller: Caller): Promise<RealmRow>
  delete(realm: string, caller: Caller): Promise<void>
}

export interface RealmsParts {
  readonly storage: Storage
  readonly writer: Writer
  readonly recorder: Recorder
  readonly users: Users
  readonly passwords: Passwords
  readonly keyring: Keyring
  readonly clock: Clock
}

/** Told in the master realm: the trail of a deleted one goes with it. */
const realmEvent = (type: EventType, realm: string, caller: Caller): AuditEvent => ({
  type,
  realm: masterRealm,
  ...doneBy(caller),
  outcome: 'SUCCESS',
  resourceType: 'realms',
  resourceId: realm,
})

/** What the realm is born with, as operations like any other. */
const seedOperations = (displayName?: string): Operation[] =>
  seeds.map(({ kind, key, doc }) => ({
    op: 'put',
    kind,
    key,
    doc: kind === Settings && displayName !== undefined ? { ...doc, displayName } : doc,
    secrets: {},
    expect: { exists: false },
    lineage: { origin: 'built-in', owner: null, seed: true },
  }))

const checkName = lazyValidator(createAjv(), { type: 'string', format: 'realm-name' })

export const createRealms = (parts: RealmsParts): Realms => {
  const { storage, writer, recorder, users, passwords, clock } = parts
  const { db } = storage

  /** The administrator's rows; the role is known once the seeds have their ids. */
  const adminStatements = async (realm: string, admin: FirstAdmin) => {
    const settings = complete(Settings, {}) as SettingsDoc
    const wrong = usernameErrors(admin.username)
    if (wrong.length > 0)
      throw invalid(wrong.map((error) => ({ ...error, field: '/adminUsername' })))
    const row = newUserRow({ username: admin.username }, { id: newId(), realm, now: clock.now() })
    const { statements, errors } =
      admin.passwordHash !== undefined
        ? passwords.acceptHash(settings, row, admin.passwordHash, { field: '/adminPassword' })
        : await passwords.prepare(settings, row, admin.password ?? '', '/adminPassword')
    if (errors.length > 0) throw invalid(errors)
    return (roleIds: readonly string[]): Statement[] => [
      ...users.createStatements(row),
      ...statements,
      ...insertUserRoles(
        storage,
        roleIds.map((role_id) => ({ user_id: row.id, role_id })),
      ),
    ]
  }

  const find = (realm: string): Promise<RealmRow | undefined> =>
    db.selectFrom('realms').selectAll().where('name', '=', realm).executeTakeFirst()

  /** The issuer of a realm is compared by letter, but people do not tell two apart by case. */
  const findFolded = (realm: string): Promise<RealmRow | undefined> =>
    db
      .selectFrom('realms')
      .selectAll()
      .where((eb) => eb.fn('lower', ['name']), '=', realm.toLowerCase())
      .executeTakeFirst()

  const birth: Realms['birth'] = async (realm, caller, { displayName, dryRun } = {}) => {
    const errors = checkName(realm)
    if (errors.length > 0) throw invalid(errors.map((error) => ({ ...error, field: '/realm' })))
    const other = await findFolded(realm)
    if (other?.name === realm) throw new Problem('conflict', `realm "${realm}" exists already`)
    if (other)
      throw new Problem('conflict', `realm "${realm}" differs from "${other.name}" in case alone`)
    const keys = dryRun ? [] : [await makeSigningKey({ realm, clientId: null }, 'ACTIVE', parts)]
    return {
      operations: seedOperations(displayName),
      alongside: {
        statements: insertSigningKeys(storage, keys),
        events: [realmEvent('ADMIN_CREATE', realm, caller)],
      },
    }
  }

  /** A realm does not go while something in it is protected. */
  const refuseProtected = async (realm: string): Promise<void> => {
    const documents = await db
      .selectFrom('documents')
      .select(['kind', 'key'])
      .where('realm', '=', realm)
      .where('protected', '=', 1)
      .orderBy('kind')
      .orderBy('key')
      .limit(20)
      .execute()
    if (documents.length === 0) return
    const names = documents.map(({ kind, key }) => `${kind} "${key}"`)
    throw new Problem('protected', `protected against deletion: ${names.join(', ')}`, {
      extra: { documents },
    })
  }

  return {
    find,
    list: () => db.selectFrom('realms').selectAll().orderBy('name').execute(),

    birth,

    create: async ({ realm, displayName, admin }, caller) => {
      const { operations, alongside } = await birth(realm, caller, { displayName })
      const withAdmin = admin && (await adminStatements(realm, admin))
      await writer.write({
        realm,
        createRealm: true,
        caller,
        channel: bootstrapChannel,
        operations,
        alongside: (effects) => {
          const roleIds = effects.flatMap(({ after }) =>
            after && ['role\nadmin', 'role\nuser'].includes(`${after.kind}\n${after.key}`)
              ? [after.id]
              : [],
          )
          return {
            ...alongside,
            statements: [...alongside.statements, ...(withAdmin?.(roleIds) ?? [])],
          }
        },
      })
      const made = await find(realm)
      if (!made) throw new Problem('not-found', `there is no realm "${realm}"`)
      return made
    },

    delete: async (realm, caller) => {
      if (realm === masterRealm)
        throw new Problem('built-in', `realm "${masterRealm}" administers all others`)
      if (!(await find(realm))) throw new Problem('not-found', `there is no realm "${realm}"`)
      await refuseProtected(realm)
      const announcement = storage.announce(realm)
      await recorder.commit(
        [
          // References have no cascade towards their target: they must not be lost unnoticed elsewhere.
          statement(
            db
              .deleteFrom('document_refs')
              .where('from_id', 'in', (eb) =>
                eb.selectFrom('documents').select('id').where('realm', '=', realm),
              ),
          ),
          deleteEventsOf(storage, realm),
          guarded(
            db
              .deleteFrom('realms')
              .where('name', '=', realm)
              .where((eb) =>
                eb.not(
                  eb.exists(
                    eb
                      .selectFrom('documents')
                      .select('id')
                      .where('realm', '=', realm)
                      .where('protected', '=', 1),
                  ),
                ),
              ),
            'realm',
          ),
          ...(announcement ? [announcement] : []),
        ],
        [realmEvent('ADMIN_DELETE', realm, caller)],
      )
    },
  }
}
