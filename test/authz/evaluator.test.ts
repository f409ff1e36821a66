/** The evaluator: the truth table of two policies, and a naive reading of the same rules on generated ones. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AuthzPermissionDoc } from '#schemas/kinds/authorization/authz-permission.ts'
import type { AuthzPolicyDoc } from '#schemas/kinds/authorization/authz-policy.ts'
import { compileRules, type Resource } from '#server/authz/evaluation/evaluate.ts'
import type { Facts } from '#server/authz/evaluation/facts.ts'
import type { DecisionStrategy } from '#server/authz/evaluation/strategy.ts'
import { permissionOf, policyOf, resourceOf } from './documents.ts'
import { naiveStatus } from './naive.ts'

const nobody: Facts = {
  roles: new Set(),
  clientRoles: new Set(),
  groups: new Set(),
  now: Date.parse('2026-06-01T12:00:00Z'),
  shared: new Map(),
}

const settings = {
  allowRemoteResourceManagement: true,
  policyEnforcementMode: 'ENFORCING',
  decisionStrategy: 'UNANIMOUS',
} as const

const strategies: readonly DecisionStrategy[] = ['UNANIMOUS', 'AFFIRMATIVE', 'CONSENSUS']
const book = resourceOf('book', { scopes: ['read', 'write'] })

/** A policy that permits or denies, by a condition that holds or does not. */
const permitting = (name: string, holds: boolean, logic: AuthzPolicyDoc['logic']): AuthzPolicyDoc =>
  policyOf(name, { type: 'role', roles: [holds ? 'held' : 'missing'], logic })

const asHolder: Facts = { ...nobody, roles: new Set(['held']) }

describe('two policies', () => {
  const expected: Readonly<Record<DecisionStrategy, (a: boolean, b: boolean) => boolean>> = {
    UNANIMOUS: (a, b) => a && b,
    AFFIRMATIVE: (a, b) => a || b,
    // A tie is no majority.
    CONSENSUS: (a, b) => a && b,
  }
  const bits = [false, true]
  const table = strategies.flatMap((strategy) =>
    bits.flatMap((a) =>
      bits.flatMap((b) =>
        (['POSITIVE', 'NEGATIVE'] as const).flatMap((first) =>
          (['POSITIVE', 'NEGATIVE'] as const).map((second) => ({ strategy, a, b, first, second })),
        ),
      ),
    ),
  )

  it.each(table)(
    '$strategy of $first($a) and $second($b), of a permission and of an aggregate',
    ({ strategy, a, b, first, second }) => {
      const policies = [permitting('a', a, first), permitting('b', b, second)]
      const permission = permissionOf('p', {
        resources: ['book'],
        policies: ['a', 'b'],
        decisionStrategy: strategy,
      })
      const status = (rules: readonly AuthzPolicyDoc[], of: AuthzPermissionDoc) =>
        compileRules({ settings, policies: rules, permissions: [of] })(asHolder)({ resource: book })
          .status
      const wanted = expected[strategy](a === (first === 'POSITIVE'), b === (second === 'POSITIVE'))
      expect(status(policies, permission)).toBe(wanted ? 'PERMIT' : 'DENY')
      for (const logic of ['POSITIVE', 'NEGATIVE'] as const) {
        const both = policyOf('both', {
          type: 'aggregate',
          policies: ['a', 'b'],
          decisionStrategy: strategy,
          logic,
        })
        const through = permissionOf('p', { resources: ['book'], policies: ['both'] })
        expect(status([...policies, both], through)).toBe(
          wanted === (logic === 'POSITIVE') ? 'PERMIT' : 'DENY',
        )
      }
    },
  )
})

