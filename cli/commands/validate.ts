/** `iamctl validate`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addFileOptions, addOutputOptions } from './options.ts'

const collect = (text: string, before: readonly string[] = []): string[] => [...before, text]

export const addValidate = (program: Command): void => {
  const validate = program
    .command('validate')
    .description('check realm files offline and report every problem with its line')
    .option('--warnings-as-errors', 'treat warnings as errors')
    .option('--ignore <code>', 'ignore warnings with this code; may be repeated', collect)
    .option('--config <file>', 'file to use instead of ./iamctl.yaml (IAMCTL_CONFIG)')
    .option('--codes', 'list every code with its meaning, and check nothing')
    .addHelpText(
      'after',
      `
Works offline and resolves no secret: the value of \${env:NAME} is not checked.
Exit codes: 0 valid, with or without warnings; 3 a file is not valid, or has warnings with --warnings-as-errors.

Examples:
  iamctl validate                                    the paths of iamctl.yaml, else realms/
  iamctl validate realms/acme.yaml --overlay overlays/production
  iamctl validate --output github                    annotations on a pull request
  iamctl validate --output sarif > iamctl.sarif      for code scanning
  iamctl validate --output junit > iamctl.xml        as test results, for GitLab and others
  iamctl validate --warnings-as-errors --ignore password-grant
  iamctl validate --output json | jq '.diagnostics[].code'`,
    )
    .action(async (paths: string[], _flags, command: Command) => {
      const { validate: run } = await import('./run/validate.ts')
      await run(invocationOf(command), paths)
    })
  addFileOptions(validate)
  addOutputOptions(validate, ['human', 'json', 'github', 'sarif', 'junit'])
}
