/**
 * Questions for help. `iamctl help users import` is `iamctl users import --help`: the parser takes one word of it, and answers
 * an unknown word with the help of everything.
 */

import { type Command, CommanderError } from 'commander'

export const helpAsFlag = (argv: readonly string[]): readonly string[] =>
  argv[2] === 'help' && argv.length > 3 ? [...argv.slice(0, 2), ...argv.slice(3), '--help'] : argv

const asksForHelp = (line: readonly string[]): boolean =>
  line.includes('--help') || line.includes('-h')

/** Refuses help about a command that does not exist. */
export const refuseStrangers = (program: Command, line: readonly string[]): void => {
  if (!asksForHelp(line)) return
  let command = program
  for (const word of line) {
    if (word.startsWith('-') || command.commands.length === 0 || word === 'help') return
    const next = command.commands.find((one) => one.name() === word)
    if (next === undefined)
      throw new CommanderError(1, 'commander.unknownCommand', `error: unknown command '${word}'`)
    command = next
  }
}
