/** Reading, checking and planning are linear in the size of the files, measured in function calls, never in time. */

import { describe, expect, it } from 'vitest'
import { actualOf } from '#cli/planning/actual.ts'
import type { RealmPlan } from '#cli/planning/plan.ts'
import { planRealm } from '#cli/planning/plan-realm.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { desiredOf } from '#schemas/realm/desired.ts'
import { flatten } from '#schemas/realm/realm-document.ts'
import { growth } from '../../support/operations.ts'
import { check } from '../validate/check.ts'
import { born, exportOf, type Stored } from './paper-server.ts'

const size = 32
const ours = /\/(?:cli|schemas)\/(?!.*node_modules)/
const source = 'estate'

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

interface Case {
  readonly name: string
  readonly given: (size: number) => Doc
  readonly files: (size: number) => Doc
  readonly planned?: number
}

const client = (clientId: string, more: Doc = {}): Doc => ({
  clientId,
  publicClient: true,
  ...more,
})

const chain = (size: number, more: Doc = {}): Doc[] =>
  upTo(size).map((i) => ({
    name: `r${i}`,
    ...(i + 1 < size ? { composites: [`r${i + 1}`] } : {}),
    ...more,
  }))

const readers = (names: readonly string[]): Doc => ({
  clients: names.map((name) => client(name, { roles: [{ name: 'reader' }] })),
  groups: [{ name: 'all', clientRoles: names.map((name) => `${name}/reader`) }],
})

const groupsBelow = (name: string, names: readonly string[], more: Doc = {}): Doc => ({
  groups: [{ name, ...more, groups: names.map((one) => ({ name: one })) }],
})

const named = (prefix: string, size: number): string[] => upTo(size).map((i) => `${prefix}${i}`)

const cases: readonly Case[] = [
  { name: 'a chain of roles', given: () => ({}), files: (n) => ({ roles: chain(n) }) },
  {
    name: 'a chain of roles that changes',
    given: (n) => ({ roles: chain(n) }),
    files: (n) => ({ roles: chain(n, { description: 'changed' }) }),
  },
  {
    name: 'a chain of roles that goes',
    given: (n) => ({ roles: chain(n) }),
    files: () => ({ roles: [] }),
  },
  {
    name: 'a chain of flows',
    given: () => ({}),
    files: (n) => ({
      flows: upTo(n).map((i) => ({
        alias: `f${i}`,
        authenticationExecutions: [
          i + 1 < n
            ? { flowAlias: `f${i + 1}`, requirement: 'REQUIRED' }
            : { authenticator: 'username-password', requirement: 'REQUIRED' },
        ],
      })),
    }),
  },
  {
    name: 'a flow that runs many others',
    given: () => ({}),
    files: (n) => ({
      settings: { browserFlow: 'all' },
      flows: [
        {
          alias: 'all',
          topLevel: true,
          authenticationExecutions: named('f', n).map((flowAlias) => ({
            flowAlias,
            requirement: 'REQUIRED',
          })),
        },
        ...named('f', n).map((alias) => ({
          alias,
          topLevel: false,
          authenticationExecutions: [
            { authenticator: 'username-password', requirement: 'REQUIRED' },
          ],
        })),
      ],
    }),
  },
  {
    name: 'users who hold the first role of a chain',
    given: () => ({}),
    files: (n) => ({
      roles: chain(n),
      users: named('u', n).map((username) => ({
        username,
        initialPassword: 'correct horse battery staple 42',
        roles: ['r0'],
      })),
    }),
  },
  {
    name: 'renames of clients whose roles one group grants',
    // A search for each reference is short beside the rest, and shows only where there are many.
    planned: 256,
    given: (n) => readers(named('web-', n)),
    files: (n) => {
      const after = readers(named('app-', n))
      const clients = after['clients'] as Doc[]
      return {
        ...after,
        clients: clients.map((one, i) => ({ ...one, renamedFrom: `web-${i}` })),
      }
    },
  },
  {
    name: 'renames of roles in a chain',
    given: (n) => ({ roles: chain(n) }),
    files: (n) => ({
      roles: upTo(n).map((i) => ({
        name: `s${i}`,
        renamedFrom: `r${i}`,
        ...(i + 1 < n ? { composites: [`s${i + 1}`] } : {}),
      })),
    }),
  },
  {
    name: 'renames that each take the name another one leaves',
    given: (n) => ({ roles: named('r', n).map((name) => ({ name })) }),
    files: (n) => ({
      roles: upTo(n).map((i) => ({ name: `r${i + 1}`, renamedFrom: `r${i}` })),
    }),
  },
  {
    name: 'renames that each take the name another one leaves, backwards',
    given: (n) => ({ roles: upTo(n).map((i) => ({ name: `r${10_000 + i}` })) }),
    files: (n) => ({
      roles: upTo(n).map((i) => ({ name: `r${9999 + i}`, renamedFrom: `r${10_000 + i}` })),
    }),
  },
  {
    name: 'renames of what does not exist',
    given: () => ({}),
    files: (n) => ({ roles: upTo(n).map((i) => ({ name: `s${i}`, renamedFrom: `r${i}` })) }),
  },
  {
    name: 'a group that is renamed with all below it',
    given: (n) => groupsBelow('all', named('g', n)),
    files: (n) => groupsBelow('some', named('g', n), { renamedFrom: '/all' }),
  },
  {
    name: 'groups that go, named or along',
    given: (n) => groupsBelow('all', named('g', n)),
    files: () => ({ groups: [] }),
  },
  {
    name: 'clients that one policy names, and that go',
    given: (n) => ({
      clients: [
        client('api', {
          authzPolicies: [{ name: 'all', type: 'client', clients: named('web-', n) }],
        }),
        ...named('web-', n).map((name) => client(name)),
      ],
    }),
    files: () => ({ clients: [client('api', { authzPolicies: [] })] }),
  },
  {
    name: 'a set of which every value is replaced',
    given: (n) => ({
      clients: [client('web', { redirectUris: upTo(n).map((i) => `https://a${i}.example/`) })],
    }),
    files: (n) => ({
      clients: [client('web', { redirectUris: upTo(n).map((i) => `https://b${i}.example/`) })],
    }),
  },
  {
    name: 'references that lead nowhere',
    given: () => ({}),
    files: (n) => ({ roles: [{ name: 'all', composites: named('none-', n) }] }),
  },
]

