/**
 * Requests of devices (RFC 8628) under the code that a person types: eight letters without vowels, so that no word
 * comes out and none is taken for another (§6.1). The first user who types a code is the only one who can decide on it.
 */

import { randomInt } from 'node:crypto'
import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import { ConstraintError, type Storage } from '#server/storage/contract.ts'
import { guarded, insertRows } from '#server/storage/statements.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import {
  createDecoupledRequests,
  type DecoupledData,
  type DecoupledRequests,
  type DecoupledRow,
  pollInterval,
} from './decoupled-requests.ts'

/** Seconds. */
export const deviceLifetime = 600

const letters = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8
const tries = 5
const claimGuard = 'device-claim'

export interface DeviceRequests extends DecoupledRequests {
  create(
    realm: string,
    clientId: string,
    data: DecoupledData,
  ): Promise<{ deviceCode: string; userCode: string }>
  /** The request of a code, bound to this user from then on. */
  claim(realm: string, userCode: string, userId: string): Promise<DecoupledRow | undefined>
  /** As `claim`, where that was done before. */
  claimed(realm: string, userCode: string, userId: string): Promise<DecoupledRow | undefined>
}

/** As people type it: small letters, with or without a dash, with spaces. */
export const normalCode = (typed: string | undefined): string =>
  (typed ?? '')
    .slice(0, 40)
    .toUpperCase()
    .replaceAll(/[^A-Z]/g, '')

/** As people read it. */
export const shownCode = (code: string): string =>
  code.length > 4 ? `${code.slice(0, 4)}-${code.slice(4)}` : code

const newUserCode = (): string =>
  Array.from({ length }, () => letters[randomInt(letters.length)]).join('')

export const createDeviceRequests = (parts: {
  readonly storage: Storage
  readonly clock: Clock
  readonly grantsStore: GrantsStore
}): DeviceRequests => {
  const { storage, clock } = parts
  const { db } = storage

  const pending = (realm: string, userCode: string) =>
    db
      .selectFrom('device_requests')
      .selectAll()
      .where('realm', '=', realm)
      .where('user_code', '=', userCode)
      .where('status', '=', 'PENDING')
      .where('expires_at', '>', clock.now())

  const insert = async (realm: string, clientId: string, data: DecoupledData) => {
    const [deviceCode, userCode] = [randomToken(), newUserCode()]
    const row = {
      id: sha256(deviceCode),
      realm,
      user_code: userCode,
      client_id: clientId,
      user_id: null,
      data: JSON.stringify(data),
      status: 'PENDING' as const,
      polled_at: 0,
      poll_interval: pollInterval,
      expires_at: clock.now() + deviceLifetime * 1000,
    }
    await storage.append(insertRows(db, 'device_requests', [row]))
    return { deviceCode, userCode }
  }

  const claimed: DeviceRequests['claimed'] = (realm, userCode, userId) =>
    pending(realm, userCode).where('user_id', '=', userId).executeTakeFirst()

  return {
    ...createDecoupledRequests(parts, 'device_requests'),
    claimed,

    create: async (realm, clientId, data) => {
      for (let rest = tries; ; rest -= 1)
        try {
          return await insert(realm, clientId, data)
        } catch (error) {
          const taken = error instanceof ConstraintError && error.constraint === 'unique'
          if (!taken || rest === 1) throw error
        }
    },

    claim: async (realm, userCode, userId) => {
      const row = await pending(realm, userCode).executeTakeFirst()
      if (!row || (row.user_id !== null && row.user_id !== userId)) return undefined
      if (row.user_id === userId) return row
      const take = db
        .updateTable('device_requests')
        .set({ user_id: userId })
        .where('id', '=', row.id)
        .where('user_id', 'is', null)
      await storage.append([guarded(take, claimGuard)])
      return claimed(realm, userCode, userId)
    },
  }
}
