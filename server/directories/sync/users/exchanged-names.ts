/**
 * Users of one sync who ask for names of each other: two who swap their usernames, or a chain in which each takes the name that
 * the next gives up. A name is free where its owner leaves it in the same sync. Where an owner cannot, those who wait for the
 * name cannot either.
 */

import type { UserRow } from '#server/storage/tables/tables.ts'
import type { PlannedUser } from './planned-user.ts'

/** A change that asks for names that other users have. */
export interface Contested {
  readonly change: PlannedUser
  readonly after: UserRow
  /** The users who have them, by folded name. */
  readonly owners: ReadonlyMap<string, string>
}

export interface Exchange {
  readonly contested: readonly Contested[]
  /** What the other users of the sync become, by id. */
  readonly others: ReadonlyMap<string, UserRow>
  /** Names that they take, by folded name. */
  readonly taken: ReadonlyMap<string, string>
  readonly deleted: ReadonlySet<string>
  readonly namesOf: (user: UserRow) => readonly string[]
}

export interface Exchanged {
  /** Those who wait for each other stand side by side and have the same number. */
  readonly settled: readonly PlannedUser[]
  /** With the user who keeps a name that the change asks for. */
  readonly refused: readonly { readonly change: PlannedUser; readonly owner: string }[]
}

export const exchangeNames = ({
  contested,
  others,
  taken,
  deleted,
  namesOf,
}: Exchange): Exchanged => {
  const exchanging = new Map(contested.map((one) => [one.after.id, one]))
  const claims = new Map(taken)
  /** The entries that wait for a name which a user gives up, by the id of that user. */
  const waiting = new Map<string, Contested[]>()
  const refused = new Map<Contested, string>()

  const givesUp = (owner: string, name: string): boolean => {
    const after = others.get(owner) ?? exchanging.get(owner)?.after
    return deleted.has(owner) || (after !== undefined && !namesOf(after).includes(name))
  }

  /** The user who keeps a name that the change asks for. */
  const keeperOf = ({ after, owners }: Contested): string | undefined => {
    for (const name of namesOf(after)) {
      const claimant = claims.get(name)
      if (claimant !== undefined && claimant !== after.id) return claimant
      const owner = owners.get(name)
      if (owner !== undefined && !givesUp(owner, name)) return owner
    }
    return undefined
  }

  /** A refused user keeps the old names, so every user who waits for one of these names is refused too. */
  const refuse = (first: Contested, keeper: string): void => {
    const open = [{ one: first, owner: keeper }]
    for (let next = open.pop(); next; next = open.pop()) {
      const { one, owner } = next
      if (refused.has(one)) continue
      refused.set(one, owner)
      const { id } = one.after
      open.push(...(waiting.get(id) ?? []).map((other) => ({ one: other, owner: id })))
    }
  }

  for (const one of contested)
    for (const owner of one.owners.values())
      if (exchanging.has(owner)) waiting.set(owner, [...(waiting.get(owner) ?? []), one])
  for (const one of contested) {
    if (refused.has(one)) continue
    const keeper = keeperOf(one)
    if (keeper !== undefined) refuse(one, keeper)
    else for (const name of namesOf(one.after)) claims.set(name, one.after.id)
  }

  const settled: PlannedUser[] = []
  const seen = new Set<Contested>(refused.keys())
  /** All who wait for each other, over however many. */
  const settle = (first: Contested, together: number): void => {
    const open = [first]
    for (let one = open.pop(); one; one = open.pop()) {
      if (seen.has(one)) continue
      seen.add(one)
      settled.push({ ...one.change, together })
      open.push(...(waiting.get(one.after.id) ?? []))
      for (const owner of one.owners.values()) {
        const other = exchanging.get(owner)
        if (other) open.push(other)
      }
    }
  }
  for (const [i, one] of contested.entries()) settle(one, i)

  return {
    settled,
    refused: [...refused].map(([{ change }, owner]) => ({ change, owner })),
  }
}
