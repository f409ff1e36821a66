/** `iamctl reconcile`: names and flags. */

import { type Command, InvalidArgumentError, Option } from 'commander'
import { invocationOf } from './invocation.ts'
import { addFileOptions, addOutputOptions, addServerOptions, collect } from './options.ts'
import { count } from './plan.ts'

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

const duration = (text: string): number => {
  const [, number = '', unit = 's'] = /^(\d{1,7})(ms|s|m|h)?$/.exec(text) ?? []
  const milliseconds = Number(number) * (units[unit] ?? 0)
  if (number === '' || milliseconds < 100 || milliseconds > 86_400_000)
    throw new InvalidArgumentError('It is a time such as 60s, 5m or 1h, a day at most.')
  return milliseconds
}

export interface Listen {
  readonly host: string
  readonly port: number
}

const listen = (text: string): Listen => {
  const [, host = '127.0.0.1', port = ''] =
    /^(?:(\[[0-9a-f:]+\]|[^:\s]+):)?(\d{1,5})$/i.exec(text) ?? []
  if (port === '' || Number(port) > 65_535)
    throw new InvalidArgumentError('It is PORT or HOST:PORT, such as 0.0.0.0:9090.')
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
}

export const addReconcile = (program: Command): void => {
  const reconcile = program
    .command('reconcile')
    .description('keep realms as the files say, round after round: the loop for a cluster')
    .addHelpText(
      'after',
      `
A round pulls (--git-pull), reads and checks the files, plans, and applies what the policy allows: each realm in one
transaction, or not at all. What it must not repair is reported every round and left as it is: kinds that --only does not
name, more deletions than --max-deletions, protected documents, documents of another estate; with --report-only, everything.
Files that are not valid change nothing. After a failure it waits longer and longer, five minutes at most.

One loop at a time: a lock file in the estate keeps a second one out (exit 6), and the server refuses what was planned for
a revision that is no longer the newest. SIGTERM and SIGINT end it: an apply that has begun is finished; a second one
ends it at once. With -o json every round is one line.

/healthz, /readyz and /metrics (Prometheus) answer at --listen.

Examples:
  iamctl reconcile --interval 60s --git-pull --listen 0.0.0.0:9090
  iamctl reconcile realms/ --once --report-only -o json
  iamctl reconcile --only client --only client-role --prune none --max-deletions 0`,
    )
    .action(async (paths: string[], _flags, command: Command) => {
      const { reconcile: run } = await import('./run/reconcile.ts')
      await run(invocationOf(command), paths)
    })
  addFileOptions(reconcile)
    .option('--interval <time>', 'from one round to the next: 60s, 5m', duration, 60_000)
    .option('--once', 'one round; the exit code tells how it ended')
    .option('--git-pull', 'pull the files first, forwards only')
    .option('--report-only', 'report what differs and change nothing')
    .option('--only <kind>', 'repair only documents of this kind; may be repeated', collect)
    .addOption(
      new Option('--prune <what>', 'what left the files: owned, all or none').choices([
        'owned',
        'all',
        'none',
      ]),
    )
    .option('--max-deletions <number>', 'most documents to destroy in a realm; 20', count)
    .option('--take-over', 'also change documents that another source owns')
    .option('--allow-empty', 'go on where no file is left')
    .option(
      '--listen <[host:]port>',
      'health and metrics; on 127.0.0.1 unless a host is given',
      listen,
    )
    .option('--lock-file <file>', 'instead of .iamctl/reconcile.lock in the estate')
    .option('--message <text>', 'kept in the history; "reconcile" unless given')
  addServerOptions(reconcile)
  addOutputOptions(reconcile)
}
