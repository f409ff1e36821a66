/** `iamctl completion`: names and flags; and the hidden command that its scripts call. */

import { Argument, type Command } from 'commander'

export const shells = ['bash', 'zsh', 'fish'] as const

const topOf = (command: Command): Command => (command.parent ? topOf(command.parent) : command)

export const addCompletion = (program: Command): void => {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      `
Completes commands, flags, files and kinds, and with the server of the context realms, users and keys of documents.

Examples:
  eval "$(iamctl completion bash)"                    in ~/.bashrc
  eval "$(iamctl completion zsh)"                     in ~/.zshrc, behind compinit
  iamctl completion fish | source                     in ~/.config/fish/config.fish`,
    )
    .action(async (shell: string) => {
      const { printScript } = await import('./run/completion.ts')
      await printScript(shell)
    })
  program
    .command('__complete', { hidden: true })
    .description('completion candidates, for the completion scripts')
    .argument('[words...]', 'of the command line, the unfinished one last')
    .addHelpText('after', '\nExample:\n  iamctl __complete -- get cli')
    .action(async (words: string[], _flags, command: Command) => {
      const { completeWords } = await import('./run/completion.ts')
      await completeWords(topOf(command), words)
    })
}
