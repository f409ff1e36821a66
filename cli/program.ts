/** The commands and their exit codes; no logic. A command's own file is loaded when it is run. */

import { Command } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import { addServerCommands } from './commands/server-options.ts'
import { failWith, misunderstood } from './views/human/failure.ts'

export const createProgram = (): Command => {
  const program = new Command('iamctl')
    .description('A GitOps identity control plane: realms as YAML, planned and applied like code.')
    .version(manifest.version, '-V, --version', 'print the version')
    .configureOutput({ outputError: misunderstood })
    .configureHelp({ sortSubcommands: true })
    .addHelpText(
      'after',
      `
Exit codes:
  0  done, or nothing to do
  1  error`,
    )
  addServerCommands(program)
  return program
}

export const run = async (argv: readonly string[]): Promise<void> => {
  try {
    await createProgram().parseAsync(argv)
  } catch (error) {
    failWith(error)
  }
}
