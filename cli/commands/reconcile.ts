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
    .description('apply the files in a loop, for a cluster')
    .addHelpText(
      'after',
      `
A round pulls (--git-pull), validates the files, plans, and applies the changes that the policy allows: each realm in one
transaction, all or nothing. Other changes are reported in each round: kinds that --only does not name, more deletions than
--max-deletions, protected documents, documents of another estate; with --report-only, all changes. Invalid files change
nothing. After a failure the interval doubles, up to five minutes.

One loop runs per estate: a lock file excludes a second one (exit 6), and the server refuses a changeset that was planned on
an older revision. SIGTERM and SIGINT end the loop after the apply in progress; a second signal ends it at once. With -o
json each round is one line.

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
    .option('--interval <time>', 'time between rounds: 60s, 5m', duration, 60_000)
    .option('--once', 'run one round; the exit code is its result')
    .option('--git-pull', 'run git pull first, fast-forward only')
    .option('--report-only', 'report differences and change nothing')
    .option('--only <kind>', 'repair only documents of this kind; may be repeated', collect)
    .addOption(
      new Option('--prune <what>', 'what left the files: owned, all or none').choices([
        'owned',
        'all',
        'none',
      ]),
    )
    .option('--max-deletions <number>', 'maximum of documents to destroy in a realm; 20', count)
    .option('--take-over', 'also change documents that another source owns')
    .option('--allow-empty', 'apply although no realm file is left')
    .option(
      '--listen <[host:]port>',
      'health and metrics; on 127.0.0.1 unless a host is given',
      listen,
    )
    .option('--lock-file <file>', 'instead of .iamctl/reconcile.lock in the estate')
    .option('--message <text>', 'message of the revision; "reconcile" unless given')
  addServerOptions(reconcile)
  addOutputOptions(reconcile)
}
