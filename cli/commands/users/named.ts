/** Finds a user by username, email address or id. */

import type { UserRecord } from '#schemas/wire/records.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { argument } from '../../invocation/operand.ts'
import type { OnRealm } from '../../invocation/realm.ts'

export const userArgument = argument('<user>', 'username, email address or id')

export const userNamed = async ({ api, realm }: OnRealm, name: string): Promise<UserRecord> => {
  const user = await api.users.find(realm, name)
  if (user === null)
    throw new CommandError(exitCodes.error, `there is no user "${name}" in realm ${realm}`, {
      hint: `search: iamctl get users --realm ${realm} --search TEXT`,
    })
  return user
}