describe('two policies of any types', () => {
  const user = { id: '0192f0c0-0000-7000-8000-000000000001', username: 'alice' }
  const asAlice: Facts = {
    ...asHolder,
    clientRoles: new Set(['web/held']),
    groups: new Set(['/held']),
    clientId: 'held',
    user,
  }
  /** The condition of each type, as it holds for alice and as it does not. */
  const conditions: readonly (readonly [Partial<AuthzPolicyDoc>, Partial<AuthzPolicyDoc>])[] = [
    [
      { type: 'role', roles: ['held'] },
      { type: 'role', roles: ['no'] },
    ],
    [
      { type: 'client-role', clientRoles: ['web/held'] },
      { type: 'client-role', clientRoles: ['web/no'] },
    ],
    [
      { type: 'group', groups: ['/held'] },
      { type: 'group', groups: ['/no'] },
    ],
    [
      { type: 'client', clients: ['held'] },
      { type: 'client', clients: ['no'] },
    ],
    [
      { type: 'user', users: ['alice'] },
      { type: 'user', users: ['bob'] },
    ],
    [
      { type: 'time', hour: 12 },
      { type: 'time', hour: 13 },
    ],
    [
      { type: 'aggregate', policies: ['yes'] },
      { type: 'aggregate', policies: ['no'] },
    ],
  ]
  const always = [permitting('yes', true, 'POSITIVE'), permitting('no', false, 'POSITIVE')]
  const logics = ['POSITIVE', 'NEGATIVE'] as const
  const forms = conditions.flatMap((pair) =>
    pair.flatMap((fields, index) =>
      logics.map((logic) => ({ fields, logic, permits: (index === 0) === (logic === 'POSITIVE') })),
    ),
  )
  const expected: Readonly<Record<DecisionStrategy, (permits: number) => boolean>> = {
    UNANIMOUS: (permits) => permits === 2,
    AFFIRMATIVE: (permits) => permits > 0,
    CONSENSUS: (permits) => permits === 2,
  }

  it.each(strategies)('are combined by %s, whatever their types and logics', (strategy) => {
    let tried = 0
    for (const a of forms)
      for (const b of forms) {
        const evaluate = compileRules({
          settings,
          policies: [
            ...always,
            policyOf('a', { ...a.fields, logic: a.logic }),
            policyOf('b', { ...b.fields, logic: b.logic }),
          ],
          permissions: [
            permissionOf('p', {
              resources: ['book'],
              policies: ['a', 'b'],
              decisionStrategy: strategy,
            }),
          ],
        })(asAlice)
        const wanted = expected[strategy](Number(a.permits) + Number(b.permits))
        const shown = `${a.logic} ${JSON.stringify(a.fields)}, ${b.logic} ${JSON.stringify(b.fields)}`
        expect(evaluate({ resource: book }).status, shown).toBe(wanted ? 'PERMIT' : 'DENY')
        tried++
      }
    expect(tried).toBe((7 * 2 * 2) ** 2)
  })
})

describe('a question that no policy asks', () => {
  const types = ['role', 'client-role', 'group', 'client', 'user', 'time', 'aggregate'] as const

  it.each(types)('is a denial for an empty policy of type %s, also a NEGATIVE one', (type) => {
    for (const logic of ['POSITIVE', 'NEGATIVE'] as const) {
      const evaluate = compileRules({
        settings,
        policies: [policyOf('empty', { type, logic })],
        permissions: [permissionOf('p', { resources: ['book'], policies: ['empty'] })],
      })(asHolder)
      expect(evaluate({ resource: book }).status).toBe('DENY')
    }
  })

  it('is a denial for a permission without policies', () => {
    const permissions = [permissionOf('p', { resources: ['book'] })]
    const evaluate = compileRules({ settings, policies: [], permissions })(asHolder)
    expect(evaluate({ resource: book }).status).toBe('DENY')
  })

  it('ends at a policy that contains itself, and is a denial', () => {
    const evaluate = compileRules({
      settings,
      policies: [
        policyOf('a', { type: 'aggregate', policies: ['b'], logic: 'NEGATIVE' }),
        policyOf('b', { type: 'aggregate', policies: ['a'] }),
      ],
      permissions: [permissionOf('p', { resources: ['book'], policies: ['a', 'b'] })],
    })(asHolder)
    expect(evaluate({ resource: book }).status).toBe('DENY')
  })
})

