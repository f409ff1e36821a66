/** Names for the ids in audit events. Each is looked up once; what has no name is shown as the beginning of its id. */

import type { UserRecord } from '#schemas/wire/records.ts'

const masterRealm = 'master'
const idPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export type ActorNames = (realm: string, actor: string) => Promise<string>

interface Users {
  find(realm: string, id: string): Promise<Pick<UserRecord, 'username'> | null>
}

export const createActorNames = (users: Users): ActorNames => {
  const known = new Map<string, Promise<string>>()

  const lookUp = async (realm: string, id: string): Promise<string> => {
    // An administrator of the first realm acts in every other.
    for (const place of new Set([realm, masterRealm])) {
      const user = await users.find(place, id).catch(() => null)
      if (user !== null) return user.username
    }
    return id.slice(-12)
  }

  return async (realm, actor) => {
    if (!idPattern.test(actor)) return actor
    const place = `${realm}/${actor}`
    const name = known.get(place) ?? lookUp(realm, actor)
    known.set(place, name)
    return name
  }
}
