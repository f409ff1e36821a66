/** `iamctl dev`. */

import { InvalidArgumentError } from 'commander'
import manifest from '../../../package.json' with { type: 'json' }
import type { OpenDevView } from '../../dev/happenings.ts'
import { hostnames } from '../../dev/server/hostname.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { conversation } from '../../invocation/command.ts'
import { fileOptions } from '../../invocation/file-options.ts'
import { choice, flags, parsed, toggle } from '../../invocation/flags.ts'
import { configFlag, fileFlags, pathsArgument } from '../../invocation/shared-flags.ts'

const portOf = (given: string): number => {
  const port = Number(given)
  if (!/^\d{1,5}$/.test(given) || port > 65_535)
    throw new InvalidArgumentError('It is a whole number up to 65535; 0 takes any that is free.')
  return port
}

export const dev = conversation({
  name: 'dev',
  description: 'run a server on this machine and apply the files whenever they are saved',
  help: `
The server stores its data in SQLite, in a temporary folder unless --keep is given, and stops with this command.
Problems of the files are reported with their lines, and the realm stays as it is. Deletions need no confirmation.
Secrets from variables (\${env:NAME}) that are not set are generated. Passwords of test users, generated or from the
files, are shown. Logouts and other calls of the server reach applications on this machine, also over plain http.
On a terminal: q quits, r applies again.

Examples:
  iamctl dev                            the paths of iamctl.yaml, else realms/
  iamctl dev realms/acme.yaml --port 9000
  iamctl dev realms/ --keep             the same users and sessions tomorrow
  iamctl dev --hostname localhost       to try passkeys
  iamctl dev -o json | jq .type         every happening is one line`,
  arguments: [pathsArgument],
  flags: flags(
    {
      port: parsed('<number>', 'port of the server; 8080, or the next one that is free', portOf),
      hostname: choice(
        '<name>',
        'host in the addresses; browsers offer passkeys at localhost alone (127.0.0.1)',
        hostnames,
      ),
      keep: toggle('keep the data in .iamctl-dev beside iamctl.yaml for the next run'),
      reset: toggle('delete the kept data first; implies --keep'),
      ...configFlag,
    },
    fileFlags,
  ),
  views: {
    human: async () => (await import('../../views/human/dev/open.ts')).openHumanView,
    json: async () => (await import('../../views/json/dev.ts')).openJsonView,
  },
  run: async (call, openView: OpenDevView, paths) => {
    const { runDev } = await import('../../dev/session.ts')
    const { flags: given, env } = call
    const [, entry] = process.argv
    if (entry === undefined) throw new Error('the program does not know its own file')
    if (paths.includes('-'))
      throw new CommandError(exitCodes.error, 'standard input cannot be watched', {
        hint: 'name files or folders',
      })
    const { version } = manifest
    await runDev({
      entry,
      version,
      env,
      hostname: given.hostname ?? '127.0.0.1',
      port: given.port,
      keep: given.keep,
      reset: given.reset,
      openFiles: async () => {
        const { openDevFiles } = await import('../../dev/files.ts')
        const { env: _ours, ...options } = fileOptions(call, paths)
        return openDevFiles({
          ...options,
          source: given.source,
          allowExec: given.allowExec,
          version,
        })
      },
      openView: (controls) => openView(controls, { env, color: call.color }),
    })
  },
})
