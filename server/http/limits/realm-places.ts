/**
 * Places on this node for connections that stay open. A realm holds no more of them than it leaves free, so that its clients
 * keep out those of no other realm (CWE-770).
 */

export interface RealmPlaces {
  /** Gives the place back, once; undefined where the realm gets none now. */
  take(realm: string): (() => void) | undefined
}

export const createRealmPlaces = (most: number): RealmPlaces => {
  const held = new Map<string, number>()
  let taken = 0

  return {
    take: (realm) => {
      const own = held.get(realm) ?? 0
      if (own >= most - taken) return undefined
      held.set(realm, own + 1)
      taken += 1
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        taken -= 1
        const left = (held.get(realm) ?? 1) - 1
        if (left === 0) held.delete(realm)
        else held.set(realm, left)
      }
    },
  }
}
