/** `iamctl dev`: names and flags. */

import { type Command, InvalidArgumentError } from 'commander'
import { invocationOf } from './invocation.ts'
import { addFileOptions, addOutputOptions } from './options.ts'

const portOf = (text: string): number => {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('It is a whole number up to 65535; 0 takes any that is free.')
  return port
}

export const addDev = (program: Command): void => {
  const dev = program
    .command('dev')
    .description('run a server on this machine and apply the files whenever they are saved')
    .option('--port <number>', 'port of the server; 8080, or the next one that is free', portOf)
    .option('--keep', 'keep the data in .iamctl-dev beside iamctl.yaml for the next run')
    .option('--reset', 'delete the kept data first; implies --keep')
    .option('--config <file>', 'file to use instead of ./iamctl.yaml (IAMCTL_CONFIG)')
    .addHelpText(
      'after',
      `
The server stores its data in SQLite, in a temporary folder unless --keep is given, and stops with this command.
Problems of the files are reported with their lines, and the realm stays as it is. Deletions need no confirmation.
Secrets from variables (\${env:NAME}) that are not set are generated. Passwords of test users, generated or from the
files, are shown. On a terminal: q quits, r applies again.

Examples:
  iamctl dev                            the paths of iamctl.yaml, else realms/
  iamctl dev realms/acme.yaml --port 9000
  iamctl dev realms/ --keep             the same users and sessions tomorrow
  iamctl dev -o json | jq .type         every happening is one line`,
    )
    .action(async (paths: string[], _flags, command: Command) => {
      const { dev: run } = await import('./run/dev.ts')
      await run(invocationOf(command), paths)
    })
  addFileOptions(dev)
  addOutputOptions(dev)
}
