/** The signed-in user, the server and the permissions. */

import { permissionCatalogue } from '#schemas/access/permissions.ts'
import { printFields } from '../elements/fields.ts'

export interface Caller {
  readonly server: string
  readonly context: string | null
  readonly userId: string
  readonly username: string
  readonly realm: string
  /** The realm that the permissions are of. */
  readonly about: string
  readonly permissions: readonly string[]
}

export const showCaller = (caller: Caller): void => {
  const { server, context, userId, username, realm, about, permissions } = caller
  const may = permissionCatalogue.filter(({ key }) => permissions.includes(key))
  printFields([
    ['user', `${username} (${userId})`],
    ['realm', realm],
    ['server', server],
    ['context', context ?? ''],
    [`may, in ${about}`, may.map(({ key }) => key).join(', ')],
  ])
}