const stored = (value: Doc): Stored[] => [
  ...born(),
  ...flatten(value)
    .entries.map(desiredOf)
    .map(
      ({ kind, key, body }): Stored => ({
        kind,
        key,
        body,
        origin: 'declared',
        owner: source,
        protected: false,
      }),
    ),
]

const planning = ({ given, files }: Case, n: number): (() => RealmPlan) => {
  const exported = exportOf('acme', stored(given(n)))
  const { entries, listings } = flatten(files(n))
  return () =>
    planRealm({ desired: entries.map(desiredOf), listings }, actualOf(exported), {
      source,
      prune: 'owned',
      differingSecrets: [],
      placeOf: () => undefined,
      secretSourceOf: () => ({ from: 'env', name: 'SECRET' }),
    })
}

describe('files twice as large', () => {
  it.each(cases)('are twice the work to check: $name', async ({ files }) => {
    const prepare = async (n: number) => {
      const text = JSON.stringify({ realm: 'acme', ...files(n) })
      return () => check(text)
    }
    expect(await growth(ours, size, prepare)).toBeLessThan(2.6)
  })

  it.each(cases)('are twice the work to plan: $name', async (one) => {
    const prepare = async (n: number) => {
      const plan = planning(one, n)
      return async () => plan()
    }
    expect(await growth(ours, one.planned ?? size, prepare)).toBeLessThan(2.6)
  })
})

describe('a long chain', () => {
  const isChain = ({ name }: Case): boolean => /chain|another one leaves/.test(name)
  it.each(cases.filter(isChain))('of 10,000 links is planned: $name', (one) => {
    const { changes, problems } = planning(one, 10_000)()
    expect(problems).toEqual([])
    expect(changes.length).toBeGreaterThanOrEqual(10_000)
  })
})
