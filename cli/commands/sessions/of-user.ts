/** The sessions of a realm, or of one user in it. */

import type { SessionRecord } from '#schemas/wire/records.ts'
import type { OnRealm } from '../../invocation/realm.ts'
import { userNamed } from '../users/named.ts'

export const sessionsOf = async (
  place: OnRealm,
  name: string | undefined,
): Promise<SessionRecord[]> => {
  const user = name === undefined ? undefined : await userNamed(place, name)
  const all = await place.api.sessions.list(place.realm)
  return user === undefined ? all : all.filter(({ userId }) => userId === user.userId)
}
