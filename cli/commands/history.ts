/** `iamctl history` and `iamctl rollback`: names and flags. */

import { type Command, InvalidArgumentError } from 'commander'
import { invocationOf } from './invocation.ts'
import { addOutputOptions, addRealmOptions } from './options.ts'

const revision = (text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('A revision is a whole number; see `iamctl history`.')
  return value
}

const count = (text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('A whole number.')
  return value
}

export const addHistory = (program: Command): void => {
  const history = program
    .command('history')
    .description('show the revisions of a realm: author, time, changes')

  const list = history
    .command('list', { isDefault: true })
    .description('the latest revisions (this is what plain `iamctl history` does)')
    .option('--limit <number>', 'how many; 20 unless given', count)
    .option('--before <revision>', 'only older ones', revision)
    .addHelpText('after', '\nExamples:\n  iamctl history --realm acme --limit 50')
    .action(async (_flags, command: Command) => {
      const { list: run } = await import('./run/history.ts')
      await run(invocationOf(command))
    })

  const show = history
    .command('show')
    .description('what one revision changed')
    .argument('<revision>', 'its number', revision)
    .addHelpText('after', '\nExamples:\n  iamctl history show 12 --realm acme')
    .action(async (number: number, _flags, command: Command) => {
      const { show: run } = await import('./run/history.ts')
      await run(invocationOf(command), number)
    })

  const diff = history
    .command('diff')
    .description('what differs between two revisions')
    .argument('<from>', 'a revision', revision)
    .argument('<to>', 'another one', revision)
    .addHelpText('after', '\nExamples:\n  iamctl history diff 12 17 --realm acme')
    .action(async (from: number, to: number, _flags, command: Command) => {
      const { diff: run } = await import('./run/history.ts')
      await run(invocationOf(command), from, to)
    })

  for (const command of [list, show, diff]) {
    addRealmOptions(command)
    addOutputOptions(command)
  }
}

export const addRollback = (program: Command): void => {
  const rollback = program
    .command('rollback')
    .description('make a realm equal to an earlier revision')
    .argument('<revision>', 'its number', revision)
    .option('--plan', 'only show what would change')
    .option('--auto-approve', 'do not ask')
    .option('--message <text>', 'message of the revision in the history')
    .option('--secrets-from <path>', 'realm files to take missing secrets from')
    .option('--allow-exec', `run the commands of \${exec:…} secrets`)
    .option('--drop-secrets', 'restore documents without the secrets that are missing')
    .addHelpText(
      'after',
      `
A rollback is a new revision, which can be rolled back too. Restored documents keep their ids and secrets, with two
exceptions that are reported before the change. Deleted users are restored without credentials. A stored secret is never
sent to a host other than the one it was given for, so a provider whose address changes is restored without its secret.
--secrets-from takes both from realm files, such as those of the commit of that revision.
Keys and unmanaged users are not touched. Files are not changed: the next apply applies them again.

Examples:
  iamctl rollback 12 --realm acme --plan
  iamctl rollback 12 --realm acme --secrets-from realms/
  iamctl rollback 12 --realm acme --message "Bad release"`,
    )
    .action(async (number: number, _flags, command: Command) => {
      const { rollback: run } = await import('./run/rollback.ts')
      await run(invocationOf(command), number)
    })
  addRealmOptions(rollback)
  addOutputOptions(rollback)
}
