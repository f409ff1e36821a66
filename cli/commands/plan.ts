/** `iamctl plan` and `iamctl drift`: names and flags. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import { invocationOf } from './invocation.ts'
import { addFileOptions, addOutputOptions, addServerOptions } from './options.ts'

const collect = (text: string, before: readonly string[] = []): string[] => [...before, text]

/** A whole number, for options. */
export const count = (text: string): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('A whole number.')
  return value
}

/** What plan and apply have in common. */
export const addPlanOptions = (command: Command): Command =>
  command
    .option(
      '--target <kind/key>',
      'only this document and its dependencies; may be repeated',
      collect,
    )
    .addOption(
      new Option('--prune <what>', 'what left the files: owned, all or none').choices([
        'owned',
        'all',
        'none',
      ]),
    )
    .option('--take-over', 'also change documents that another source owns')
    .option('--max-deletions <number>', 'maximum of documents to destroy in a realm', count)

export const addPlan = (program: Command): void => {
  const plan = program
    .command('plan')
    .description('show what an apply would change, field by field')
    .addHelpText(
      'after',
      `
A plan changes nothing. It takes one request if nothing differs, three at most. A client with adminAccess: plan needs no
secret of the files: secrets from variables that are not set are shown as unknown, and applying the saved plan needs them.
A saved plan contains no secret, is bound to its revision and refused if the realm has changed since. It keeps its limit of
deletions. It may be stored in the folder of the estate, under any name: commands recognise it by its content and skip it.

-o markdown always writes a document for a comment on a pull request, also for a failure. A plan that is too long for a
comment lists all deletions and counts the changes that it omits.

Examples:
  iamctl plan                                      the paths of iamctl.yaml, else realms/
  iamctl plan realms/acme.yaml --out acme.plan     save it; then \`iamctl apply --plan acme.plan\`
  iamctl plan --interactive                        go through it; approving it applies it
  iamctl plan --overlay overlays/prod --detailed-exitcode
  iamctl plan -o markdown > comment.md             for a pull request
  iamctl plan --target client/web`,
    )
    .action(async (paths: string[], _flags, command: Command) => {
      const { plan: run } = await import('./run/plan.ts')
      await run(invocationOf(command), paths)
    })
  addFileOptions(plan)
  addPlanOptions(plan)
    .option('--interactive', 'browse the plan on a screen: open, search, approve')
    .option('--out <file>', 'save the plan')
    .option('--detailed-exitcode', 'exit with code 2 if there are changes')
  addServerOptions(plan)
  addOutputOptions(plan, ['human', 'json', 'markdown'])
}

export const addDrift = (program: Command): void => {
  const drift = program
    .command('drift')
    .description('show differences from the files, with author and time')
    .addHelpText(
      'after',
      `
Exits with code 2 if there are differences, for use on a schedule.

Examples:
  iamctl drift
  iamctl drift realms/ -o json`,
    )
    .action(async (paths: string[], _flags, command: Command) => {
      const { drift: run } = await import('./run/drift.ts')
      await run(invocationOf(command), paths)
    })
  addFileOptions(drift)
  addServerOptions(drift)
  addOutputOptions(drift, ['human', 'json', 'markdown'])
}
