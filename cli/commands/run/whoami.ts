/** Who the server takes us for, and what it lets us do. */

import { permissionCatalogue } from '#schemas/access/permissions.ts'
import { printFields } from '../../views/human/elements/fields.ts'
import { printJson } from '../../views/json/json.ts'
import type { Invocation } from '../invocation.ts'
import { withConnection } from './connection.ts'

export const whoami = (invocation: Invocation): Promise<void> =>
  withConnection(invocation, async ({ api, target }) => {
    const about = target.realm ?? target.authRealm
    const { userId, username, realm, permissions } = await api.whoami(about)
    const { server, context } = target
    if (invocation.output === 'json')
      return printJson({
        server,
        context: context ?? null,
        userId,
        username,
        realm,
        about,
        permissions,
      })
    const may = permissionCatalogue.filter(({ key }) => permissions.includes(key))
    return printFields([
      ['user', `${username} (${userId})`],
      ['realm', realm],
      ['server', server],
      ['context', context ?? ''],
      [`may, in ${about}`, may.map(({ key }) => key).join(', ')],
    ])
  })
