/** Flags that several commands share, each group defined once; what a command does not take, it refuses. */

import { type Command, InvalidArgumentError } from 'commander'
import { fittingRevision } from '../../schemas/wire/revision-text.ts'
import {
  choice,
  type Flags,
  list,
  optionOf,
  parsed,
  text,
  toggle,
  untoggle,
  type Values,
} from './flags.ts'
import type { Operand } from './operand.ts'

const ofServer = { group: 'Server:' } as const
const ofFiles = { group: 'Files:' } as const
const ofOutput = { group: 'Output:' } as const

const seconds = (given: string): number => {
  const value = Number(given)
  if (!Number.isInteger(value) || value < 1 || value > 86_400)
    throw new InvalidArgumentError('It is a whole number of seconds.')
  return value
}

const config = (group: { readonly group: string }) =>
  text('<file>', 'file to use instead of the nearest iamctl.yaml', {
    ...group,
    variable: 'IAMCTL_CONFIG',
  })

/** Server and identity. */
export const serverFlags = {
  server: text('<url>', 'address of the server', {
    fallback: 'http://127.0.0.1:8080',
    ...ofServer,
    variable: 'IAMCTL_SERVER',
  }),
  authRealm: text('<name>', 'realm to sign in to', {
    fallback: 'master',
    ...ofServer,
    variable: 'IAMCTL_AUTH_REALM',
  }),
  username: text('<name>', 'user to sign in as; a password is never a flag', {
    ...ofServer,
    variable: 'IAMCTL_USERNAME',
  }),
  passwordFile: text('<file>', 'file with the password', {
    ...ofServer,
    fallback: 'IAMCTL_PASSWORD, else a prompt',
  }),
  context: text('<name>', 'context of iamctl.yaml or of `iamctl context`', {
    ...ofServer,
    variable: 'IAMCTL_CONTEXT',
  }),
  config: config(ofServer),
  timeout: parsed('<seconds>', 'time to wait for a response', seconds, {
    fallback: '60',
    ...ofServer,
    variable: 'IAMCTL_TIMEOUT',
  }),
  insecureHttp: toggle('sign in over plain http to another machine', {
    ...ofServer,
    variable: 'IAMCTL_INSECURE_HTTP',
  }),
}

export type ServerValues = Values<typeof serverFlags>

/** The same, and the realm that the command is about. */
export const realmFlags = {
  realm: text('<name>', 'realm to work on', {
    ...ofServer,
    variable: 'IAMCTL_REALM',
  }),
  ...serverFlags,
}

/** Where realm files are and how they are read. */
export const fileFlags = {
  overlay: list(
    '<path>',
    'merged over the files by key (add: true, remove: true); may be repeated',
    ofFiles,
  ),
  var: list('<name=value>', `value of \${var:name}; may be repeated`, ofFiles),
  varFile: list('<file>', 'YAML file of variables; may be repeated', ofFiles),
  allowExec: toggle(`run the commands of \${exec:…} secrets`, ofFiles),
  source: text('<name>', 'name of the estate that owns the applied documents', {
    ...ofFiles,
    variable: 'IAMCTL_SOURCE',
  }),
  config: config(ofFiles),
}

/** The files themselves. */
export const pathsArgument: Operand<string[]> = {
  form: '[paths...]',
  help: 'files and folders (default: the paths of iamctl.yaml, else realms/)',
}

export type FileValues = Values<typeof fileFlags>

/** The estate file of a command that takes no server. */
export const configFlag = {
  config: text('<file>', 'file to use instead of ./iamctl.yaml', { variable: 'IAMCTL_CONFIG' }),
}

/** A whole number, for flags. */
export const count = (given: string): number => {
  const value = Number(given)
  if (!Number.isInteger(value) || value < 0)
    throw new InvalidArgumentError('It is a whole number, 0 or above.')
  return value
}

export const prune = choice(
  '<what>',
  'documents to destroy of those that left the files',
  ['owned', 'all', 'none'],
  { fallback: 'prune of iamctl.yaml, else owned' },
)

export const maxDeletions = parsed(
  '<number>',
  'maximum of documents to destroy in a realm',
  count,
  { fallback: 'guards.maxDeletions of iamctl.yaml, else 20' },
)

/** What plan and apply have in common. */
export const planFlags = {
  target: list('<kind/key>', 'only this document and its dependencies; may be repeated'),
  prune,
  takeOver: toggle('also change documents that another source owns'),
  maxDeletions,
}

/** What every command takes that asks before it changes something; `--yes` is the name that other programs have for it. */
export const approvalFlag = { autoApprove: toggle('do not ask', { alias: 'yes' }) }

/** A pipeline gives the message of a commit, which may be longer than the server takes. */
export const messageFlag = {
  message: parsed('<text>', 'message of the revision in the history', fittingRevision),
}

export type ApprovalValues = Values<typeof approvalFlag>

/** What every command takes that can be told to be quiet. */
export const outputFlags = {
  color: untoggle('no colours', { ...ofOutput, variable: 'NO_COLOR' }),
  quiet: toggle('print results and errors only', { ...ofOutput, variable: 'IAMCTL_QUIET' }),
  debug: toggle('print requests and stack traces, without secrets', {
    ...ofOutput,
    variable: 'IAMCTL_DEBUG',
  }),
}

/** The format of results, among those that a command has a view for. */
export const outputFlag = (formats: readonly string[]) => ({
  output: choice('<format>', 'output format', formats, {
    ...ofOutput,
    short: 'o',
    variable: 'IAMCTL_OUTPUT',
  }),
})

/** On the program itself: what may also stand before the name of a command. The commands' own help explains them. */
export const addGlobalOptions = (program: Command): Command => {
  const output = { output: text('<format>', 'as the command offers it', { short: 'o' }) }
  const all: Flags = { ...realmFlags, ...output, ...outputFlags }
  for (const [name, flag] of Object.entries(all)) program.addOption(optionOf(name, flag).hideHelp())
  return program
}

/** Refuses what stands before a command that does not take it. */
export const refuseStrays = (program: Command, command: Command): void => {
  for (const global of program.options) {
    if (program.getOptionValueSource(global.attributeName()) !== 'cli') continue
    const own = command.options.find(({ long }) => long === global.long)
    const value: unknown = program.getOptionValue(global.attributeName())
    if (own === undefined)
      program.error(`error: the command takes no ${global.long ?? global.flags}`)
    else if (own.argChoices && !own.argChoices.includes(String(value)))
      program.error(
        `error: option '${global.flags}' argument '${value}' is invalid. Allowed choices are ${own.argChoices.join(', ')}.`,
      )
  }
}
