/** `iamctl reconcile`. */

import { InvalidArgumentError } from 'commander'
import { fittingRevision } from '../../../schemas/wire/revision-text.ts'
import { conversation } from '../../invocation/command.ts'
import { fileOptions } from '../../invocation/file-options.ts'
import { flags, list, parsed, text, toggle, withDefault } from '../../invocation/flags.ts'
import {
  fileFlags,
  maxDeletions,
  pathsArgument,
  prune,
  serverFlags,
} from '../../invocation/shared-flags.ts'
import type { Listen, ReconcileRequest } from '../../reconcile/reconcile-estate.ts'
import { note } from '../../views/human/elements/note.ts'
import { printRound } from '../../views/json/round.ts'

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

const duration = (text: string): number => {
  const [, number = '', unit = 's'] = /^(\d{1,7})(ms|s|m|h)?$/.exec(text) ?? []
  const milliseconds = Number(number) * (units[unit] ?? 0)
  if (number === '' || milliseconds < 100 || milliseconds > 86_400_000)
    throw new InvalidArgumentError('It is a time such as 60s, 5m or 1h, a day at most.')
  return milliseconds
}

const listen = (text: string): Listen => {
  const [, host = '127.0.0.1', port = ''] =
    /^(?:(\[[0-9a-f:]+\]|[^:\s]+):)?(\d{1,5})$/i.exec(text) ?? []
  if (port === '' || Number(port) > 65_535)
    throw new InvalidArgumentError('It is PORT or HOST:PORT, such as 0.0.0.0:9090.')
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
}

type Show = ReconcileRequest['show']

export const reconcile = conversation({
  name: 'reconcile',
  description: 'apply the files in a loop, for a cluster',
  help: `
A round pulls (--git-pull), validates the files, plans, and applies the changes that the policy allows: each realm in one
transaction, all or nothing. Other changes are reported in each round: kinds that --only does not name, more deletions than
--max-deletions, protected documents, documents of another estate; with --report-only, all changes. Invalid files change
nothing. After a failure the interval doubles, up to five minutes.

One loop runs per estate: a lock file excludes a second one (exit 6), and the server refuses a changeset that was planned on
an older revision. SIGTERM and SIGINT end the loop after the apply in progress (exit 0); a second signal ends it at once. With -o
json each round is one line.

/healthz, /readyz and /metrics (Prometheus) answer at --listen.

Examples:
  iamctl reconcile --interval 60s --git-pull --listen 0.0.0.0:9090
  iamctl reconcile realms/ --once --report-only -o json
  iamctl reconcile --only client --only client-role --prune none --max-deletions 0`,
  arguments: [pathsArgument],
  flags: flags(
    fileFlags,
    {
      interval: withDefault(
        parsed('<time>', 'time between rounds, such as 5m', duration),
        60_000,
        '60s',
      ),
      once: toggle('run one round; the exit code is its result'),
      gitPull: toggle('run git pull first, fast-forward only'),
      reportOnly: toggle('report differences and change nothing'),
      only: list('<kind>', 'repair only documents of this kind; may be repeated'),
      prune,
      maxDeletions,
      takeOver: toggle('also change documents that another source owns'),
      allowEmpty: toggle('apply although no realm file is left'),
      listen: parsed(
        '<[host:]port>',
        'address of health and metrics; the host is 127.0.0.1 if left out',
        listen,
      ),
      lockFile: text('<file>', 'lock file, which excludes a second loop', {
        fallback: '.iamctl/reconcile.lock in the estate',
      }),
      message: parsed('<text>', 'message of the revision in the history', fittingRevision, {
        fallback: 'reconcile',
      }),
    },
    serverFlags,
  ),
  views: {
    human: async () => (await import('../../views/human/estate/reconcile.ts')).showRound,
    json: () => printRound,
  },
  run: async (call, show: Show, paths) => {
    const { reconcileEstate } = await import('../../reconcile/reconcile-estate.ts')
    return reconcileEstate({
      flags: call.flags,
      files: { ...fileOptions(call, paths), serverChecks: true },
      note: (words) => note(call, words),
      show,
      connect: async () => {
        const { connect } = await import('../../client/connect.ts')
        const { connectOptions } = await import('../../invocation/connection.ts')
        return connect(connectOptions(call))
      },
    })
  },
})
