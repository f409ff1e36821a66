/** The actor of a session: its user or, in an impersonation, the administrator. */

import type { Storage } from '#server/storage/contract.ts'
import type { SessionRow } from '#server/storage/tables/tables.ts'

export interface Doer {
  readonly actor: string
  /** The user whom the actor impersonates, or acts for as an agent. */
  readonly onBehalfOf?: string
}

export const doerOf = (
  userId: string,
  session: Pick<SessionRow, 'impersonator'> | undefined,
): Doer => {
  const admin = session?.impersonator ?? undefined
  return admin === undefined ? { actor: userId } : { actor: admin, onBehalfOf: userId }
}

/** By the id of the session or by the one that tokens name; true also where the session is gone. */
export const isImpersonated = async (
  { db }: Pick<Storage, 'db'>,
  session: string,
): Promise<boolean> => {
  const row = await db
    .selectFrom('sessions')
    .select('impersonator')
    .where((eb) => eb.or([eb('id', '=', session), eb('sid', '=', session)]))
    .executeTakeFirst()
  return row?.impersonator !== null
}
