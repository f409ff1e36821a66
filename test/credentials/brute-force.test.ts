import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { Reservation } from '#server/credentials/guessing/brute-force.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { LoginGuardRow } from '#server/storage/tables/tables.ts'
import { backends, type OpenBackend } from '../support/backends.ts'
import { type Accounts, addRealm, createAccounts, defaultSettings } from '../users/fixture.ts'

const settings = (changes: Partial<SettingsDoc> = {}): SettingsDoc =>
  defaultSettings({ failureFactor: 3, addressFailureFactor: 100, ...changes })

const turn = <T>(value: T): Promise<T> => new Promise((resolve) => setImmediate(resolve, value))

describe.each(backends)('counting of failed attempts on $name', (backend) => {
  let open: OpenBackend
  let storage: Storage
  let accounts: Accounts
  let realm: string

  beforeAll(async () => {
    open = await backend.open()
    storage = open.storage
  })
  afterAll(() => open.close())
  beforeEach(async () => {
    accounts = createAccounts(storage)
    realm = await addRealm(storage)
  })

  interface Try {
    userId?: string
    name?: string
    address?: string
    settings?: SettingsDoc
  }
  const reserve = ({ userId, name = 'anna', address = '192.0.2.1', ...rest }: Try = {}) =>
    accounts.bruteForce.reserve({
      realm,
      userId,
      name,
      address,
      settings: rest.settings ?? settings(),
    })
  const reserved = async (given?: Try): Promise<Reservation> => {
    const reservation = await reserve(given)
    if (typeof reservation === 'string') throw new Error(`it is ${reservation}`)
    return reservation
  }
  const fail = async (given?: Try): Promise<boolean> => {
    const { failed, end } = await reserved(given)
    const { statements, lock } = await failed()
    await storage.commit(statements)
    end()
    return lock !== undefined
  }
  const guards = (): Promise<LoginGuardRow[]> =>
    storage.db
      .selectFrom('login_guards')
      .selectAll()
      .where('realm', '=', realm)
      .orderBy('subject')
      .execute()

  it('reserves no more attempts than failures are left until the lock', async () => {
    const results = await Promise.all(Array.from({ length: 20 }, () => reserve()))
    expect(results.filter((result) => typeof result === 'object')).toHaveLength(3)
    expect(results.filter((result) => result === 'taken')).toHaveLength(17)
    expect(await reserve()).toBe('taken')
    const [one] = results.filter((result) => typeof result === 'object')
    await storage.commit(one?.released() ?? [])
    one?.end()
    expect(await reserve()).toBeTypeOf('object')
    expect(await reserve()).toBe('taken')
  })

  it('gives no reservation for a failure that is counted while it is asked for', async () => {
    const held = await Promise.all(Array.from({ length: 3 }, () => reserved()))
    const settled = held.map(async ({ failed, end }) => {
      for (let done = false; !done; ) {
        const { statements } = await failed()
        done = await storage.commit(statements).then(
          () => true,
          () => false,
        )
      }
      end()
    })
    const asked: unknown[] = []
    for (let isSettling = true; isSettling; ) {
      asked.push(await reserve())
      isSettling = await Promise.race([Promise.all(settled).then(() => false), turn(true)])
    }
    expect(asked.filter((result) => typeof result === 'object')).toEqual([])
    expect(await reserve()).toBe('locked')
  })

  it('locks at the limit, longer each time, up to the longest', async () => {
    const waiting = settings({ waitIncrementSeconds: 60, maxFailureWaitSeconds: 100 })
    for (const seconds of [60, 100]) {
      expect(await fail({ settings: waiting })).toBe(false)
      expect(await fail({ settings: waiting })).toBe(false)
      expect(await fail({ settings: waiting })).toBe(true)
      expect(await reserve({ settings: waiting })).toBe('locked')
      accounts.clock.advance(seconds - 1)
      expect(await reserve({ settings: waiting })).toBe('locked')
      accounts.clock.advance(1)
    }
    expect(await reserve({ settings: waiting })).toBeTypeOf('object')
  })

  it('counts a name that nobody has like a user, in any spelling, and keeps it unreadable', async () => {
    await fail({ name: 'Nobody' })
    await fail({ name: ' ＮＯＢＯＤＹ' })
    expect(await fail({ name: 'nobody' })).toBe(true)
    expect(await reserve({ name: 'nobody' })).toBe('locked')
    expect(JSON.stringify(await guards())).not.toMatch(/nobody/i)
  })

  it('forgets the failures of a user who signs in, not those of the address', async () => {
    await fail({ userId: 'u1' })
    await fail({ userId: 'u1' })
    const { succeeded, end } = await reserved({ userId: 'u1' })
    await storage.commit(succeeded())
    end()
    expect(await guards()).toMatchObject([
      { subject: 'addr:192.0.2.1', failures: 2, reserved: 0 },
      { subject: 'user:u1', failures: 0, reserved: 0 },
    ])
  })

  it('gives a reservation back without counting', async () => {
    for (let index = 0; index < 4; index += 1) {
      const { released, end } = await reserved()
      await storage.commit(released())
      end()
    }
    expect((await guards()).every(({ failures, reserved }) => failures + reserved === 0)).toBe(true)
  })

  it('locks an address that tries many names, and its whole IPv6 /64', async () => {
    const strict = settings({ addressFailureFactor: 2 })
    await fail({ name: 'a', address: '2001:db8:0:1::1', settings: strict })
    await fail({ name: 'b', address: '2001:db8:0:1:ffff::2', settings: strict })
    const at = (address: string) => reserve({ name: 'c', address, settings: strict })
    expect(await at('2001:db8:0:1::3')).toBe('locked')
    expect(await at('2001:db8:0:2::3')).toBeTypeOf('object')
    accounts.clock.advance(60)
    expect(await at('2001:db8:0:1::3')).toBeTypeOf('object')
  })

  it('takes a mapped IPv4 address for that IPv4 address', async () => {
    await fail({ name: 'a', address: '::ffff:192.0.2.7' })
    expect((await guards()).map(({ subject }) => subject)).toContain('addr:192.0.2.7')
  })

  it('caps the lock of an address as that of a user', async () => {
    const strict = settings({
      addressFailureFactor: 1,
      waitIncrementSeconds: 60,
      maxFailureWaitSeconds: 90,
    })
    for (const [index, seconds] of [60, 90].entries()) {
      await fail({ name: `n${index}`, settings: strict })
      const [address] = await guards()
      expect(address?.locked_until).toBe(accounts.clock.now() + seconds * 1000)
      accounts.clock.advance(seconds)
    }
  })

  it('forgets failures after the time that the realm says', async () => {
    const forgetful = settings({ maxDeltaTimeSeconds: 600 })
    await fail({ settings: forgetful })
    await fail({ settings: forgetful })
    accounts.clock.advance(601)
    expect(await fail({ settings: forgetful })).toBe(false)
    expect(await reserve({ settings: forgetful })).toBeTypeOf('object')
  })

  /** Reserved by another process: in the rows, and nothing of it in the memory of this one. */
  const reservedElsewhere = async (userId?: string): Promise<void> => {
    const { bruteForce } = createAccounts({ ...storage, alone: false })
    const claim = { realm, userId, name: 'anna', address: '192.0.2.1', settings: settings() }
    const reservation = await bruteForce.reserve(claim)
    if (typeof reservation === 'string') throw new Error(`it is ${reservation}`)
    reservation.end()
  }

  it('takes back what a process that died had reserved', async () => {
    for (let index = 0; index < 3; index += 1) await reservedElsewhere()
    expect(await reserve()).toBe('taken')
    accounts.clock.advance(31)
    await reserved()
    const left = storage.alone ? 3 : 1
    expect(await guards()).toMatchObject([{ reserved: left }, { reserved: left }])
  })

  it('gives back its own reservations only', async () => {
    await reservedElsewhere('u1')
    await fail({ userId: 'u1' })
    const { succeeded, end } = await reserved({ userId: 'u1' })
    await storage.commit(succeeded())
    end()
    expect(await guards()).toMatchObject([
      { subject: 'addr:192.0.2.1', failures: 1, reserved: 1 },
      { subject: 'user:u1', failures: 0, reserved: 1 },
    ])
  })

  it('counts every one of many failures that end at once, and says once that it locks', async () => {
    const many = settings({ failureFactor: 8 })
    const held = await Promise.all(Array.from({ length: 8 }, () => reserved({ settings: many })))
    const settle = async ({ failed }: Reservation): Promise<boolean> => {
      for (;;) {
        const { statements, lock } = await failed()
        const done = await storage.commit(statements).then(
          () => true,
          () => false,
        )
        if (done) return lock !== undefined
      }
    }
    const locks = await Promise.all(held.map(settle))
    expect(locks.filter(Boolean)).toHaveLength(1)
    expect((await guards()).map(({ failures }) => failures)).toEqual([8, 8])
  })

  it('is unlocked by an administrator', async () => {
    for (let index = 0; index < 3; index += 1) await fail({ userId: 'u1' })
    expect(await accounts.bruteForce.locked(realm, ['u1', 'u2'], settings())).toEqual(
      new Set(['u1']),
    )
    await storage.commit(accounts.bruteForce.unlockStatements(realm, 'u1'))
    expect(await accounts.bruteForce.locked(realm, ['u1', 'u2'], settings())).toEqual(new Set())
    expect(await reserve({ userId: 'u1' })).toBeTypeOf('object')
  })

  it('does not count where the realm does not want it', async () => {
    const off = settings({ bruteForceProtected: false })
    for (let index = 0; index < 5; index += 1) expect(await fail({ settings: off })).toBe(false)
    expect(await guards()).toEqual([])
  })

  it('removes what no longer counts, and only that', async () => {
    const forgetful = settings({ maxDeltaTimeSeconds: 600 })
    await fail({ name: 'old', settings: forgetful })
    accounts.clock.advance(601)
    await fail({ name: 'new', address: '192.0.2.2', settings: forgetful })
    await storage.commit(accounts.bruteForce.forgetStatements(realm, forgetful))
    const subjects = (await guards()).map(({ subject }) => subject)
    expect(subjects).toHaveLength(2)
    expect(subjects).toContain('addr:192.0.2.2')
  })
})
