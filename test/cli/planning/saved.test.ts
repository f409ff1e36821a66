/** Saved plans: applied unchanged, or refused. */

import { describe, expect, it } from 'vitest'
import { CommandError, exitCodes } from '#cli/exit.ts'
import { actualOfNewRealm } from '#cli/planning/actual.ts'
import { toOperations } from '#cli/planning/operations.ts'
import type { Change, Plan } from '#cli/planning/plan.ts'
import { planRealm } from '#cli/planning/plan-realm.ts'
import { parsePlan, serializePlan } from '#cli/planning/saved.ts'
import { desiredOf } from '#schemas/realm/desired.ts'
import { flatten } from '#schemas/realm/realm-document.ts'

const value = {
  realm: 'acme',
  clients: [{ clientId: 'api', secret: 'a secret of at least 32 characters' }],
  roles: [{ name: 'auditor', permissions: ['view-events'] }],
}
const { entries, listings } = flatten(value)
const realm = planRealm({ desired: entries.map(desiredOf), listings }, actualOfNewRealm('acme'), {
  source: 'estate',
  prune: 'owned',
  differingSecrets: [],
  placeOf: () => ({ file: 'acme.yaml', line: 1, column: 1 }),
  secretSourceOf: (pointer) => ({ from: 'literal', file: 'acme.yaml', pointer }),
})
const plan: Plan = {
  formatVersion: 1,
  version: '1.0.0',
  createdAt: '2026-01-01T00:00:00.000Z',
  server: 'https://id.example',
  guards: { maxDeletions: 20 },
  realms: [realm],
}

const refusal = (text: string): CommandError => {
  try {
    parsePlan(text, 'a.plan')
  } catch (error) {
    if (error instanceof CommandError) return error
    throw error
  }
  throw new Error('it was accepted')
}

/** The saved plan with something changed, and a digest that does not know about it. */
const edited = (edit: (saved: Record<string, unknown>) => void): string => {
  const saved = JSON.parse(serializePlan(plan)) as Record<string, unknown>
  edit(saved)
  return JSON.stringify(saved)
}

describe('a saved plan', () => {
  it('is read again as it was, also after its white space changed', () => {
    expect(parsePlan(serializePlan(plan), 'a.plan')).toEqual(plan)
    expect(parsePlan(JSON.stringify(JSON.parse(serializePlan(plan))), 'a.plan')).toEqual(plan)
  })

  it('holds where secrets come from, and none of them', () => {
    expect(serializePlan(plan)).not.toContain('a secret of at least')
    expect(realm.changes.flatMap(({ secrets }) => secrets)).toEqual([
      {
        pointer: '/secret',
        change: 'set',
        source: { from: 'literal', file: 'acme.yaml', pointer: '/clients/0/secret' },
      },
    ])
  })

  it('is refused where somebody edited it', () => {
    const error = refusal(
      edited((saved) => {
        saved['server'] = 'https://evil.example'
      }),
    )
    expect(error.message).toBe('a.plan was changed after it was saved')
    expect(error.exitCode).toBe(exitCodes.invalid)
    expect(error.hint).toContain('iamctl plan --out')
  })

  it('is refused where a field was added, as anywhere else', () => {
    const text = edited((saved) => {
      saved['note'] = 'mine'
    })
    expect(refusal(text).message).toBe('a.plan was changed after it was saved')
  })

  it('is refused in another format, cut off, or where it is something else', () => {
    expect(
      refusal(
        edited((saved) => {
          saved['formatVersion'] = 2
        }),
      ).message,
    ).toBe('a.plan has format 2, and this program reads format 1')
    expect(refusal(serializePlan(plan).slice(0, 100)).message).toContain('not JSON')
    expect(refusal('{}').message).toContain('no formatVersion')
    expect(refusal('null').message).toContain('no formatVersion')
    expect(refusal(JSON.stringify(plan)).message).toContain('no digest')
  })

  it('is refused where its digest is right and its content is none of ours', () => {
    const odd = { ...plan, extra: true } as Plan
    expect(refusal(serializePlan(odd)).message).toContain('/extra')
    const kind = {
      ...plan,
      realms: [{ ...realm, changes: [{ ...realm.changes[0], kind: 'nothing' } as Change] }],
    }
    expect(refusal(serializePlan(kind)).message).toContain('/realms/0/changes/0/kind')
  })
})

describe('the operations of a plan', () => {
  it('are in its order, bound to what was there, with secrets fetched as they are sent', () => {
    expect(toOperations(realm, (change, { pointer }) => `${change.key}${pointer}`)).toEqual([
      {
        op: 'put',
        kind: 'role',
        key: 'auditor',
        doc: {
          name: 'auditor',
          description: 'Sees clients, users and events.',
          permissions: ['view-events'],
        },
        ifHash: realm.changes[0]?.ifHash,
        protected: false,
      },
      {
        op: 'put',
        kind: 'client',
        key: 'api',
        doc: { clientId: 'api' },
        ifHash: null,
        secrets: { '/secret': 'api/secret' },
        protected: false,
      },
    ])
    expect(realm.changes[0]?.ifHash).toMatch(/^[0-9a-f]{64}$/)
  })
})
