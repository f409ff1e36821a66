/** Completion candidates at the cursor: from the commands, from the registry of kinds, and from `sources`. */

import { Argument, type Command, Option } from 'commander'
import { own } from '#schemas/own.ts'
import { kinds } from '#schemas/registry.ts'
import { kindWord } from '../client/kind-names.ts'
import { explain, kindList } from '../explain/explain.ts'
import { type Situation, situationOf } from './situation.ts'

export interface Candidate {
  readonly value: string
  readonly doc?: string
}

export interface Completion {
  readonly candidates: readonly Candidate[]
  /** What the shell offers itself. */
  readonly rest: 'none' | 'files' | 'folders'
  /** False where the word goes on behind the candidate. */
  readonly isWhole: boolean
}

/** Candidates from this machine and the server; a source that fails returns none. */
export interface Sources {
  realms(situation: Situation): Promise<readonly string[]>
  contexts(): Promise<readonly string[]>
  servers(): Promise<readonly string[]>
  users(situation: Situation): Promise<readonly string[]>
  /** Keys of documents of a kind, whatever a person calls it; of children, those that fit what is written. */
  keys(kind: string, situation: Situation): Promise<readonly string[]>
}

type Source = (situation: Situation, sources: Sources) => Promise<Completion>

const plain = (candidates: readonly Candidate[], isWhole = true): Completion => ({
  candidates,
  rest: 'none',
  isWhole,
})

const values = (list: readonly string[]): Completion => plain(list.map((value) => ({ value })))

const shell =
  (rest: 'files' | 'folders'): Source =>
  async () => ({ candidates: [], rest, isWhole: true })

const kindCandidates = (): Candidate[] =>
  kinds.map((kind) => ({ value: kindWord(kind), doc: kind.doc }))

/** `get` also lists what is no document. */
const realmsWord: Candidate = { value: 'realms', doc: 'Realms of the server.' }

/** `client.redirectUris`: kinds with a point behind them, then fields. */
const fieldNames: Source = async ({ partial }) => {
  const cut = partial.lastIndexOf('.')
  if (cut === -1) {
    const named = [...kindList().map(({ kind, doc }) => ({ value: kind, doc })), ...wholes]
    return plain(named, false)
  }
  const owner = partial.slice(0, cut)
  const { fields } = explain(owner)
  return plain(fields.map(({ name, doc }) => ({ value: `${owner}.${name}`, doc })))
}

const wholes: readonly Candidate[] = [
  { value: 'realm', doc: 'a realm file' },
  { value: 'estate', doc: 'iamctl.yaml' },
]

/** `client/web`: kinds with a slash behind them, then keys. */
const documentNames: Source = async (situation, sources) => {
  const { partial } = situation
  const cut = partial.indexOf('/')
  if (cut === -1)
    return plain(
      kindList().map(({ kind, doc }) => ({ value: `${kind}/`, doc })),
      false,
    )
  const kind = partial.slice(0, cut)
  const keys = await sources.keys(kind, { ...situation, partial: partial.slice(cut + 1) })
  return values(keys.map((key) => `${kind}/${key}`))
}

const byFlag: Readonly<Record<string, Source>> = {
  '--realm': async (situation, { realms }) => values(await realms(situation)),
  '--auth-realm': async (situation, { realms }) => values(await realms(situation)),
  '--context': async (_, { contexts }) => values(await contexts()),
  '--server': async (_, { servers }) => values(await servers()),
}

/** Of the arguments whose name alone says too little. */
const byArgument: Readonly<Record<string, Source>> = {
  'context name': async (_, { contexts }) => values(await contexts()),
  'schema name': async () => plain([...wholes, ...kindCandidates()]),
}

/** By what the help calls a value: `--out <file>`, `[kind]`. */
const byName: Readonly<Record<string, Source>> = {
  kind: async ({ command }) =>
    plain([...(command.name() === 'get' ? [realmsWord] : []), ...kindCandidates()]),
  key: async (situation, { keys }) => values(await keys(situation.operands[0] ?? '', situation)),
  'kind/key': documentNames,
  'kind.field': fieldNames,
  user: async (situation, { users }) => values(await users(situation)),
  file: shell('files'),
  path: shell('files'),
  paths: shell('files'),
  folder: shell('folders'),
}

/** What is called after a kind is the key of one. */
const keyOfKind = (name: string): Source | undefined =>
  kinds.some(({ kind }) => kind === name)
    ? async (situation, { keys }) => values(await keys(name, situation))
    : undefined

const byValue = (name: string): Source | undefined => own(byName, name) ?? keyOfKind(name)

const valueName = ({ flags }: Option): string => /[<[](.+?)(?:\.\.\.)?[>\]]/.exec(flags)?.[1] ?? ''

const sourceOf = ({ command, wanted }: Situation): Source | undefined => {
  if (wanted instanceof Option) return byFlag[wanted.long ?? ''] ?? byValue(valueName(wanted))
  if (!(wanted instanceof Argument)) return undefined
  const owner = command.parent?.parent ? command.parent : command
  return byArgument[`${owner.name()} ${wanted.name()}`] ?? byValue(wanted.name())
}

const commandsBelow = (command: Command): Candidate[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((one) => ({ value: one.name(), doc: one.description() }))

/** A command that does something by itself takes the flags of what it does. */
const defaultOf = (command: Command): Command | undefined => {
  const name: unknown = Reflect.get(command, '_defaultCommandName')
  return command.commands.find((one) => one.name() === name)
}

/** Aliases have no description. */
const flagsOf = (command: Command): Candidate[] =>
  [...command.options, ...(defaultOf(command)?.options ?? [])].flatMap(({ long, description }) =>
    long && description !== '' ? [{ value: long, doc: description }] : [],
  )

const offer = async (situation: Situation, sources: Sources): Promise<Completion> => {
  const { command, wanted } = situation
  if (wanted === null) return plain([])
  if (wanted === 'command') return plain(commandsBelow(command))
  if (wanted === 'flag') return plain([...flagsOf(command), { value: '--help', doc: 'explain it' }])
  if (wanted.argChoices) return values(wanted.argChoices)
  return (await sourceOf(situation)?.(situation, sources)) ?? plain([])
}

export const complete = async (
  program: Command,
  words: readonly string[],
  sources: Sources,
): Promise<Completion> => {
  const situation = situationOf(program, words)
  const { candidates, rest, isWhole } = await offer(situation, sources)
  const { partial, before } = situation
  const fitting = candidates.filter(({ value }) => value.startsWith(partial))
  return {
    candidates: fitting.map((one) => ({ ...one, value: `${before}${one.value}` })),
    rest,
    // A key of what is below another document goes on behind the slash.
    isWhole: isWhole && !fitting.some(({ value }) => value.endsWith('/')),
  }
}
