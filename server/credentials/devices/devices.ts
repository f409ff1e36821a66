/**
 * Devices of users as a factor: each has a key of its own, and an address for push messages. A device is enrolled in two
 * steps, so that its key is shown to be its own: the token that the user got is exchanged for a challenge, once, and the
 * challenge is signed, once.
 */

import { endOf } from '#schemas/text/storable-text.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Keyring } from '#server/platform/sealing.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded, insertRows, statement, take } from '#server/storage/statements.ts'
import type { DeviceEnrolmentRow } from '#server/storage/tables/sign-in-tables.ts'
import type { CredentialRow, PushTokenRow, UserRow } from '#server/storage/tables/tables.ts'
import type { Factors } from '../factors/factors.ts'
import { type DeviceJwk, isSignedBy } from './device-keys.ts'
import { pushTokenContext } from './push-tokens.ts'

export const deviceType = 'push'
export const enrolmentGuard = 'device-enrolment'
const tokenMs = 10 * 60_000
const challengeMs = 5 * 60_000

export const platforms = ['android', 'ios'] as const
export type Platform = (typeof platforms)[number]

/** The messaging driver of each platform. */
const driverOf: Readonly<Record<Platform, string>> = { android: 'fcm', ios: 'apns' }

/** What is stored of a device; nothing of it is secret. */
export interface StoredDevice {
  readonly deviceId: string
  readonly platform: Platform
  readonly jwk: DeviceJwk
}

export interface Device extends StoredDevice {
  readonly row: CredentialRow
}

/** Where a device takes messages. */
export interface DeviceAddress {
  readonly token: string
  readonly driver: string
}

export interface NewDevice extends StoredDevice {
  readonly pushToken: string
  /** Of the challenge. */
  readonly signature: string
}

export interface Devices {
  of(userId: string): Promise<Device[]>
  /** Of enrolled devices alone: an address by itself is no factor. */
  addressesOf(user: UserRow): Promise<DeviceAddress[]>
  /** The token is good once, for a while. */
  permit(
    user: UserRow,
    label: string | null,
  ): { readonly token: string; readonly expiresAt: number; readonly statements: Statement[] }
  /** The statement fails the guard where the token is not good, or not any more. */
  start(
    realm: string,
    token: string,
  ): {
    readonly deviceId: string
    readonly challenge: string
    readonly expiresAt: number
    readonly statements: Statement[]
  }
  /** An enrolment that waits for its signature. */
  started(realm: string, deviceId: string): Promise<DeviceEnrolmentRow | undefined>
  /** Undefined where the signature is not of the key. */
  enrol(
    enrolment: DeviceEnrolmentRow,
    device: NewDevice,
  ): { readonly row: CredentialRow; readonly statements: Statement[] } | undefined
  forgetStatements(): Statement[]
}

export interface DeviceParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keyring: Keyring
  readonly factors: Pick<Factors, 'ofType'>
}

export const createDevices = ({
  storage: { db },
  clock,
  keyring,
  factors,
}: DeviceParts): Devices => {
  const of: Devices['of'] = async (userId) =>
    (await factors.ofType(userId, deviceType)).map((row) => ({
      ...(JSON.parse(row.secret) as StoredDevice),
      row,
    }))

  const addressRow = (
    { realm, user_id }: DeviceEnrolmentRow,
    { deviceId, platform, pushToken }: NewDevice,
  ): PushTokenRow => {
    const id = newId()
    const sealed = keyring.seal(pushToken, pushTokenContext(realm, id))
    return {
      id,
      realm,
      user_id,
      device_id: deviceId,
      platform,
      driver: driverOf[platform],
      token: JSON.stringify(sealed),
      token_hint: endOf(pushToken, 4),
      created_at: clock.now(),
      last_seen_at: null,
    }
  }

  return {
    of,

    async addressesOf({ id: userId }) {
      const devices = await of(userId)
      if (devices.length === 0) return []
      const rows = await db
        .selectFrom('push_tokens')
        .selectAll()
        .where('user_id', '=', userId)
        .where(
          'device_id',
          'in',
          devices.map(({ deviceId }) => deviceId),
        )
        .execute()
      return rows.map(({ id, realm, driver, token }) => ({
        driver,
        token: keyring.open(JSON.parse(token), pushTokenContext(realm, id)),
      }))
    },

    permit({ id: user_id, realm }, label) {
      const token = randomToken()
      const expires_at = clock.now() + tokenMs
      const row = { id: sha256(token), realm, user_id, label, expires_at }
      return {
        token,
        expiresAt: expires_at,
        statements: insertRows(db, 'device_enrolments', [
          { ...row, device_id: null, challenge: null },
        ]),
      }
    },

    start(realm, token) {
      const [deviceId, challenge] = [newId(), randomToken()]
      const now = clock.now()
      const expiresAt = now + challengeMs
      const use = db
        .updateTable('device_enrolments')
        .set({ device_id: deviceId, challenge, expires_at: expiresAt })
        .where('id', '=', sha256(token))
        .where('realm', '=', realm)
        .where('device_id', 'is', null)
        .where('expires_at', '>', now)
      return { deviceId, challenge, expiresAt, statements: [guarded(use, enrolmentGuard)] }
    },

    started: (realm, deviceId) =>
      db
        .selectFrom('device_enrolments')
        .selectAll()
        .where('device_id', '=', deviceId)
        .where('realm', '=', realm)
        .where('expires_at', '>', clock.now())
        .executeTakeFirst(),

    enrol(enrolment, device) {
      const { id, realm, user_id, label, challenge } = enrolment
      const { deviceId, platform, jwk, signature } = device
      if (challenge === null || !isSignedBy(jwk, Buffer.from(challenge), signature))
        return undefined
      const stored: StoredDevice = { deviceId, platform, jwk }
      const row: CredentialRow = {
        id: newId(),
        realm,
        user_id,
        type: deviceType,
        label,
        priority: 10,
        secret: JSON.stringify(stored),
        created_at: clock.now(),
        used: 0,
      }
      return {
        row,
        statements: [
          take(db, 'device_enrolments', { id, challenge }, enrolmentGuard),
          ...insertRows(db, 'credentials', [row]),
          ...insertRows(db, 'push_tokens', [addressRow(enrolment, device)]),
        ],
      }
    },

    forgetStatements: () => [
      statement(db.deleteFrom('device_enrolments').where('expires_at', '<=', clock.now())),
    ],
  }
}
