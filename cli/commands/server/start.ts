/** `iamctl server start`, which is what plain `iamctl server` does. */

import { plainCommand } from '../../invocation/command.ts'
import { allOptions, givenOf } from './flags.ts'

export const startHelp = `
Every option is also a variable, whose name is in brackets. The flag wins.
Secrets are variables or files only: IAMCTL_MASTER_KEY, IAMCTL_BOOTSTRAP_ADMIN_PASSWORD (or …_PASSWORD_HASH).

Examples:
  iamctl server                                    SQLite in ./data, on port 8080
  iamctl server --data /var/lib/iamctl --base-url https://id.example
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server --workers 4`

export const start = plainCommand({
  name: 'start',
  isDefault: true,
  description: 'start the server (this is what plain `iamctl server` does)',
  help: startHelp,
  flags: allOptions,
  run: async (values) => {
    const { startServer } = await import('./operations.ts')
    await startServer(givenOf(values))
  },
})
