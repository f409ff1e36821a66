/** What to run in place of a command that does not exist. */

import type { Command } from 'commander'
import { own } from '#schemas/own.ts'
import { nearest } from '#schemas/text/typos.ts'
import { findKind, isKindName, kindWord } from '../client/kind-names.ts'

const lists = '`iamctl get KIND` lists documents, `iamctl get` lists the kinds'
const realms =
  '`iamctl get realms` lists realms, `iamctl export --realm NAME` shows one; a file of the estate creates one (`iamctl init`)'
const documents = '`iamctl get KIND KEY` shows a document, `iamctl explain KIND.field` a field'
const deletion =
  'remove the document from its file and run `iamctl apply`; `iamctl delete KIND KEY` deletes a document that no file declares'
const files = 'declare it in a realm file and run `iamctl apply`'
const servers = '`iamctl server` starts a server, `iamctl dev` a local one that applies every save'
const checks = '`iamctl validate` checks the files, `iamctl doctor` the server'
const contexts = '`iamctl context` manages named servers and realms'
const backups = '`iamctl server backup FILE` and `iamctl server restore FILE`'

/** Words that people know from kubectl, terraform, git and kcadm. */
const habits: Readonly<Record<string, string>> = {
  ls: lists,
  list: lists,
  'api-resources': lists,
  realms,
  realm: realms,
  show: documents,
  describe: documents,
  view: documents,
  cat: documents,
  diff: '`iamctl plan` compares the files with the realm, `iamctl drift` finds changes made outside the files, `iamctl history diff` compares revisions',
  destroy: deletion,
  remove: deletion,
  rm: deletion,
  create: files,
  add: files,
  new: files,
  edit: files,
  update: files,
  patch: files,
  replace: files,
  set: files,
  state:
    'there is no state file: the server has the state. `iamctl get` and `iamctl export` show it, `iamctl history` shows its revisions',
  output: '`iamctl get KIND KEY -o json` prints a document as JSON',
  refresh: '`iamctl drift` finds changes made outside the files',
  log: '`iamctl events` shows audit events, `iamctl history` revisions; the server writes its log to standard output',
  logs: '`iamctl events` shows audit events; the server writes its log to standard output',
  config: `${contexts}; \`iamctl server check-config\` checks the settings of a server`,
  workspace: contexts,
  use: contexts,
  auth: '`iamctl login` signs in, `iamctl whoami` shows the permissions',
  signin: '`iamctl login` signs in',
  signout: '`iamctl logout` signs out',
  status: '`iamctl doctor` checks the server, `iamctl drift` the realms',
  start: servers,
  serve: servers,
  run: servers,
  up: servers,
  stop: 'send SIGTERM to the server: it answers the requests in progress and ends',
  backup: backups,
  restore: backups,
  migrate: '`iamctl server migrate` migrates the database schema',
  check: checks,
  lint: checks,
  test: checks,
  format: '`iamctl fmt` formats the files',
  undo: '`iamctl rollback` returns to an earlier revision',
  revert: '`iamctl rollback` returns to an earlier revision',
  rollout: '`iamctl apply` applies the files, `iamctl rollback` returns to an earlier revision',
}

/** Verbs of other tools below a noun, and those that the noun may have for them. */
const verbs: Readonly<Record<string, readonly string[]>> = {
  ls: ['list'],
  list: ['list'],
  get: ['show', 'list'],
  show: ['show', 'list'],
  describe: ['show', 'list'],
  add: ['create', 'set'],
  new: ['create', 'set'],
  create: ['create', 'set'],
  rm: ['delete', 'revoke'],
  remove: ['delete', 'revoke'],
  delete: ['delete', 'revoke'],
  edit: ['set'],
  update: ['set'],
}

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`

const shownNames = ({ commands }: Command): string[] =>
  commands.map((one) => one.name()).filter((name) => !name.startsWith('__'))

const meantIn = (parent: Command, word: string): string | undefined => {
  const meant = nearest(word, shownNames(parent))
  return meant === undefined ? undefined : `did you mean \`${pathOf(parent)} ${meant}\`?`
}

/** Commands of nouns that have this name: `rotate` is `keys rotate`. */
const belowNouns = (program: Command, word: string): string | undefined => {
  const found = program.commands.flatMap((noun) =>
    noun.commands.filter((one) => one.name() === word).map((one) => `\`${pathOf(one)}\``),
  )
  return found.length === 0 ? undefined : `did you mean ${found.join(' or ')}?`
}

const ofKind = (noun: string, wanted: readonly string[]): string | undefined => {
  if (!isKindName(noun)) return undefined
  const word = kindWord(findKind(noun))
  if (wanted.includes('list')) return `\`iamctl get ${word}\` lists ${word}`
  return wanted.includes('delete') ? deletion : files
}

const belowNoun = (noun: Command, word: string): string | undefined => {
  const wanted = own(verbs, word)
  const verb = wanted?.find((one) => shownNames(noun).includes(one))
  if (verb !== undefined) return `did you mean \`${pathOf(noun)} ${verb}\`?`
  return (wanted && ofKind(noun.name(), wanted)) ?? meantIn(noun, word)
}

const atTop = (program: Command, word: string): string | undefined =>
  own(habits, word) ??
  (isKindName(word) ? ofKind(word, ['list']) : undefined) ??
  belowNouns(program, word) ??
  meantIn(program, word)

/** The hint for an unknown word: the command that it stands below is the last one that the line names. */
export const hintFor = (
  program: Command,
  line: readonly string[],
  word: string,
): string | undefined => {
  let parent = program
  for (const one of line) {
    const next = parent.commands.find((command) => command.name() === one)
    if (one === word && !next) break
    parent = next ?? parent
  }
  return parent === program ? atTop(program, word) : belowNoun(parent, word)
}
