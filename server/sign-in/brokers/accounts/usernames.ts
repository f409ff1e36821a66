/**
 * The username of an account that is made for a person from an identity provider. A name there is no name here: what looks
 * like an address is taken only where it is the person's, and a name that another user has gets a number.
 */

import { randomInt } from 'node:crypto'
import { beginningOf } from '#schemas/text/storable-text.ts'
import { usernameErrors } from '#server/users/names.ts'
import type { Users } from '#server/users/users.ts'
import type { Newcomer } from './newcomers.ts'

const isFree = async (users: Users, realm: string, name: string): Promise<boolean> =>
  (await users.findByLogin(realm, name, { withEmail: true })) === undefined

const isPossible = (name: string | undefined): name is string =>
  name !== undefined && name !== '' && usernameErrors(name).length === 0

/** Tries enough to fail for no person, and few enough to end. */
const tries = 20

export const chooseUsername = async (
  users: Users,
  realm: string,
  { broker, identity, email, account, provider }: Newcomer,
): Promise<string> => {
  const reviewed = broker.profile?.username
  if (reviewed) return reviewed
  const address = account.kind === 'none' && !account.withAddress ? undefined : email
  const name = identity.username?.includes('@') ? undefined : identity.username
  const wished = [name, address].filter(isPossible)
  // The person has this address, or is about to have it: no other account of the name is in the way then.
  for (const one of wished) if (one === address || (await isFree(users, realm, one))) return one
  const local = identity.email?.split('@')[0]
  const stem = [name, local].find(isPossible) ?? provider.alias
  for (let i = 0; i < tries; i += 1) {
    const numbered = `${beginningOf(stem, 200)}-${randomInt(1000, 10_000)}`
    if (await isFree(users, realm, numbered)) return numbered
  }
  return `${beginningOf(provider.alias, 200)}-${randomInt(2 ** 40)}`
}
