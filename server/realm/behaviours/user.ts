/**
 * Managed users. The document is authoritative for the declared fields; the row in the users table, which every user has,
 * and the memberships are made equal to it in the same transaction.
 */

import { mostManagedUsers, tooManyUsers, User, type UserDoc } from '#schemas/kinds/users/user.ts'
import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import { insertCredentials } from '#server/credentials/credentials.ts'
import type { Passwords } from '#server/credentials/passwords/passwords.ts'
import { endSessionsOf } from '#server/sessions/endings.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { countOfKind } from '#server/storage/documents/reads.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'
import { endGrantsOfUsers } from '#server/tokens/grants/grant-endings.ts'
import { assignDefaultRole, followReferences } from '#server/users/memberships.ts'
import type { AddressNotice } from '#server/users/messages/address-notice.ts'
import type { Ranks } from '#server/users/permissions.ts'
import type { ErasedPeople } from '#server/users/privacy/erased-people.ts'
import { changedUserRow, newUserRow } from '#server/users/user-record.ts'
import { deleteUsers, releaseUsers } from '#server/users/user-rows.ts'
import type { Users } from '#server/users/users.ts'
import { type Draft, draftValue } from '../write/drafts.ts'
import type { Behaviour, Prepared, PrepareTools } from './behaviour.ts'
import { type Change, taken, takenNames, wasErased } from './user-names.ts'
import {
  beyondCaller,
  declaredKeys,
  leavesOthers,
  outrankingAmong,
  ownedBySenders,
  usersOf,
} from './user-reads.ts'

/** Passwords that are hashed at the same time; the hasher has other work too. */
const hashing = 2

