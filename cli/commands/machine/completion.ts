/** `iamctl completion`, and the hidden command that its scripts call. */

import { plainCommand } from '../../invocation/command.ts'
import { argument, type Operand } from '../../invocation/operand.ts'
import { printOut } from '../../views/streams.ts'

const shells = ['bash', 'zsh', 'fish'] as const

const shellArgument: Operand<string> = { form: '<shell>', help: 'the shell', choices: shells }

export const completion = plainCommand({
  name: 'completion',
  description: 'print the completion script of a shell',
  help: `
Completes commands, flags, files and kinds, and with the server of the context realms, users and keys of documents.

Examples:
  eval "$(iamctl completion bash)"                    in ~/.bashrc
  eval "$(iamctl completion zsh)"                     in ~/.zshrc, behind compinit
  iamctl completion fish | source                     in ~/.config/fish/config.fish`,
  arguments: [shellArgument],
  run: async (_flags, _program, shell) => {
    const { readFile } = await import('node:fs/promises')
    const { packageFile } = await import('../../package-files.ts')
    printOut(await readFile(packageFile('templates', 'completion', `iamctl.${shell}`), 'utf8'))
  },
})

export const complete = plainCommand({
  name: '__complete',
  hidden: true,
  description: 'completion candidates, for the completion scripts',
  help: '\nExample:\n  iamctl __complete -- get cli',
  arguments: [argument('[words...]', 'of the command line, the unfinished one last')],
  run: async (_flags, program, words) => {
    const { answerShell } = await import('../../completion/answer.ts')
    await answerShell(program, words)
  },
})
