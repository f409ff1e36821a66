/** `iamctl apply`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addFileOptions, addOutputOptions, addServerOptions } from './options.ts'
import { addPlanOptions } from './plan.ts'

export const addApply = (program: Command): void => {
  const apply = program
    .command('apply')
    .description('make realms what the files say: each in one transaction, or not at all')
    .addHelpText(
      'after',
      `
Shows the plan and asks, on a terminal; where documents are destroyed, the name of the realm must be typed.
Each realm is one transaction and one revision, which \`iamctl rollback\` can take back. A second apply changes nothing.

Guards (exit 7): more deletions than --max-deletions (20 unless given here or as guards.maxDeletions), a document that
is \`protected\`, files that have become empty. A saved plan brings the limit that it was made under; the stricter of that
limit and the one given here holds.

Ctrl-C waits up to 10 seconds for the answer of a changeset that is under way and says what became of it: committed as
revision N, not committed, or not known and how to find out. A second Ctrl-C leaves at once. The exit code is 130.

Examples:
  iamctl apply
  iamctl apply --auto-approve --message "Release 41"        in a pipeline
  iamctl apply --plan acme.plan                             exactly what was reviewed
  iamctl apply --secrets-out new-secrets.json               of clients that the files give none
  iamctl apply realms/ --overlay overlays/prod --var SHOP=https://shop.example`,
    )
    .action(async (paths: string[], _flags, command: Command) => {
      const { apply: run } = await import('./run/apply.ts')
      await run(invocationOf(command), paths)
    })
  addFileOptions(apply)
  addPlanOptions(apply)
    .option('--plan <file>', 'a saved plan, instead of files')
    .option('--auto-approve', 'do not ask')
    .option('--message <text>', 'kept in the history')
    .option('--secrets-out <file>', 'where secrets go that are made up for new clients; 0600')
    .option('--allow-empty', 'go on where no file is left')
    .option('--allow-unrelated', 'go on where others changed other documents meanwhile')
  addServerOptions(apply)
  addOutputOptions(apply)
}