export interface UserBehaviourParts {
  readonly users: Users
  readonly passwords: Passwords
  readonly ranks: Ranks
  readonly erasedPeople: Pick<ErasedPeople, 'find'>
  readonly copy: Copy
  readonly addressNotice: Pick<AddressNotice, 'statements'>
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

/** A user that does not exist yet. */
interface Created {
  readonly draft: Draft
  readonly after: UserRow
}

type RowOf = (draft: Draft) => UserRow | undefined

/** What is wrong with the password of a document, if it has one; else its row and statements. */
interface PasswordOutcome {
  readonly errors: readonly FieldError[]
  readonly row?: CredentialRow
  readonly statements?: readonly Statement[]
}

type GivenPassword = Change & PasswordOutcome

/** Existing users that no file declared before, by id. */
const adoptedIn = (drafts: readonly Draft[], rowOf: RowOf): ReadonlyMap<string, Draft> =>
  new Map(
    drafts.flatMap((draft) => {
      const id = draft.before ? undefined : rowOf(draft)?.id
      return id === undefined ? [] : [[id, draft]]
    }),
  )

const endSessions = (tools: PrepareTools, ids: readonly string[]): Statement[] =>
  inSlices(ids).flatMap((part) => [
    ...endSessionsOf(tools.db, part, tools.now),
    endGrantsOfUsers(tools, part),
  ])

const refuseTooMany = async (
  drafts: readonly Draft[],
  { db, realm }: PrepareTools,
): Promise<void> => {
  const made = drafts.filter(({ before, body }) => !before && body).length
  if (made > 0 && (await countOfKind(db, realm, 'user')) + made > mostManagedUsers)
    throw invalid([{ field: `/${User.section}`, code: 'realm-users', message: tooManyUsers }])
}

export const user = (parts: UserBehaviourParts): Behaviour => {
  const { users, passwords } = parts

  const changeOf = (draft: Draft, before: UserRow | undefined, tools: PrepareTools): Change => {
    if (draft.body === null) return { draft, before, after: undefined }
    const fields = fieldsOf(draftValue<UserDoc>(draft))
    const { realm, now } = tools
    const after = before
      ? changedUserRow(before, { ...fields, managed: true }, now)
      : newUserRow(fields, { id: draft.id, realm, managed: true, now })
    return { draft, before, after }
  }

  const passwordOf = async (
    { draft, before, after }: Change,
    { drafts, dryRun }: PrepareTools,
  ): Promise<PasswordOutcome> => {
    const hash = draft.secrets['/passwordHash']
    // A user that existed before a file declared it has a password, or chose to have none.
    const initial = draft.before || before ? undefined : draft.secrets['/initialPassword']
    if (!after || (hash === undefined && initial === undefined)) return { errors: [] }
    const settings = drafts.settings()
    if (hash !== undefined)
      return before ? passwords.acceptHash(settings, after, hash) : passwords.firstOf(after, hash)
    const field = '/initialPassword'
    return dryRun
      ? { errors: await passwords.check(settings, after, initial ?? '', field) }
      : passwords.prepare(settings, after, initial ?? '', field)
  }

  const passwordsOf = async (
    changes: readonly Change[],
    tools: PrepareTools,
  ): Promise<GivenPassword[]> => {
    const given: GivenPassword[] = []
    for (const part of inSlices(changes, hashing))
      given.push(
        ...(await Promise.all(
          part.map(async (change) => ({ ...change, ...(await passwordOf(change, tools)) })),
        )),
      )
    return given
  }

  const refuseForeign = async (
    drafts: readonly Draft[],
    rowOf: RowOf,
    tools: PrepareTools,
    view: RealmView | undefined,
  ): Promise<void> => {
    // A user whose roles follow a renamed or deleted role is not changed by the caller.
    const named = drafts.flatMap((draft) => (draft.named ? (rowOf(draft)?.id ?? []) : []))
    const outranking = await outrankingAmong(named, tools, { ranks: parts.ranks, view })
    for (const held of outranking.values())
      throw new Problem('forbidden', `the user holds ${held}, which you do not`)
    const leaving = await leavesOthers(adoptedIn(drafts, rowOf), tools)
    if (leaving)
      throw new Problem(
        'forbidden',
        `user "${leaving.key}" is in groups or organizations that the document does not name: removing members also needs the permission manage-organizations`,
      )
  }

  /** The rows of each document; a document that another one declares, or that is no user, is refused. */
  const changesOf = async (
    drafts: readonly Draft[],
    rowOf: RowOf,
    tools: PrepareTools,
    refused: Map<Draft, Problem>,
  ): Promise<Change[]> => {
    const declared = await declaredKeys([...adoptedIn(drafts, rowOf).keys()], tools)
    return drafts.flatMap((draft) => {
      const before = rowOf(draft)
      const other = draft.before || !before ? undefined : declared.get(before.id)
      try {
        if (other !== undefined && other !== draft.key)
          throw taken(['/username'], `user "${draft.key}" is declared as "${other}" already`)
        return [changeOf(draft, before, tools)]
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        refused.set(draft, error)
        return []
      }
    })
  }

  const refuseErased = async (
    created: readonly Created[],
    { realm }: PrepareTools,
    refused: Map<Draft, Problem>,
  ): Promise<void> => {
    const rows = created.map(({ after }) => after)
    const erasures = await parts.erasedPeople.find(realm, rows)
    for (const [i, at] of erasures.entries()) {
      const draft = created[i]?.draft
      if (draft && at !== undefined) refused.set(draft, wasErased(draft.key, at, realm))
    }
  }

  const refusePasswords = async (
    given: readonly GivenPassword[],
    tools: PrepareTools,
    view: RealmView | undefined,
    refused: Map<Draft, Problem>,
  ): Promise<void> => {
    for (const { draft, errors } of given)
      if (errors.length > 0) refused.set(draft, invalid(errors))
    const { defaultRole } = tools.drafts.settings()
    const beyond = await beyondCaller(defaultRole, tools, { ranks: parts.ranks, view })
    if (!beyond) return
    // A password for a user with a role gives access to the permissions of the role.
    for (const { draft, before, row } of given)
      if (row && !before)
        refused.set(
          draft,
          new Problem('forbidden', `the default role grants ${beyond}, which you do not hold`),
        )
  }

  const statementsOf = async (
    changes: readonly Change[],
    created: readonly Created[],
    given: readonly GivenPassword[],
    tools: PrepareTools,
    view: RealmView | undefined,
  ): Promise<Statement[]> => {
    const { realm, now } = tools
    const left = changes.flatMap(({ draft, before, after }) =>
      before && !after ? [{ id: before.id, isReleased: draft.release === true }] : [],
    )
    const gone = left.flatMap(({ id, isReleased }) => (isReleased ? [] : [id]))
    const released = left.flatMap(({ id, isReleased }) => (isReleased ? [id] : []))
    const saved = changes.flatMap(({ before, after }) => (after ? [{ before, after }] : []))
    const kept = saved.flatMap(({ before, after }) => (before ? [{ before, after }] : []))
    const shutOut = kept.flatMap(({ before, after }) =>
      before.enabled === 1 && after.enabled === 0 ? [after.id] : [],
    )
    const idsOf = (rows: readonly Pick<Created, 'after'>[]) => rows.map(({ after }) => after.id)
    const role = tools.drafts.settings().defaultRole
    return [
      ...endSessions(tools, gone),
      ...deleteUsers(tools, gone, now),
      ...releaseUsers(tools, released, now),
      ...users.saveStatements(saved),
      ...followReferences(tools, idsOf(saved), now),
      ...assignDefaultRole(tools, idsOf(created), { realm, role }),
      ...insertCredentials(
        tools,
        given.flatMap(({ row }) => row ?? []),
      ),
      ...given.flatMap(({ statements }) => statements ?? []),
      ...endSessions(tools, shutOut),
      ...(view ? await parts.addressNotice.statements(view, kept) : []),
    ]
  }

  return {
    prepare: async (drafts, tools) => {
      await refuseTooMany(drafts, tools)
      const rowOf = await usersOf(drafts, tools)
      const view = await parts.copy.known(tools.realm)
      await refuseForeign(drafts, rowOf, tools, view)

      const refused = new Map(await ownedBySenders(adoptedIn(drafts, rowOf), tools))
      const changes = await changesOf(drafts, rowOf, tools, refused)
      for (const [draft, problem] of await takenNames(changes, tools)) refused.set(draft, problem)
      const created = changes.flatMap(({ draft, before, after }) =>
        after && !before ? [{ draft, after }] : [],
      )
      await refuseErased(created, tools, refused)
      const given = await passwordsOf(changes, tools)
      await refusePasswords(given, tools, view, refused)

      const prepared: Prepared[] = drafts.map((draft) => {
        const problem = refused.get(draft)
        const id = rowOf(draft)?.id
        return { ...(id === undefined ? {} : { id }), ...(problem ? { refused: problem } : {}) }
      })
      return { prepared, statements: await statementsOf(changes, created, given, tools, view) }
    },
  }
}
