/** Names of users that events hold by id, as far as the caller may see them. */

import type { EventRecord } from '#schemas/wire/events.ts'
import { isUuid } from '../../client/document-paths.ts'
import { ProblemError } from '../../client/http/errors.ts'
import { CommandError } from '../../exit.ts'
import type { OnRealm } from '../../invocation/realm.ts'
import { peopleOf } from '../../views/human/live/events.ts'

/** The most names that are looked up by a request each. */
const mostNames = 25

/** Null if there is no such user, or if the caller may not read users. */
const userOrNull = async ({ api }: Pick<OnRealm, 'api'>, realm: string, name: string) => {
  try {
    return await api.users.find(realm, name)
  } catch (error) {
    if (error instanceof ProblemError || error instanceof CommandError) return null
    throw error
  }
}

/** Events record users by id; an unknown name is used as it is, as for a failed sign-in. */
export const actorOf = async (
  place: OnRealm,
  name: string | undefined,
): Promise<string | undefined> => {
  if (name === undefined || isUuid(name)) return name
  return (await userOrNull(place, place.realm, name))?.userId ?? name
}

export const namesOf = async (
  place: OnRealm,
  events: readonly EventRecord[],
): Promise<ReadonlyMap<string, string>> => {
  const ids = [...new Set(events.flatMap(peopleOf).filter(isUuid))].slice(0, mostNames)
  const { realm, target } = place
  const names = new Map<string, string>()
  for (const id of ids)
    for (const where of new Set([realm, target.authRealm])) {
      const user = await userOrNull(place, where, id)
      if (user !== null)
        names.set(id, where === realm ? user.username : `${user.username} (${where})`)
      if (user !== null) break
    }
  return names
}
