/** Users on a real database, with a fixed clock and a hasher that is free and counts its calls. */

import { setTimeout as pause } from 'node:timers/promises'
import { createAjv } from '#schemas/ajv.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import type { UserFields } from '#schemas/wire/records.ts'
import { createRecorder, type Recorder } from '#server/audit/audit.ts'
import { createPersonalKeys } from '#server/audit/personal-keys.ts'
import type { Attempt } from '#server/credentials/attempt.ts'
import { type Authenticator, createAuthenticator } from '#server/credentials/authenticator.ts'
import { type BruteForce, createBruteForce } from '#server/credentials/guessing/brute-force.ts'
import { createDecoys } from '#server/credentials/guessing/decoys.ts'
import { createPasswords, type Passwords } from '#server/credentials/passwords/passwords.ts'
import { newId } from '#server/platform/ids.ts'
import type { BreachCheck } from '#server/platform/passwords/breach.ts'
import type { Hasher } from '#server/platform/passwords/hasher.ts'
import { keyringFrom } from '#server/platform/sealing.ts'
import type { Storage } from '#server/storage/contract.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { createUsers, type Users } from '#server/users/users.ts'

const keyring = keyringFrom([Uint8Array.from({ length: 32 }, (_, i) => i)])

export interface TestClock {
  now(): number
  advance(seconds: number): void
}

export const createTestClock = (): TestClock => {
  let now = 1_800_000_000_000
  return {
    now: () => now,
    advance: (seconds) => {
      now += seconds * 1000
    },
  }
}

/** `evaluated` counts how often a password was compared with a hash, a decoy included. */
export interface CountingHasher extends Hasher {
  evaluated: number
  hashed: number
}

export const createCountingHasher = (delayMs = 0): CountingHasher => {
  const hasher: CountingHasher = {
    evaluated: 0,
    hashed: 0,
    hash: async (password) => {
      hasher.hashed += 1
      return `new$${password}`
    },
    verify: async (phc, password) => {
      hasher.evaluated += 1
      if (delayMs > 0) await pause(delayMs)
      return phc.slice(phc.indexOf('$') + 1) === password
    },
    verifyDecoy: async () => {
      hasher.evaluated += 1
      if (delayMs > 0) await pause(delayMs)
      return false
    },
    needsRehash: (phc) => phc.startsWith('old$'),
    waiting: () => 0,
    close: async () => {},
  }
  return hasher
}

const validateSettings = createAjv().compile(Settings.spec)

export const defaultSettings = (changes: Partial<SettingsDoc> = {}): SettingsDoc => {
  const settings: unknown = {}
  if (!validateSettings(settings)) throw new Error('settings have no defaults')
  return { ...(settings as SettingsDoc), ...changes }
}

export const breachOf = (...passwords: string[]): BreachCheck => ({
  isBreached: async (password) => passwords.includes(password),
})

export interface Accounts {
  readonly storage: Storage
  readonly clock: TestClock
  readonly hasher: CountingHasher
  readonly recorder: Recorder
  readonly users: Users
  readonly passwords: Passwords
  readonly bruteForce: BruteForce
  readonly authenticator: Authenticator
}

export const createAccounts = (
  storage: Storage,
  {
    clock = createTestClock(),
    hasher = createCountingHasher(),
    breach = breachOf(),
    concurrency = 4,
    maxWaitMs,
  }: {
    clock?: TestClock
    hasher?: CountingHasher
    breach?: BreachCheck
    concurrency?: number
    maxWaitMs?: number
  } = {},
): Accounts => {
  const recorder = createRecorder({
    storage,
    clock,
    personalKeys: createPersonalKeys({ storage, keyring }),
    sinks: [],
  })
  const users = createUsers(storage)
  const decoys = createDecoys({ storage, clock, key: new Uint8Array(32) })
  const passwords = createPasswords({ hasher, breach, decoys, storage, clock })
  const bruteForce = createBruteForce({ storage, clock })
  const authenticator = createAuthenticator({
    storage,
    recorder,
    users,
    passwords,
    bruteForce,
    concurrency,
    ...(maxWaitMs === undefined ? {} : { maxWaitMs }),
  })
  return { storage, clock, hasher, recorder, users, passwords, bruteForce, authenticator }
}

export const addRealm = async (storage: Storage, name = `r${newId()}`): Promise<string> => {
  await storage.commit(
    insertRows(storage.db, 'realms', [{ name, revision: 1, seq: 1, created_at: 0 }]),
  )
  return name
}

/** A user with the password, stored without asking any policy. */
export const addUser = async (
  { storage, users, clock }: Pick<Accounts, 'storage' | 'users' | 'clock'>,
  realm: string,
  { password, ...fields }: Partial<UserFields> & { username: string; password?: string },
): Promise<UserRow> => {
  const user = newUserRow(fields, { id: newId(), realm, now: clock.now() })
  const credential = {
    id: newId(),
    realm,
    user_id: user.id,
    type: 'password',
    label: null,
    priority: 0,
    secret: `new$${password}`,
    created_at: clock.now(),
    used: 0,
  }
  await storage.commit([
    ...users.createStatements(user),
    ...insertRows(storage.db, 'credentials', password === undefined ? [] : [credential]),
  ])
  return user
}

/** One attempt from a fixed address, recorded when it succeeds. */
export const signIn = async (
  { authenticator }: Accounts,
  attempt: Omit<Attempt, 'address'>,
): Promise<'success' | 'failure' | 'busy' | 'away'> => {
  const { realm } = attempt
  const address = '192.0.2.1'
  const { outcome } = await authenticator.attempt({ ...attempt, address }, ({ id: actor }) => ({
    statements: [],
    events: [{ type: 'LOGIN_SUCCESS', realm, actor, sourceIp: address, outcome: 'SUCCESS' }],
    value: undefined,
  }))
  return outcome
}

export const auditOf = async (
  { db }: Storage,
  realm: string,
): Promise<{ type: string; actor: string; detail: string | null }[]> =>
  db
    .selectFrom('audit_events')
    .select(['type', 'actor', 'detail'])
    .where('realm', '=', realm)
    .orderBy('id')
    .execute()
