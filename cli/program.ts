/** The program: its commands, how errors end it, and nothing else. What a command does is loaded when it is run. */

import { Command, CommanderError } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { commandGroups } from './commands/index.ts'
import { exitCodeHelp } from './exit.ts'
import { failureOf } from './failure.ts'
import { handleSignals } from './interruption.ts'
import { helpAsFlag, refuseStrangers } from './invocation/asked-help.ts'
import { givenFlags } from './invocation/command.ts'
import { isOn } from './invocation/flags.ts'
import { wantsJson } from './invocation/output.ts'
import { addGlobalOptions, refuseStrays } from './invocation/shared-flags.ts'
import { showFailure } from './views/human/failure.ts'
import { printFailure } from './views/json/json.ts'
import { followReaders, printOut, workWithoutReaders } from './views/streams.ts'

const description =
  'A GitOps identity control plane: realms as YAML, planned and applied like code.'

/** What `iamctl` alone says: the way through, on one screen. */
const welcome = `iamctl ${manifest.version}
${description}

  Start              iamctl init shop                     working realm files; --template, --ci
                     iamctl dev                           a local server; applies on every save

  1. Server          iamctl server                        SQLite in ./data; prints a password
                     iamctl login --username admin
  2. Validate        iamctl validate                      offline, every problem with its line
  3. Plan            iamctl plan                          field by field, changes nothing
  4. Apply           iamctl apply                         one transaction, all or nothing
  5. Operate         iamctl drift                         changes made outside the files
                     iamctl history --realm shop          and \`iamctl rollback\`
                     iamctl get clients --realm shop      current documents

  Help               iamctl doctor                        problems, and what to do about them
                     iamctl explain client.redirectUris   the meaning of a field

\`iamctl --help\` lists all commands, \`iamctl COMMAND --help\` explains one, with examples.`

const helpAfter = `
Global options may precede or follow the command; \`iamctl COMMAND --help\` explains the ones that it takes:
  --server --realm --auth-realm --username --password-file --context --config --timeout --insecure-http
  --output --no-color --quiet --debug
Each is also a variable (IAMCTL_SERVER …). Precedence: flag, variable, context of iamctl.yaml, \`iamctl context use\`.

Exit codes:
${exitCodeHelp.map(([code, meaning]) => `  ${code.padEnd(3)}  ${meaning}`).join('\n')}`

/** Ctrl-C; what must be ended with care has its own way. */
const endsByItself = new Set(['server', 'dev', 'reconcile'])
/** `plan` too: approving it on a screen applies it. */
const changesRealms = new Set(['apply', 'rollback', 'import', 'plan'])

/** What they show may be long, or never end: without a reader there is nothing to do. */
const onlyShows = new Set(['get', 'export', 'events', 'history'])

const topOf = (command: Command): Command =>
  command.parent?.parent == null ? command : topOf(command.parent)

const prepare = (program: Command, command: Command): void => {
  refuseStrays(program, command)
  if (givenFlags(command)['color'] === false) {
    // Every library that colours asks these.
    process.env['NO_COLOR'] = '1'
    delete process.env['FORCE_COLOR']
  }
  const name = topOf(command).name()
  if (endsByItself.has(name)) return
  handleSignals({ changes: changesRealms.has(name) })
  if (!onlyShows.has(name)) workWithoutReaders()
}

/** All commands, or the one that the first word of the line names: declaring them all is a tenth of a short command. */
export const createProgram = (word?: string): Command => {
  const program = new Command('iamctl')
    .description(description)
    .version(manifest.version, '-V, --version', 'print the version')
    .enablePositionalOptions()
    .exitOverride()
    // Errors are shown in one place, by `run`.
    .configureOutput({ outputError: () => undefined })
    .addHelpText('after', helpAfter)
    .hook('preAction', prepare)
  addGlobalOptions(program)
  const isOne = commandGroups.some(({ commands }) => commands.some((add) => add.word === word))
  for (const { heading, commands } of commandGroups) {
    program.commandsGroup(heading)
    for (const add of commands) if (!isOne || add.word === word) add(program)
  }
  return program
}

/** Help and version end the parser with an error that is none; help is also the answer to half a command. */
const isShown = (error: unknown): error is CommanderError =>
  error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help')

/** What to write in place of a word or an option that does not exist. */
const hintOf = async (
  program: Command,
  argv: readonly string[],
  error: unknown,
): Promise<string | null> => {
  if (!(error instanceof CommanderError)) return null
  const line = argv.slice(2)
  const { code, message } = error
  if (code === 'commander.unknownCommand') {
    const [, word = ''] = /unknown command '([^']*)'/.exec(message) ?? []
    const { hintFor } = await import('./invocation/unknown-command.ts')
    return hintFor(program, line, word) ?? null
  }
  const { formatHint, optionHint } = await import('./invocation/unknown-option.ts')
  if (code === 'commander.unknownOption') {
    const [, option = ''] = /unknown option '([^'=]*)/.exec(message) ?? []
    const [, similar] = /\(Did you mean ([^ ?]+)\?\)/.exec(message) ?? []
    return optionHint(program, line, option, similar) ?? null
  }
  const [, format] = /^error: option '-o, --output <format>' argument '([^']*)'/.exec(message) ?? []
  return (format && formatHint(program, line, format)) ?? null
}

export const run = async (given: readonly string[]): Promise<void> => {
  followReaders()
  const argv = helpAsFlag(given)
  const [, , word] = argv
  if (word === undefined) return printOut(welcome)
  // As kubectl, terraform and git have it.
  if (word === 'version') return printOut(manifest.version)
  // Completion answers about all commands.
  const program = createProgram(word === '__complete' ? undefined : word)
  try {
    refuseStrangers(program, argv.slice(2))
    await program.parseAsync(argv)
  } catch (error) {
    if (isShown(error)) {
      process.exitCode = error.exitCode
      return
    }
    const told = failureOf(error)
    const failure = { ...told, hint: told.hint ?? (await hintOf(program, argv, error)) }
    process.exitCode = failure.exitCode
    const debug = argv.includes('--debug') || isOn(process.env['IAMCTL_DEBUG'])
    if (wantsJson(argv, process.env)) printFailure(failure)
    else showFailure(failure, error, debug)
  }
}
