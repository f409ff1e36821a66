/** The names of declared users: whether another user has one, and whether its user was erased. */

import { Problem } from '#schemas/problems.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { ownersOfNames } from '#server/users/user-rows.ts'
import type { Draft } from '../write/drafts.ts'
import type { PrepareTools } from './behaviour.ts'

/** One document with the rows of its user; `after` is undefined where the user goes. */
export interface Change {
  readonly draft: Draft
  readonly before: UserRow | undefined
  readonly after: UserRow | undefined
}

export const taken = (fields: readonly string[], detail: string): Problem =>
  new Problem('conflict', detail, {
    errors: fields.map((field) => ({ field, code: 'duplicate', message: 'is taken' })),
  })

/** An erased user is not created again because a file still declares the user. */
export const wasErased = (key: string, at: number, realm: string): Problem => {
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
export const takenNames = async (
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
