/**
 * Bulk import of users, with hashes of their passwords. All or nothing: every row is checked first and what is wrong is
 * named by its place; then everything is written in one transaction of few, large statements.
 */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import { type ImportedUserResult, importActions } from '#schemas/wire/records.ts'
import { insertCredentials } from '#server/credentials/credentials.ts'
import { newId } from '#server/platform/ids.ts'
import { createPace } from '#server/platform/pace.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'
import { insertUserGroups, insertUserRoles } from '#server/users/memberships.ts'
import { foldName } from '#server/users/names.ts'
import { changedUserRow, newUserRow } from '#server/users/user-record.ts'
import { usersIn } from '#server/users/user-rows.ts'
import { type Action, type ActionContext, bodyOf } from '../../action.ts'
import type { CredentialParts } from '../../credentials/credential-type.ts'
import { defaultRoleIn } from '../create-user.ts'
import { endOtherSessions, settingsIn, type UserParts, userEvent } from '../users.ts'
import {
  bodyLimit,
  type ImportedUser,
  importBody,
  importQuery,
  importTypes,
  maxErrors,
  readImport,
  type UserImport,
} from './import-body.ts'
import { openCredentials, passwordIn } from './import-credentials.ts'
import { openNames } from './import-names.ts'
import { joinStatements, type Memberships, openMemberships } from './memberships.ts'
import { withHashes } from './plain-passwords.ts'

/** Users who have one of the usernames already, by folded name. */
const existingUsers = async (
  { storage }: UserParts,
  realm: string,
  users: readonly ImportedUser[],
): Promise<ReadonlyMap<string, UserRow>> => {
  const names = users.map(({ username }) => foldName(username))
  const rows = await usersIn(storage, realm, 'username_key', names)
  return new Map(rows.map((row) => [row.username_key, row]))
}

/** What one row of the import leads to. */
type Decision =
  | { readonly action: 'REFUSED'; readonly errors: readonly FieldError[] }
  | { readonly action: 'SKIPPED'; readonly user: ImportedUser; readonly before: UserRow }
  | {
      readonly action: 'OVERWRITTEN'
      readonly user: ImportedUser
      readonly before: UserRow
      readonly after: UserRow
      readonly hasNewApps: boolean
      readonly statements: readonly Statement[]
    }
  | {
      readonly action: 'ADDED'
      readonly user: ImportedUser
      readonly row: UserRow
      readonly credentials: readonly CredentialRow[]
    }

/** Errors of one row are named by its place. */
const atPlace = async (place: string, make: () => Promise<Decision>): Promise<Decision> => {
  try {
    return await make()
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'validation') throw error
    const errors = error.errors.map((one) => ({ ...one, field: `${place}${one.field}` }))
    return { action: 'REFUSED', errors }
  }
}

const resultOf = (decision: Decision, dryRun: boolean): ImportedUserResult[] => {
  if (decision.action === 'REFUSED') return []
  const { action, user } = decision
  const result = { action, resourceType: 'USER', resourceName: user.username } as const
  if (decision.action !== 'ADDED') return [{ ...result, id: decision.before.id }]
  return [dryRun ? result : { ...result, id: decision.row.id }]
}

/** All taken names make a conflict, anything else an invalid request. */
const refuse = (errors: readonly FieldError[]): Problem => {
  const told = errors.slice(0, maxErrors)
  return errors.every(({ code }) => code === 'duplicate')
    ? new Problem('conflict', `${errors.length} names are taken`, { errors: told })
    : invalid(told)
}

