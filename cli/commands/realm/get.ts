/** `iamctl get`: documents as the server has them. */

import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { type Call, command } from '../../invocation/command.ts'
import { flags, parsed, text } from '../../invocation/flags.ts'
import { limit } from '../../invocation/limit.ts'
import { argument } from '../../invocation/operand.ts'
import { type OnRealm, openConnection, openRealm } from '../../invocation/realm.ts'
import { realmFlags, type ServerValues } from '../../invocation/shared-flags.ts'
import { note } from '../../views/human/elements/note.ts'
import type { Found, Row } from '../../views/human/live/documents.ts'
import { printJson } from '../../views/json/json.ts'

interface UserFlags {
  readonly search: string | undefined
  readonly limit: number | undefined
}

const usersOf = async (call: Call<UserFlags>, { api, realm }: OnRealm): Promise<Row[]> => {
  const { search, limit: most = 100 } = call.flags
  const { users, total } = await api.users.search(realm, {
    limit: most,
    ...(search === undefined ? {} : { text: search }),
  })
  if (users.length < total)
    note(call, `the first ${users.length} of ${total}: see --limit and --search`)
  return users.map((user) => ({ key: user.username, doc: { ...user } }))
}

/** Options that only make sense where there may be millions. */
const refuseUserFlags = (given: UserFlags, word: string): void => {
  for (const name of ['search', 'limit'] as const)
    if (given[name] !== undefined)
      throw new CommandError(exitCodes.error, `--${name} works for users only, not for ${word}`, {
        hint: `leave it out and filter with -o json | jq`,
      })
}

/** Null where it names none. */
const kindOf = async (word: string | undefined, given: UserFlags): Promise<Kind | null> => {
  if (word === undefined) return null
  const { findKind, kindWord } = await import('../../client/kind-names.ts')
  const kind = findKind(word)
  if (!isPaged(kind)) refuseUserFlags(given, kindWord(kind))
  return kind
}

/** Users, the one kind without generated routes: a realm may have millions. */
const isPaged = (kind: Kind): boolean => kind.path === null

const isRealms = (word: string | undefined): boolean => word === 'realms' || word === 'realm'

/** Realms are no documents of a realm: administrators of `master` list them. */
const realmsOf = async (call: Call<UserFlags & ServerValues>, name?: string): Promise<Found> => {
  refuseUserFlags(call.flags, 'realms')
  const { api } = await openConnection(call)
  const realms = await api.realms()
  const named = realms.find(({ realm }) => realm === name)
  if (named !== undefined) return { doc: { ...named } }
  if (name === undefined) return { realms }
  throw new CommandError(exitCodes.error, `there is no realm "${name}"`, {
    hint: '`iamctl get realms` lists them',
  })
}

const allKinds = async (): Promise<Found> => {
  const { kindWord } = await import('../../client/kind-names.ts')
  const { kinds } = await import('#schemas/registry.ts')
  return { kinds: kinds.map((kind) => ({ kind: kindWord(kind), doc: kind.doc })) }
}

/** For programs. */
const plainValue = (found: Found): unknown => {
  if ('kinds' in found) return found.kinds
  if ('realms' in found) return found.realms
  return 'doc' in found ? found.doc : found.rows.map(({ doc }): Doc => doc)
}

export const get = command({
  name: 'get',
  description: 'show documents of a realm',
  help: `
Examples:
  iamctl get realms
  iamctl get clients --realm acme
  iamctl get client web --realm acme -o yaml
  iamctl get users --realm acme --search ali -o json
  iamctl get client-role web/reader --realm acme`,
  arguments: [
    argument('[kind]', 'such as clients, or realms; without it, the kinds there are'),
    argument('[key]', 'natural key or id: web, /Staff/Helpdesk, web/reader'),
  ],
  flags: flags(
    {
      search: text('<text>', 'users only: prefix of the username or email address'),
      limit: parsed('<number>', 'users only: number of results, or "all"', limit, {
        fallback: '100',
      }),
    },
    realmFlags,
  ),
  run: async (call, word, key): Promise<Found> => {
    if (isRealms(word)) return realmsOf(call, key)
    const kind = await kindOf(word, call.flags)
    if (kind === null) return allKinds()
    const place = await openRealm(call)
    const { api, realm } = place
    if (key !== undefined || kind.shape === 'singleton')
      return { doc: await api.documents.get(realm, kind, key ?? kind.kind) }
    const rows = isPaged(kind) ? await usersOf(call, place) : await api.documents.list(realm, kind)
    return { realm, kind, rows }
  },
  views: {
    human: async () => (await import('../../views/human/live/documents.ts')).showFound,
    json: () => (found) => printJson(plainValue(found)),
    yaml: async () => {
      const { printYaml } = await import('../../views/yaml/value.ts')
      return (found) => printYaml(plainValue(found))
    },
  },
})