describe('reasons', () => {
  const user = { id: '0192f0c0-0000-7000-8000-000000000001', username: 'Alice' }
  const cases: readonly [Partial<AuthzPolicyDoc>, Partial<Facts>, 'PERMIT' | 'DENY', string][] = [
    [{ type: 'role', roles: ['a', 'b'] }, { roles: new Set(['b']) }, 'PERMIT', 'has the role b'],
    [{ type: 'role', roles: ['a', 'b'] }, {}, 'DENY', 'has no role of a, b'],
    [
      { type: 'client-role', clientRoles: ['web/r'] },
      { clientRoles: new Set(['web/r']) },
      'PERMIT',
      'has the client role web/r',
    ],
    [
      { type: 'group', groups: ['/A'] },
      { groups: new Set(['/A']) },
      'PERMIT',
      'is in the group /A',
    ],
    [
      { type: 'group', groups: ['/A'] },
      { groups: new Set(['/A/B']) },
      'DENY',
      'is in no group of /A',
    ],
    [
      { type: 'group', groups: ['/A'], extendChildren: true },
      { groups: new Set(['/A/B']) },
      'PERMIT',
      'is in the group /A/B',
    ],
    [
      { type: 'group', groups: ['/A'], extendChildren: true },
      { groups: new Set(['/AB']) },
      'DENY',
      'is in no group of /A',
    ],
    [{ type: 'client', clients: ['web'] }, { clientId: 'web' }, 'PERMIT', 'the client is web'],
    [{ type: 'client', clients: ['web'] }, { clientId: 'app' }, 'DENY', 'the client is app'],
    [{ type: 'user', users: ['alice'] }, { user }, 'PERMIT', 'the user is alice'],
    [{ type: 'user', users: [user.id] }, { user }, 'PERMIT', `the user is ${user.id}`],
    [
      { type: 'user', users: [user.id] },
      { user: { id: '0192f0c0-0000-7000-8000-000000000002', username: user.id } },
      'DENY',
      `the user is none of ${user.id}`,
    ],
    [
      { type: 'time', notBefore: '2026-06-01T12:00:01Z' },
      {},
      'DENY',
      '2026-06-01T12:00:00.000Z is before notBefore 2026-06-01T12:00:01Z',
    ],
    [
      { type: 'time', notOnOrAfter: '2026-06-01T12:00:00Z' },
      {},
      'DENY',
      '2026-06-01T12:00:00.000Z is not before notOnOrAfter 2026-06-01T12:00:00Z',
    ],
    [
      { type: 'time', notBefore: '2026-06-01T12:00:00Z', notOnOrAfter: '2026-06-01T12:00:01Z' },
      {},
      'PERMIT',
      '2026-06-01T12:00:00.000Z is within notBefore 2026-06-01T12:00:00Z, notOnOrAfter 2026-06-01T12:00:01Z',
    ],
    [
      { type: 'time', hour: 9, hourEnd: 11, timeZone: 'Europe/Amsterdam' },
      {},
      'DENY',
      '2026-06-01T12:00:00.000Z is hour 14 in Europe/Amsterdam, not hour 9 to 11',
    ],
    [
      { type: 'time', month: 6, hour: 22, hourEnd: 14, timeZone: 'Europe/Amsterdam' },
      {},
      'PERMIT',
      '2026-06-01T12:00:00.000Z is within month 6, hour 22 to 14 in Europe/Amsterdam',
    ],
  ]

  it.each(cases)('%o of %o: %s, because %s', (policy, facts, status, why) => {
    const evaluate = compileRules({
      settings,
      policies: [policyOf('p', policy)],
      permissions: [permissionOf('q', { resources: ['book'], policies: ['p'] })],
    })({ ...nobody, ...facts })
    const [answer] = evaluate({ resource: book }).scopes
    expect(answer?.permissions()[0]?.policies).toEqual([
      { name: 'p', type: policy.type, logic: 'POSITIVE', status, why },
    ])
  })
})

it('names some of many that are missing, and tells how many more: the reason stands in every answer (CWE-405)', () => {
  const users = Array.from({ length: 4000 }, (_, i) => `user-${i}`.padEnd(200, '-'))
  const evaluate = compileRules({
    settings,
    policies: [policyOf('many', { type: 'user', users })],
    permissions: [permissionOf('p', { resources: ['book'], policies: ['many'] })],
  })({ ...nobody, user: { id: 'u1', username: 'bob' } })
  const [answer] = evaluate({ resource: book }).scopes
  expect(answer?.permissions()[0]?.policies[0]?.why).toBe(
    `the user is none of ${users[0]}, 3999 more`,
  )
})

