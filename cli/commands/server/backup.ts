/** `iamctl server backup`. */

import { command } from '../../invocation/command.ts'
import { argument } from '../../invocation/operand.ts'
import { printJson } from '../../views/json/json.ts'
import { givenOf, storageOptions } from './flags.ts'

export const backup = command({
  name: 'backup',
  description: 'write a consistent snapshot of the database to a file, while the server runs',
  help: `
The file is a consistent snapshot. \`iamctl server restore\` writes it to SQLite or PostgreSQL, independent of its origin.
Secrets are encrypted under the master key, which is not in the file: keep both.

Examples:
  iamctl server backup /backups/$(date +%F).iamctl --data /var/lib/iamctl
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server backup iam.iamctl`,
  arguments: [argument('<file>', 'file to create, with mode 0600')],
  flags: storageOptions,
  run: async ({ flags, env }, file) => {
    const { operations } = await import('./operations.ts')
    return (await operations()).backup({ flags: givenOf(flags), env }, file)
  },
  views: {
    human: async () => (await import('../../views/human/machine/server.ts')).backedUp,
    json: () => printJson,
  },
})
