/**
 * Options that several commands share, each group defined once. A command takes a group by calling its function, and gets
 * its flags, its part of the help and its checks; what it does not take, it refuses.
 */

import { type Command, InvalidArgumentError, Option } from 'commander'

const variable = (help: string, name: string | undefined): string =>
  name === undefined ? help : `${help} (${name})`

const option = (form: string, help: string, name?: string): Option =>
  new Option(form, variable(help, name))

const addGroup = (command: Command, heading: string, options: readonly Option[]): Command => {
  // Two groups may share one.
  for (const one of options)
    if (!command.options.some(({ long }) => long === one.long))
      command.addOption(one.helpGroup(heading))
  return command
}

const seconds = (text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > 86_400)
    throw new InvalidArgumentError('It is a whole number of seconds.')
  return value
}

/** Of an option that may be repeated. */
export const collect = (text: string, before: readonly string[] = []): string[] => [...before, text]

const realmOption = (): Option => option('--realm <name>', 'realm to work on', 'IAMCTL_REALM')

const configOption = (): Option =>
  option('--config <file>', 'file to use instead of the nearest iamctl.yaml', 'IAMCTL_CONFIG')

const serverOptions = (): Option[] => [
  option('--server <url>', 'address of the server; http://127.0.0.1:8080', 'IAMCTL_SERVER'),
  option('--auth-realm <name>', 'realm to sign in to; master', 'IAMCTL_AUTH_REALM'),
  option('--username <name>', 'user to sign in as; a password is never a flag', 'IAMCTL_USERNAME'),
  option('--password-file <file>', 'file with the password; else IAMCTL_PASSWORD, or a prompt'),
  option('--context <name>', 'context of iamctl.yaml or of `iamctl context`', 'IAMCTL_CONTEXT'),
  configOption(),
  option('--timeout <seconds>', 'time to wait for a response; 60', 'IAMCTL_TIMEOUT').argParser(
    seconds,
  ),
  option('--insecure-http', 'sign in over plain http to another machine', 'IAMCTL_INSECURE_HTTP'),
]

const outputOptions = (formats: readonly string[]): Option[] => [
  option('-o, --output <format>', 'output format', 'IAMCTL_OUTPUT').choices(formats),
  option('--no-color', 'no colours', 'NO_COLOR'),
  option('--quiet', 'print results and errors only', 'IAMCTL_QUIET'),
  option('--debug', 'print requests and stack traces, without secrets', 'IAMCTL_DEBUG'),
]

export const outputFormats = ['human', 'json'] as const

/** How to reach a server, and as whom. */
export const addServerOptions = (command: Command): Command =>
  addGroup(command, 'Server:', serverOptions())

/** The same, and the realm that the command is about. */
export const addRealmOptions = (command: Command): Command =>
  addGroup(command, 'Server:', [realmOption(), ...serverOptions()])

/** How results are written; the first format is the one unless told otherwise. */
export const addOutputOptions = (
  command: Command,
  formats: readonly string[] = outputFormats,
): Command => addGroup(command, 'Output:', outputOptions(formats))

/** Where realm files are and how they are read. */
export const addFileOptions = (command: Command): Command =>
  addFileFlags(
    command.argument('[paths...]', 'files and folders; the paths of iamctl.yaml, else realms/'),
  )

/** The same, of a command whose arguments are something else. */
export const addFileFlags = (command: Command): Command =>
  addGroup(command, 'Files:', [
    option(
      '--overlay <path>',
      'merged over the files by key (add: true, remove: true); may be repeated',
    ).argParser(collect),
    option('--var <name=value>', `value of \${var:name}; may be repeated`).argParser(collect),
    option('--var-file <file>', 'YAML file of variables; may be repeated').argParser(collect),
    option('--allow-exec', `run the commands of \${exec:…} secrets`),
    option(
      '--source <name>',
      'name of the estate that owns the applied documents',
      'IAMCTL_SOURCE',
    ),
    configOption(),
  ])

/** On the program itself: what may also stand before the name of a command. The commands' own help explains them. */
export const addGlobalOptions = (program: Command): Command => {
  const output = option('-o, --output <format>', 'as the command offers it')
  const others = outputOptions(outputFormats).filter(({ long }) => long !== '--output')
  for (const one of [realmOption(), ...serverOptions(), output, ...others])
    program.addOption(one.hideHelp())
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