it('explains an aggregate by its count and by the answers of the policies in it, however deep', () => {
  const evaluate = compileRules({
    settings,
    policies: [
      permitting('held', true, 'POSITIVE'),
      permitting('missing', false, 'POSITIVE'),
      policyOf('inner', {
        type: 'aggregate',
        policies: ['held', 'missing'],
        decisionStrategy: 'AFFIRMATIVE',
      }),
      policyOf('outer', {
        type: 'aggregate',
        policies: ['inner', 'missing'],
        logic: 'NEGATIVE',
      }),
    ],
    permissions: [permissionOf('p', { resources: ['book'], policies: ['outer'] })],
  })(asHolder)
  const [answer] = evaluate({ resource: book }).scopes
  const leaf = { type: 'role', logic: 'POSITIVE' }
  const missing = { name: 'missing', ...leaf, status: 'DENY', why: 'has no role of missing' }
  expect(answer?.permissions()[0]?.policies).toEqual([
    {
      name: 'outer',
      type: 'aggregate',
      logic: 'NEGATIVE',
      status: 'PERMIT',
      why: '1 of 2 policies permit, UNANIMOUS',
      policies: [
        {
          name: 'inner',
          type: 'aggregate',
          logic: 'POSITIVE',
          status: 'PERMIT',
          why: '1 of 2 policies permit, AFFIRMATIVE',
          policies: [
            { name: 'held', ...leaf, status: 'PERMIT', why: 'has the role held' },
            missing,
          ],
        },
        missing,
      ],
    },
  ])
})

const names = ['a', 'b', 'c', 'd'] as const
const scopeNames = ['read', 'write', 'share'] as const
const some = <T>(values: readonly T[]) => fc.subarray([...values])
const strategyOf = fc.constantFrom(...strategies)
const logicOf = fc.constantFrom('POSITIVE' as const, 'NEGATIVE' as const)

/** A policy refers to earlier ones alone, so that there is no circle. */
const policiesOf = fc.tuple(
  ...names.map((name, index) =>
    fc.record({
      name: fc.constant(name),
      type: fc.constantFrom('role', 'group', 'client', 'user', 'time', 'aggregate' as const),
      logic: logicOf,
      decisionStrategy: strategyOf,
      roles: some(['r1', 'r2']),
      groups: some(['/A', '/A/B']),
      extendChildren: fc.boolean(),
      clients: some(['web', 'app']),
      users: some(['alice', 'bob']),
      notBefore: fc.constantFrom(undefined, '2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z'),
      policies: some(names.slice(0, index)),
    }),
  ),
)

const permissionsOf = fc.array(
  fc.record({
    type: fc.constantFrom('resource' as const, 'scope' as const),
    decisionStrategy: strategyOf,
    resources: some(['book', 'shelf']),
    resourceType: fc.constantFrom(undefined, 'paper'),
    scopes: some(scopeNames),
    policies: some(names),
  }),
  { maxLength: 4 },
)

const factsOf = fc.record({
  roles: some(['r1', 'r2']).map((list) => new Set(list)),
  groups: some(['/A', '/A/B', '/C']).map((list) => new Set(list)),
  clientId: fc.constantFrom(undefined, 'web', 'app'),
  user: fc.constantFrom(undefined, { id: 'x', username: 'alice' }, { id: 'y', username: 'carol' }),
})

const resources: readonly Resource[] = [
  resourceOf('book', { scopes: ['read', 'write'], type: 'paper' }),
  resourceOf('shelf', { scopes: [] }),
  resourceOf('diary', {
    scopes: ['read', 'share'],
    type: 'paper',
    owner: 'alice',
    ownerManagedAccess: true,
  }),
]

it('answers as a naive reading of the rules does', () => {
  fc.assert(
    fc.property(
      policiesOf,
      permissionsOf,
      factsOf,
      strategyOf,
      fc.constantFrom('ENFORCING' as const, 'PERMISSIVE' as const, 'DISABLED' as const),
      (policies, permissions, given, decisionStrategy, policyEnforcementMode) => {
        const rules = {
          settings: { ...settings, decisionStrategy, policyEnforcementMode },
          policies: policies.map((one) => policyOf(one.name, one as Partial<AuthzPolicyDoc>)),
          permissions: permissions.map((one, index) => permissionOf(`p${index}`, one)),
        }
        const facts: Facts = { ...nobody, ...given }
        const evaluate = compileRules(rules)(facts)
        for (const resource of resources)
          for (const { scope, status } of evaluate({ resource }).scopes)
            expect(status).toBe(naiveStatus(rules, facts, resource, scope))
      },
    ),
    { numRuns: 500 },
  )
})
