/** `iamctl server reset-admin`. */

import { command } from '../../invocation/command.ts'
import type { Operand } from '../../invocation/operand.ts'
import { printJson } from '../../views/json/json.ts'
import { givenOf, storageOptions } from './flags.ts'

const usernameArgument: Operand<string> = {
  form: '[username]',
  help: 'user who holds realm-admin',
  default: 'admin',
}

export const resetAdmin = command({
  name: 'reset-admin',
  description: 'reset the password of an administrator of the master realm',
  help: `
The account gets a random password, printed once, which must be changed at the next sign-in; second factors, sessions and
locks are removed. The reset is audited. It needs the database and the master key of the server; with SQLite, stop the
server first.

Examples:
  iamctl server reset-admin --data /var/lib/iamctl
  IAMCTL_DATABASE_URL=postgres://iam@db/iam iamctl server reset-admin alice`,
  arguments: [usernameArgument],
  flags: storageOptions,
  run: async ({ flags, env }, username) => {
    const { operations } = await import('./operations.ts')
    return (await operations()).resetAdmin({ flags: givenOf(flags), env }, username)
  },
  views: {
    human: async () => (await import('../../views/human/machine/server.ts')).reset,
    json: () => printJson,
  },
})
