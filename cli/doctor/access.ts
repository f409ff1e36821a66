/** Checks the identity at the server, and whether its permissions are enough to plan and to apply. */

import { type Permission, permissionKeys } from '#schemas/access/permissions.ts'
import { kinds } from '#schemas/registry.ts'
import { error, type Finding, ok, warning } from '#schemas/wire/findings.ts'
import type { Connection } from '../client/connect.ts'
import { isProblem } from '../client/http/errors.ts'
import { findingOf } from './machine.ts'

/** The permissions that the kinds of a realm file ask for. */
const neededTo = (what: 'read' | 'write'): Permission[] =>
  permissionKeys.filter((key) => kinds.some(({ permission }) => permission[what] === key))

const judge = (who: string, about: string, held: readonly string[]): Finding[] => {
  const signedIn = ok('sign-in', who)
  if (held.length === 0)
    return [
      signedIn,
      error(
        'permissions',
        `none, in realm ${about}`,
        'ask an administrator with realm-admin for a role with permissions',
      ),
    ]
  const lacking = neededTo('write').filter((key) => !held.includes(key))
  return [
    signedIn,
    lacking.length === 0
      ? ok('permissions', `everything that plan and apply need, in realm ${about}`)
      : warning(
          'permissions',
          `in realm ${about} you lack ${lacking.join(', ')}: sections of a file that need them cannot be applied`,
          'ask for a role with these permissions, or leave these sections out',
        ),
  ]
}

export const checkAccess = async ({ api, target }: Connection): Promise<Finding[]> => {
  const about = target.realm ?? target.authRealm
  try {
    const { username, realm, permissions } = await api.whoami(about)
    return judge(`${username}, of realm ${realm}`, about, permissions)
  } catch (cause) {
    if (isProblem(cause, 404))
      return [
        warning(
          'permissions',
          `there is no realm ${about} yet`,
          '`iamctl apply` makes it, if you may make realms; else check --realm (IAMCTL_REALM)',
        ),
      ]
    return [findingOf('sign-in', cause)]
  }
}
