/** The audit events of refused anonymous requests: bounded in a flood, and none is lost. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AuditEvent } from '#server/audit/event.ts'
import { createRefusals, type Refusals } from '#server/audit/floods/refusals.ts'

describe('refusals of anonymous requests', () => {
  let events: AuditEvent[]
  let failures: unknown[]
  let isDown: boolean
  let refusals: Refusals

  beforeEach(() => {
    vi.useFakeTimers()
    events = []
    failures = []
    isDown = false
    refusals = createRefusals({
      clock: { now: () => Date.now() },
      recorder: {
        append: async (_, given) => {
          if (isDown) throw new Error('the database is away')
          events.push(...given)
          return []
        },
      },
      logger: { error: (details: unknown) => failures.push(details) },
    })
  })
  afterEach(() => vi.useRealTimers())

  const refuse = (cause: string, more: { isKnown?: boolean; realm?: string } = {}) =>
    refusals.record({
      event: {
        type: 'WORKLOAD_TOKEN',
        realm: more.realm ?? 'acme',
        actor: 'somebody',
        sourceIp: '198.51.100.1',
        outcome: 'FAILURE',
        detail: `${cause}; subject "x"`,
      },
      cause,
      isKnown: more.isKnown ?? false,
    })
  const flood = async () => {
    for (let i = 0; i < 100; i += 1) await refuse('before')
    events = []
  }
  const details = () => events.map(({ detail }) => detail)

  it('are recorded one by one while they are few', async () => {
    for (let i = 0; i < 100; i += 1) await refuse(`cause ${i}`)
    expect(events).toHaveLength(100)
  })

  it('are counted by the minute beyond that, also where no other follows', async () => {
    await flood()
    const since = new Date().toISOString()
    for (let i = 0; i < 500; i += 1) await refuse('no key')
    expect(details()).toEqual(['no key; subject "x"'])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(details()).toEqual(['no key; subject "x"', `499 more since ${since}: no key`])
  })

  it('of one realm take nothing from another', async () => {
    await flood()
    await refuse('no key', { realm: 'other' })
    expect(events).toMatchObject([{ realm: 'other' }])
  })

  it('with made-up issuers do not hide those of a credential, and are bounded', async () => {
    await flood()
    for (let i = 0; i < 1000; i += 1) await refuse(`no credential; issuer "${i}"`)
    await refuse('no key; issuer "real"', { isKnown: true })
    expect(events).toHaveLength(22)
    expect(details().at(-1)).toContain('issuer "real"')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(events).toHaveLength(23)
    expect(details().at(-1)).toMatch(/^979 more since .*: other causes$/)
  })

  it('are recorded before the server ends', async () => {
    await flood()
    for (let i = 0; i < 7; i += 1) await refuse('no key')
    await refusals.close()
    expect(details().at(-1)).toMatch(/^6 more since /)
  })

  it('are in the log where they cannot be recorded', async () => {
    await flood()
    isDown = true
    for (let i = 0; i < 7; i += 1) await refuse('no key')
    await refusals.close()
    expect(JSON.stringify(failures)).toContain('6 more since')
  })

  it('do not wait for their event in a flood, whichever cause comes first', async () => {
    await flood()
    isDown = true
    await expect(refuse('a new cause')).resolves.toBeUndefined()
    await expect(refuse('a new cause')).resolves.toBeUndefined()
    await refusals.close()
  })
})
