/** The commands as a value, from the parser itself: what their help says is what the manual says. */

import type { EventEmitter } from 'node:events'
import { type Command, Help, type Option } from 'commander'
import { commandGroups } from '../commands/index.ts'
import { createProgram } from '../program.ts'

export interface DescribedOption {
  readonly flags: string
  readonly doc: string
  readonly choices: readonly string[]
  /** The heading it stands under in the help. */
  readonly group: string
}

export interface DescribedCommand {
  /** `history show`. */
  readonly name: string
  readonly usage: string
  readonly doc: string
  readonly arguments: readonly { readonly name: string; readonly doc: string }[]
  readonly options: readonly DescribedOption[]
  /** What the help says behind the options, without its examples. */
  readonly text: string
  /** Lines as they are typed, with what they do. */
  readonly examples: readonly string[]
  readonly commands: readonly DescribedCommand[]
}

export interface DescribedGroup {
  readonly heading: string
  readonly commands: readonly DescribedCommand[]
}

/** The text that a command adds to its help; the parser keeps it as listeners of an event. */
const afterText = (command: Command): string => {
  let text = ''
  const emitter = command as unknown as EventEmitter
  emitter.emit('afterHelp', {
    error: false,
    command,
    write: (part: string) => {
      text += part
    },
  })
  return text.trim()
}

const splitExamples = (text: string): Pick<DescribedCommand, 'text' | 'examples'> => {
  const [before = '', after = ''] = text.split(/^Examples?:\n/m)
  return {
    text: before.trim(),
    examples: after
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  }
}

const optionOf = (option: Option): DescribedOption => ({
  flags: option.flags,
  doc: option.description,
  choices: option.argChoices ?? [],
  group: option.helpGroupHeading ?? 'Options:',
})

const helpOf = (): Help => new Help()

const describeCommand = (command: Command, path: readonly string[]): DescribedCommand => {
  const name = [...path, command.name()]
  const help = helpOf()
  return {
    name: name.join(' '),
    usage: help.commandUsage(command),
    doc: command.description(),
    arguments: help
      .visibleArguments(command)
      .map((argument) => ({ name: help.argumentTerm(argument), doc: argument.description })),
    options: command.options.filter(({ hidden }) => !hidden).map(optionOf),
    ...splitExamples(afterText(command)),
    commands: help
      .visibleCommands(command)
      .filter((one) => one.name() !== 'help')
      .map((one) => describeCommand(one, name)),
  }
}

/** In the order of the help. */
export const describeProgram = (): readonly DescribedGroup[] => {
  const program = createProgram()
  const visible = helpOf()
    .visibleCommands(program)
    .filter((one) => one.name() !== 'help')
  return commandGroups.map(({ heading }) => ({
    heading: heading.replace(/:$/, ''),
    commands: visible
      .filter((one) => one.helpGroup() === heading)
      .map((one) => describeCommand(one, [])),
  }))
}

/** Variables without a flag: a process list shows flags, so that a secret is never one. */
const withoutFlag: readonly (readonly [string, string])[] = [
  ['BROWSER', 'browser that `iamctl login` opens'],
  ['HTTPS_PROXY', 'proxy for requests of the command line; NO_PROXY lists hosts without it'],
  ['IAMCTL_BOOTSTRAP_ADMIN_PASSWORD', 'password of the first administrator of an empty database'],
  ['IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_HASH', 'Argon2id hash of that password, instead of it'],
  ['IAMCTL_CLIENT_ID', 'client that a pipeline signs in as'],
  ['IAMCTL_CLIENT_SECRET', 'secret of that client'],
  ['IAMCTL_CLIENT_SECRET_FILE', 'file with the secret of that client'],
  ['IAMCTL_ID_TOKEN', 'token of GitLab CI (with --workload)'],
  ['IAMCTL_MASTER_KEY', 'master key, instead of its file'],
  ['IAMCTL_PASSWORD', 'password of the user to sign in as'],
  ['IAMCTL_TOKEN', 'access token for the admin API, instead of a sign-in'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
  ['IAMCTL_VAR_NAME', 'value of ${var:NAME} in realm files'],
]

const mostCommon = (texts: readonly string[]): string => {
  const groups = [...Map.groupBy(texts, (text) => text).values()]
  return groups.toSorted((one, other) => other.length - one.length)[0]?.[0] ?? ''
}

/** The variables that the help names, by name, each with the explanation that most of its options give. */
export const variablesOf = (
  groups: readonly DescribedGroup[],
): readonly (readonly [name: string, doc: string])[] => {
  const found = new Map<string, string[]>()
  const visit = ({ options, commands }: DescribedCommand): void => {
    for (const { doc } of options) {
      const [, text = '', name = ''] = /^(.*) \(([A-Z][A-Z_]+)\)$/.exec(doc) ?? []
      if (name !== '') found.set(name, [...(found.get(name) ?? []), text])
    }
    for (const command of commands) visit(command)
  }
  for (const { commands } of groups) for (const command of commands) visit(command)
  const ofFlags = [...found].map(([name, texts]) => [name, mostCommon(texts)] as const)
  return [...withoutFlag, ...ofFlags].sort()
}
