/** Who does what is done in a session: its user or, where an administrator acts as the user, the administrator. */

import type { SessionRow } from '#server/storage/tables/tables.ts'

export interface Doer {
  readonly actor: string
  /** The user whom the actor impersonates. */
  readonly onBehalfOf?: string
}

export const doerOf = (
  userId: string,
  session: Pick<SessionRow, 'impersonator'> | undefined,
): Doer => {
  const admin = session?.impersonator ?? undefined
  return admin === undefined ? { actor: userId } : { actor: admin, onBehalfOf: userId }
}
