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
import type { Copy } from '#server/storage/documents/copy.ts'
import { countOfKind } from '#server/storage/documents/reads.ts'
import { inSlices } from '#server/storage/statements.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'
import { endGrantsOfUsers } from '#server/tokens/grants/grant-endings.ts'
import { assignDefaultRole, followReferences } from '#server/users/memberships.ts'
import type { AddressNotice } from '#server/users/messages/address-notice.ts'
import type { Ranks } from '#server/users/permissions.ts'
import type { ErasedPeople } from '#server/users/privacy/erased-people.ts'
import { changedUserRow, newUserRow } from '#server/users/user-record.ts'
import { deleteUsers, ownersOfNames, releaseUsers } from '#server/users/user-rows.ts'
import type { Users } from '#server/users/users.ts'
import { type Draft, draftValue } from '../write/drafts.ts'
import type { Behaviour, Prepared, PrepareTools } from './behaviour.ts'
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

/** One document with the rows of its user; `after` is undefined where the user goes. */
interface Change {
  readonly draft: Draft
  readonly before: UserRow | undefined
  readonly after: UserRow | undefined
}

const taken = (fields: readonly string[], detail: string): Problem =>
  new Problem('conflict', detail, {
    errors: fields.map((field) => ({ field, code: 'duplicate', message: 'is taken' })),
  })

/** An erased user is not created again because a file still declares the user. */
const wasErased = (key: string, at: number, realm: string): Problem => {
  const day = new Date(at).toISOString().slice(0, 10)
  const message =
    `user "${key}" was erased on ${day} (GDPR): remove the document; to declare the person again deliberately, ` +
    `first create the user with POST /admin/realms/${realm}/users`
  return new Problem('conflict', message, {
    errors: [{ field: '/username', code: 'erased', message }],
  })
}

const namesIn = ({ username_key, email_key }: UserRow): { field: string; name: string }[] => [
  { field: '/username', name: username_key },
  ...(email_key === null ? [] : [{ field: '/email', name: email_key }]),
]

