/** The connection of a command, and the realm that it is about. The client is loaded when a command asks for it. */

import type { Connection, ConnectOptions } from '../client/connect.ts'
import type { Call } from './command.ts'
import type { ServerValues } from './shared-flags.ts'

/** Closed when the command has shown its result, so that nothing keeps the program from ending. */
export const openConnection = async (
  call: Call<ServerValues>,
  estate?: ConnectOptions['estate'],
): Promise<Connection> => (await import('./connection.ts')).openConnection(call, estate)

export interface OnRealm extends Connection {
  readonly realm: string
}

/** For commands that cannot do without a realm. */
export const openRealm = async (call: Call<ServerValues>): Promise<OnRealm> => {
  const { openConnection: open, realmOf } = await import('./connection.ts')
  const connection = await open(call)
  return { ...connection, realm: await realmOf(connection) }
}