export const importUsers = (parts: CredentialParts): Action => {
  const credentialsOf = openCredentials(parts)
  const { users, passwords, storage, recorder, clock, ranks, lastAdmin, addressNotice } = parts

  /** A password for a user with a role gives access to the permissions of the role. */
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
    settings: SettingsDoc,
    before: UserRow,
    user: ImportedUser,
    memberships: Memberships,
  ): Promise<Decision> => {
    if (before.managed === 1)
      throw new Problem('conflict', `user "${before.username}" is managed by a file`)
    await ranks.refuseUnlessOutranked(context.view, context.caller.permissions, before.id)
    const { credentials: _, roles: __, clientRoles: ___, groups: ____, ...fields } = user
    const after = changedUserRow(before, fields, clock.now())
    const found = passwordIn(user)
    const hash = found?.given.value
    const field = `/credentials/${found?.at}/value`
    const password =
      hash === undefined
        ? { statements: [], errors: [] }
        : passwords.acceptHash(settings, before, hash, { field, history: 0 })
    if (password.errors.length > 0) throw invalid(password.errors)
    const apps = await credentialsOf.appStatements(settings, before, user)
    const shutOut =
      hash !== undefined || apps.length > 0 || (before.enabled === 1 && after.enabled === 0)
    return {
      action: 'OVERWRITTEN',
      user,
      before,
      after,
      hasNewApps: apps.length > 0,
      statements: [
        ...users.updateStatements(before, after),
        ...password.statements,
        ...apps,
        ...(await addressNotice.statements(context.view, [{ before, after }])),
        ...(shutOut ? endOtherSessions(parts, context, before.id) : []),
        ...joinStatements(parts, before.id, memberships.rolesOf(user), memberships.groupsOf(user)),
      ],
    }
  }

  const add = (realm: string, settings: SettingsDoc, user: ImportedUser): Decision => {
    const { credentials: _, roles: __, clientRoles: ___, groups: ____, ...fields } = user
    const row = newUserRow(fields, { id: newId(), realm, now: clock.now() })
    return { action: 'ADDED', user, row, credentials: credentialsOf.rowsOf(settings, row, user) }
  }

  /** One decision for each row. */
  const decideAll = async (
    context: ActionContext,
    { users: rows, ifResourceExists, placeOf }: UserImport,
    existing: ReadonlyMap<string, UserRow>,
    memberships: Memberships,
  ): Promise<readonly Decision[]> => {
    const { realm } = context
    const settings = await settingsIn(context)
    const names = await openNames(storage, realm, rows)
    const decide = async (user: ImportedUser, place: string): Promise<Decision> => {
      const before = existing.get(foldName(user.username))
      if (before && ifResourceExists === 'SKIP') return { action: 'SKIPPED', user, before }
      const taken =
        before && ifResourceExists === 'FAIL'
          ? [{ field: `${place}/username`, code: 'duplicate', message: 'exists already' }]
          : names.claim(place, user, before?.id)
      if (taken.length > 0) return { action: 'REFUSED', errors: taken }
      return atPlace(place, async () =>
        before
          ? overwrite(context, settings, before, user, memberships)
          : add(realm, settings, user),
      )
    }
    const decisions: Decision[] = []
    const pace = createPace()
    for (const [index, user] of rows.entries()) {
      decisions.push(await decide(user, placeOf(index)))
      if (pace.over()) await pace.rest()
    }
    return decisions
  }

  /** What has to be written; throws what is wrong with the rows. */
  const decide = async (context: ActionContext, given: UserImport) => {
    const existing = await existingUsers(parts, context.realm, given.users)
    const isSkipped = ({ username }: ImportedUser): boolean =>
      given.ifResourceExists === 'SKIP' && existing.has(foldName(username))
    const wanted = given.users.filter((user) => !isSkipped(user))
    const memberships = await openMemberships(parts, context, wanted)
    const decisions = await decideAll(context, given, existing, memberships)
    const errors = decisions.flatMap((one) => (one.action === 'REFUSED' ? one.errors : []))
    if (errors.length > 0) throw refuse(errors)
    const added = decisions.filter((one) => one.action === 'ADDED')
    const overwritten = decisions.filter((one) => one.action === 'OVERWRITTEN')
    /** Users who cannot sign in afterwards. */
    const out = overwritten.filter(({ after }) => after.enabled === 0 || after.locked === 1)
    return {
      rows: added.map(({ row }) => row),
      credentials: added.flatMap(({ credentials }) => credentials),
      statements: await lastAdmin.aroundData(
        context.view,
        out.map(({ before }) => before),
        overwritten.flatMap(({ statements }) => statements),
      ),
      results: decisions.flatMap((one) => resultOf(one, given.dryRun)),
      /** Users whose password is replaced. */
      reset: overwritten.flatMap(({ user, before }) => (passwordIn(user) ? [before.id] : [])),
      /** Users who have other apps than before. */
      equipped: overwritten.flatMap(({ hasNewApps, before }) => (hasNewApps ? [before.id] : [])),
      roles: added.map(({ user, row }) => ({ id: row.id, roles: memberships.rolesOf(user) })),
      groups: added.flatMap(({ user, row }) =>
        memberships.groupsOf(user).map((group_id) => ({ user_id: row.id, group_id })),
      ),
      missing: memberships.missing,
    }
  }

  type Decided = Awaited<ReturnType<typeof decide>>

  const commit = async (
    context: ActionContext,
    { rows, credentials, statements, results, reset, equipped, roles, groups }: Decided,
    defaults: readonly string[],
  ): Promise<void> => {
    const roleRows = roles.flatMap(({ id, roles: given }) =>
      [...new Set([...defaults, ...given])].map((role_id) => ({
        user_id: id,
        role_id,
        by_default: defaults.includes(role_id) ? 1 : 0,
      })),
    )
    const eventOf = ({ id = '', action }: ImportedUserResult) =>
      userEvent(context, action === 'ADDED' ? 'ADMIN_CREATE' : 'ADMIN_UPDATE', id, 'imported')
    await recorder.commit(
      [
        ...users.saveStatements(rows.map((after) => ({ before: undefined, after }))),
        ...insertCredentials(storage, credentials),
        ...insertUserRoles(storage, roleRows),
        ...insertUserGroups(storage, groups, clock.now()),
        ...statements,
      ],
      [
        ...results.filter(({ action }) => action !== 'SKIPPED').map(eventOf),
        ...reset.map((id) => userEvent(context, 'RESET_PASSWORD', id, 'imported')),
        ...equipped.map((id) => userEvent(context, 'UPDATE_CREDENTIAL', id, 'otp')),
      ],
    )
    addressNotice.wake()
  }

  return {
    operationId: 'import-users',
    method: 'POST',
    events: ['ADMIN_CREATE', 'ADMIN_UPDATE', 'RESET_PASSWORD', 'UPDATE_CREDENTIAL'],
    path: '/users/import',
    permission: 'manage-users',
    resourceType: 'users',
    summary: 'Imports many users at once, all or none',
    streams: importTypes,
    bodyLimit,
    query: importQuery,
    body: importBody,
    reply: {
      status: 200,
      schema: bodyOf({
        added: { type: 'integer' },
        skipped: { type: 'integer' },
        overwritten: { type: 'integer' },
        results: {
          type: 'array',
          items: bodyOf(
            {
              action: { type: 'string', enum: [...importActions] },
              resourceType: { type: 'string', enum: ['USER'] },
              resourceName: { type: 'string' },
              id: { type: 'string', format: 'uuid' },
            },
            ['action', 'resourceType', 'resourceName'],
          ),
        },
        missing: {
          type: 'array',
          description: 'Roles and groups that users name and the realm does not have.',
          items: bodyOf({
            kind: { type: 'string' },
            key: { type: 'string' },
            users: { type: 'integer' },
          }),
        },
      }),
    },
    handle: async (context) => {
      const read = await readImport(context)
      const given = { ...read, users: await withHashes(read, passwords) }
      const decided = await decide(context, given)
      const defaults = await defaultRoleIn(context.view)
      if (decided.credentials.length > 0) await refuseWaysIn(context, defaults)
      if (!given.dryRun) await commit(context, decided, defaults)
      const { results, missing } = decided
      const count = (action: ImportedUserResult['action']): number =>
        results.filter((result) => result.action === action).length
      return {
        added: count('ADDED'),
        skipped: count('SKIPPED'),
        overwritten: count('OVERWRITTEN'),
        results,
        missing,
      }
    },
  }
}
