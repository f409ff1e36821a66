/** `iamctl server restore`. */

import { command } from '../../invocation/command.ts'
import { argument } from '../../invocation/operand.ts'
import { printJson } from '../../views/json/json.ts'
import { givenOf, storageOptions } from './flags.ts'

export const restore = command({
  name: 'restore',
  description: 'fill a new database from a backup, all or nothing',
  help: `
The database must not exist (SQLite) or must be empty (PostgreSQL). Start the server afterwards: it migrates the schema of
an older version. The whole file is checked before the first write. A backup of SQLite can be restored to PostgreSQL and
the other way round. The master key must be the key of the backup.

Examples:
  iamctl server restore /backups/2026-11-01.iamctl --data /var/lib/iamctl
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server restore iam.iamctl`,
  arguments: [argument('<file>', 'file of `iamctl server backup`')],
  flags: storageOptions,
  run: async ({ flags, env }, file) => {
    const { operations } = await import('./operations.ts')
    return (await operations()).restore({ flags: givenOf(flags), env }, file)
  },
  views: {
    human: async () => (await import('../../views/human/machine/server.ts')).restored,
    json: () => printJson,
  },
})
