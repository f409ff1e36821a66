/** `iamctl server migrate`. */

import { command } from '../../invocation/command.ts'
import { toggle } from '../../invocation/flags.ts'
import { printJson } from '../../views/json/json.ts'
import { givenOf, storageOptions } from './flags.ts'

export const migrate = command({
  name: 'migrate',
  description: 'migrate the database schema, as a start of the server does',
  help: `
Examples:
  iamctl server migrate --dry-run --data /var/lib/iamctl
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server migrate`,
  flags: { dryRun: toggle('list the migrations and change nothing'), ...storageOptions },
  run: async ({ flags, env }) => {
    const { operations } = await import('./operations.ts')
    const { dryRun } = flags
    return (await operations()).migrate({ flags: givenOf(flags), env }, { dryRun })
  },
  views: {
    human: async () => (await import('../../views/human/machine/server.ts')).migrated,
    json: () => printJson,
  },
})