/** Reports documents whose names are taken by other users, or given twice in the list. */
const takenNames = async (
  changes: readonly Change[],
  tools: PrepareTools,
): Promise<ReadonlyMap<Draft, Problem>> => {
  const wanted = changes.flatMap(({ after }) => (after ? namesIn(after) : []))
  const owners = await ownersOfNames(tools, tools.realm, [
    ...new Set(wanted.map(({ name }) => name)),
  ])
  // A user who is no longer declared keeps the names.
  const rewritten = new Set(
    changes.flatMap(({ draft, before }) => (before && !draft.release ? [before.id] : [])),
  )
  const claimed = new Map<string, string>()
  for (const { after } of changes)
    for (const { name } of after ? namesIn(after) : [])
      if (owners.get(name) === after?.id) claimed.set(name, after?.id ?? '')
  const refused = new Map<Draft, Problem>()
  for (const { draft, after } of changes) {
    if (!after) continue
    const fields = namesIn(after).flatMap(({ field, name }) => {
      const owner = owners.get(name) ?? after.id
      const first = claimed.get(name) ?? after.id
      claimed.set(name, first)
      const kept = owner !== after.id && !rewritten.has(owner)
      return kept || first !== after.id ? [field] : []
    })
    if (fields.length > 0)
      refused.set(draft, taken(fields, `another user has a name of user "${draft.key}" already`))
  }
  return refused
}

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

  /** What is wrong with the password that comes along, if one does; else its rows and statements. */
  const passwordOf = async (
    { draft, before, after }: Change,
    { drafts, dryRun }: PrepareTools,
  ): Promise<{
    readonly errors: readonly FieldError[]
    readonly row?: CredentialRow
    readonly statements?: readonly Statement[]
  }> => {
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

  const passwordsOf = async (changes: readonly Change[], tools: PrepareTools) => {
    const found: Awaited<ReturnType<typeof passwordOf>>[] = []
    for (const part of inSlices(changes, hashing))
      found.push(...(await Promise.all(part.map((change) => passwordOf(change, tools)))))
    return found
  }

  return {
    prepare: async (drafts, tools) => {
      await refuseTooMany(drafts, tools)
      const rowOf = await usersOf(drafts, tools)
      const view = await parts.copy.known(tools.realm)
      // A user whose roles follow a renamed or deleted role is not changed by the caller.
      const outranking = await outrankingAmong(
        drafts.flatMap((draft) => (draft.named ? (rowOf(draft)?.id ?? []) : [])),
        tools,
        { ranks: parts.ranks, view },
      )
      for (const held of outranking.values())
        throw new Problem('forbidden', `the user holds ${held}, which you do not`)

      const adopted = new Map(
        drafts.flatMap((draft) => {
          const id = draft.before ? undefined : rowOf(draft)?.id
          return id === undefined ? [] : [[id, draft]]
        }),
      )
      const declared = await declaredKeys([...adopted.keys()], tools)
      const leaving = await leavesOthers(adopted, tools)
      if (leaving)
        throw new Problem(
          'forbidden',
          `user "${leaving.key}" is in groups or organizations that the document does not name: removing members also needs the permission manage-organizations`,
        )
      const refused = new Map(await ownedBySenders(adopted, tools))
      const changes: Change[] = []
      for (const draft of drafts) {
        const before = rowOf(draft)
        const other = draft.before || !before ? undefined : declared.get(before.id)
        if (other !== undefined && other !== draft.key)
          refused.set(
            draft,
            taken(['/username'], `user "${draft.key}" is declared as "${other}" already`),
          )
        else
          try {
            changes.push(changeOf(draft, before, tools))
          } catch (error) {
            if (!(error instanceof Problem)) throw error
            refused.set(draft, error)
          }
      }
      for (const [draft, problem] of await takenNames(changes, tools)) refused.set(draft, problem)
      const created = changes.flatMap(({ draft, before, after }) =>
        after && !before ? [{ draft, after }] : [],
      )
      const erasures = await parts.erasedPeople.find(
        tools.realm,
        created.map(({ after }) => after),
      )
      for (const [i, at] of erasures.entries()) {
        const draft = created[i]?.draft
        if (draft && at !== undefined) refused.set(draft, wasErased(draft.key, at, tools.realm))
      }
      const given = await passwordsOf(changes, tools)
      for (const [i, { errors }] of given.entries()) {
        const draft = changes[i]?.draft
        if (draft && errors.length > 0) refused.set(draft, invalid(errors))
      }

      const defaultRole = tools.drafts.settings().defaultRole
      const made = created.map(({ after }) => after.id)
      const beyond = await beyondCaller(defaultRole, tools, { ranks: parts.ranks, view })
      for (const [i, { row }] of given.entries()) {
        const change = changes[i]
        // A password for a user with a role gives access to the permissions of the role.
        if (beyond && change && row && !change.before)
          refused.set(
            change.draft,
            new Problem('forbidden', `the default role grants ${beyond}, which you do not hold`),
          )
      }

      const [released, gone] = [true, false].map((wanted) =>
        changes.flatMap(({ draft, before, after }) =>
          before && !after && (draft.release === true) === wanted ? [before.id] : [],
        ),
      ) as [string[], string[]]
      const saved = changes.flatMap(({ before, after }) => (after ? [{ before, after }] : []))
      const shutOut = saved.flatMap(({ before, after }) =>
        before?.enabled === 1 && after.enabled === 0 ? [after.id] : [],
      )
      const notices = view
        ? await parts.addressNotice.statements(
            view,
            saved.flatMap(({ before, after }) => (before ? [{ before, after }] : [])),
          )
        : []
      const prepared: Prepared[] = drafts.map((draft) => {
        const problem = refused.get(draft)
        const id = rowOf(draft)?.id
        return { ...(id === undefined ? {} : { id }), ...(problem ? { refused: problem } : {}) }
      })
      return {
        prepared,
        statements: [
          ...endSessions(tools, gone),
          ...deleteUsers(tools, gone, tools.now),
          ...releaseUsers(tools, released, tools.now),
          ...users.saveStatements(saved),
          ...followReferences(
            tools,
            saved.map(({ after }) => after.id),
            tools.now,
          ),
          ...assignDefaultRole(tools, made, { realm: tools.realm, role: defaultRole }),
          ...insertCredentials(
            tools,
            given.flatMap(({ row }) => row ?? []),
          ),
          ...given.flatMap(({ statements }) => statements ?? []),
          ...endSessions(tools, shutOut),
          ...notices,
        ],
      }
    },
  }
}
