/** Shows documents as the server has them. */

import type { Kind } from '#schemas/kind.ts'
import { kinds } from '#schemas/registry.ts'
import type { Connection } from '../../client/connect.ts'
import { findKind, kindWord } from '../../client/kind-names.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { type Row, showDocument, showDocuments } from '../../views/human/documents.ts'
import { note } from '../../views/human/elements/note.ts'
import { printTable } from '../../views/human/elements/table.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'
import { withRealm } from './connection.ts'

const print = async ({ output }: Invocation, value: unknown, human: () => unknown) => {
  if (output === 'json') printJson(value)
  else if (output === 'yaml') (await import('../../views/yaml/value.ts')).printYaml(value)
  else await human()
}

const showKinds = (invocation: Invocation): Promise<void> => {
  const rows = kinds.map((kind) => ({ kind: kindWord(kind), doc: kind.doc }))
  return print(invocation, rows, () =>
    printTable(
      ['kind', 'what it is'],
      rows.map(({ kind, doc }) => [kind, doc]),
    ),
  )
}

const usersOf = async (
  { flags, ...invocation }: Invocation,
  { api }: Connection,
  realm: string,
): Promise<Row[]> => {
  const { search, limit = 100 } = flags as { search?: string; limit?: number }
  const { users, total } = await api.users.search(realm, {
    limit,
    ...(search === undefined ? {} : { text: search }),
  })
  if (users.length < total)
    note(invocation, `the first ${users.length} of ${total}: see --limit and --search`)
  return users.map((doc) => ({ key: doc.username, doc }))
}

/** Options that only make sense where there may be millions. */
const refuseUserOptions = ({ flags }: Invocation, kind: Kind): void => {
  for (const name of ['search', 'limit'])
    if (flags[name] !== undefined)
      throw new CommandError(
        exitCodes.error,
        `--${name} works for users only, not for ${kindWord(kind)}`,
        {
          hint: `leave it out and filter with -o json | jq`,
        },
      )
}

export const get = async (
  invocation: Invocation,
  word: string | undefined,
  key: string | undefined,
): Promise<void> => {
  if (word === undefined) return showKinds(invocation)
  const kind = findKind(word)
  // Of the one kind whose routes are written by hand there may be millions.
  const paged = kind.path === null
  if (!paged) refuseUserOptions(invocation, kind)
  return withRealm(invocation, async (connection, realm) => {
    const { api } = connection
    if (key !== undefined || kind.shape === 'singleton') {
      const doc = await api.documents.get(realm, kind, key ?? kind.kind)
      return print(invocation, doc, () => showDocument(doc))
    }
    const rows = paged
      ? await usersOf(invocation, connection, realm)
      : await api.documents.list(realm, kind)
    const docs = rows.map(({ doc }) => doc)
    return print(invocation, docs, () =>
      rows.length === 0
        ? note(invocation, `realm ${realm} has no ${kindWord(kind)}`)
        : showDocuments(kind, rows),
    )
  })
}
