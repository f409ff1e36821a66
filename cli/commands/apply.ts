/** `iamctl apply`: names and flags. */

import type { Command } from 'commander'
import { invocationOf } from './invocation.ts'
import { addFileOptions, addOutputOptions, addServerOptions } from './options.ts'
import { addPlanOptions } from './plan.ts'

export const addApply = (program: Command): void => {
  const apply = program
    .command('apply')
    .description('apply realm files: each realm in one transaction, all or nothing')
    .addHelpText(
      'after',
      `
On a terminal, apply shows the plan and asks; to destroy documents, type the name of the realm.
Each realm is one transaction and one revision, which \`iamctl rollback\` can undo. A second apply changes nothing.

Guards (exit 7): more deletions than --max-deletions (20 unless given here or as guards.maxDeletions), deletion of a
\`protected\` document, no realm file left. A saved plan contains its own limit; the stricter limit applies.

Ctrl-C waits up to 10 seconds for the response to a changeset in progress and reports the result: committed as revision N,
not committed, or unknown and how to find out. A second Ctrl-C exits at once. The exit code is 130.

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
    .option('--message <text>', 'message of the revision in the history')
    .option('--secrets-out <file>', 'file for the secrets generated for new clients; mode 0600')
    .option('--allow-empty', 'apply although no realm file is left')
    .option('--allow-unrelated', 'apply although other documents were changed concurrently')
  addServerOptions(apply)
  addOutputOptions(apply)
}
