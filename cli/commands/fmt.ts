/** `iamctl fmt`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions } from './options.ts'

export const addFmt = (program: Command): void => {
  const fmt = program
    .command('fmt')
    .description('put realm files into canonical order and style; comments stay')
    .argument('[paths...]', 'files and folders; the paths of iamctl.yaml, else realms/')
    .option('--check', 'change nothing, list the files that would change')
    .option('--config <file>', 'file to use instead of ./iamctl.yaml (IAMCTL_CONFIG)')
    .addHelpText(
      'after',
      `
Sections and fields in the order of the schema, entries in the order of the file; block style, two spaces, quotes only
where needed. The content never changes: a file for which that is impossible stays as it is. JSON is not formatted.
Exit codes: 0 done; 1 --check, and files would change; 3 a file cannot be read.

Examples:
  iamctl fmt                         the paths of iamctl.yaml, and its overlays
  iamctl fmt --check                 in a pipeline
  iamctl fmt - < acme.yaml           from standard input to standard output`,
    )
    .action(async (paths: string[], _flags, command: Command) => {
      const { fmt: run } = await import('./run/fmt.ts')
      await run(invocationOf(command), paths)
    })
  addOutputOptions(fmt)
}
