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
    .option('--target <kind/key>', 'only this document and what it needs; may be repeated', collect)
    .addOption(
      new Option('--prune <what>', 'what left the files: owned, all or none').choices([
        'owned',
        'all',
        'none',
      ]),
    )
    .option('--take-over', 'also change documents that another source owns')
    .option('--max-deletions <number>', 'most documents to destroy in a realm', count)

export const addPlan = (program: Command): void => {
  const plan = program
    .command('plan')
    .description('show what an apply would change, field by field')
    .addHelpText(
      'after',
      `
Nothing is changed. A credential that may only plan (adminAccess: plan) needs none of the secrets that the files take from
variables: those that are not set are shown as unknown, and an apply of the saved plan demands them. A plan needs one request where nothing differs, and three at most.
A saved plan holds no secret, is bound to the revision it was made on, and is refused once the realm has moved. It keeps
the limit of deletions that it was made under. A saved plan may lie in the folder of the estate, under any name: every
command recognises it by its content and skips it.

With -o markdown there is always a document, for a comment on a pull request: it says what failed where there is no plan.
Where a plan is too long for a comment, no deletion is left out, and the changes that are left out are counted.

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
    .option('--interactive', 'go through it on a screen: open, search, approve')
    .option('--out <file>', 'save the plan')
    .option('--detailed-exitcode', 'exit with 2 where there are changes')
  addServerOptions(plan)
  addOutputOptions(plan, ['human', 'json', 'markdown'])
}

export const addDrift = (program: Command): void => {
  const drift = program
    .command('drift')
    .description('show what differs from the files, and who changed it')
    .addHelpText(
      'after',
      `
Exits with 2 where something differs: made for a schedule.

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
