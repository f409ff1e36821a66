/** The next step of a sign-in, derived from its flow alone. */

import { describe, expect, it } from 'vitest'
import {
  afterProof,
  authenticatorIds,
  enrollable,
  identifying,
  isCondition,
  isProof,
} from '#schemas/drivers/authenticators.ts'
import type { FlowDoc } from '#schemas/kinds/sign-in/flow.ts'
import { passageErrors } from '#schemas/rules/sign-in/flow-passage.ts'
import {
  type AuthenticatorNeeds,
  createAuthenticators,
} from '#server/sign-in/authenticators/index.ts'
import { type ConditionNeeds, createConditions } from '#server/sign-in/conditions/index.ts'
import type { PinnedNode } from '#server/sign-in/flow/pinned-flow.ts'
import { type Judge, nextOf, type Progress, type Suitability } from '#server/sign-in/flow/runner.ts'
import { methodKinds } from '#server/sign-in/pages/methods.ts'

type Sketch = readonly [name: string, requirement: string, ...children: (readonly Sketch[])[]]

const nodesOf = (sketches: readonly Sketch[], prefix = ''): PinnedNode[] =>
  sketches.map(([authenticator, requirement, children], index) => {
    const path = `${prefix}${index}`
    const common = { path, requirement: requirement as 'REQUIRED' }
    return children
      ? { ...common, nodes: nodesOf(children, `${path}.`) }
      : { ...common, authenticator, config: {} }
  })

const ask = async (
  sketches: readonly Sketch[],
  suits: Readonly<Record<string, Suitability>> = {},
  progress: Partial<Progress> = {},
) => {
  const judge: Judge = {
    isCondition,
    holds: async ({ authenticator }) => suits[authenticator] === 'ready',
    suits: async ({ authenticator }) => suits[authenticator] ?? 'ready',
  }
  const { next } = await nextOf(
    { alias: 'x', nodes: nodesOf(sketches) },
    { done: [], conditions: {}, chosen: {}, ...progress },
    judge,
  )
  if (next.kind !== 'ask') return next.kind
  const { execution, others } = next
  return [execution.authenticator, ...others.map((one) => one.execution.authenticator)].join(' | ')
}

describe('what a flow asks next', () => {
  const second: Sketch = [
    'second',
    'CONDITIONAL',
    [
      ['condition-role', 'REQUIRED'],
      ['totp', 'ALTERNATIVE'],
      ['webauthn', 'ALTERNATIVE'],
    ],
  ]

  it('goes through required ones in their order, without those that are disabled', async () => {
    const flow: Sketch[] = [
      ['terms', 'DISABLED'],
      ['password', 'REQUIRED'],
      ['totp', 'REQUIRED'],
    ]
    expect(await ask(flow)).toBe('password')
    expect(await ask(flow, {}, { done: ['1'] })).toBe('totp')
    expect(await ask(flow, {}, { done: ['1', '2'] })).toBe('passed')
  })

  it('never leaves out, or replaces by an enrolment, what the user has and cannot be asked for now', async () => {
    const done = ['0']
    const gone = { push: 'unreachable', totp: 'enrol' } as const
    for (const requirement of ['REQUIRED', 'CONDITIONAL', 'ALTERNATIVE'])
      expect(
        await ask(
          [
            ['password', 'REQUIRED'],
            ['push', requirement],
          ],
          gone,
          { done },
        ),
      ).toBe('stuck')
    const choice = (...names: string[]): Sketch[] => [
      ['password', 'REQUIRED'],
      ...names.map((name): Sketch => [name, 'ALTERNATIVE']),
    ]
    expect(await ask(choice('totp', 'push'), gone, { done })).toBe('stuck')
    expect(await ask(choice('push', 'totp'), gone, { done })).toBe('stuck')
    expect(await ask(choice('totp', 'push', 'recovery-code'), gone, { done })).toBe('recovery-code')
    expect(
      await ask(
        [
          ['password', 'REQUIRED'],
          ['push', 'CONDITIONAL'],
        ],
        { push: 'enrol' },
        { done },
      ),
    ).toBe('passed')
  })

  it('runs a conditional sub-flow when its conditions hold, and remembers what they said', async () => {
    const flow: Sketch[] = [['password', 'REQUIRED'], second]
    const done = ['0']
    expect(await ask(flow, { 'condition-role': 'ready' }, { done })).toBe('totp | webauthn')
    expect(await ask(flow, { 'condition-role': 'unavailable' }, { done })).toBe('passed')
    const said = { done, conditions: { '1.0': true } }
    expect(await ask(flow, { 'condition-role': 'unavailable' }, said)).toBe('totp | webauthn')
  })

  it('takes alternatives that stand together as one choice, of which those that are open are offered', async () => {
    const flow: Sketch[] = [
      ['totp', 'ALTERNATIVE'],
      ['webauthn', 'ALTERNATIVE'],
      ['password', 'REQUIRED'],
      ['email-code', 'ALTERNATIVE'],
    ]
    expect(await ask(flow)).toBe('totp | webauthn')
    expect(await ask(flow, { totp: 'unavailable' })).toBe('webauthn')
    expect(await ask(flow, {}, { chosen: { '0': '1' } })).toBe('webauthn | totp')
    expect(await ask(flow, {}, { done: ['1'] })).toBe('password')
    expect(await ask(flow, {}, { done: ['1', '2'] })).toBe('email-code')
  })

  it('asks nothing about the other ways of a choice once one of them is passed', async () => {
    const judged: string[] = []
    const judge: Judge = {
      isCondition,
      holds: async () => true,
      suits: async ({ authenticator }) => {
        judged.push(authenticator)
        return 'ready'
      },
    }
    const nodes = nodesOf([
      ['username-password', 'ALTERNATIVE'],
      ['webauthn-passwordless', 'ALTERNATIVE'],
      ['identity-provider', 'ALTERNATIVE'],
      ['totp', 'REQUIRED'],
    ])
    const progress = { done: ['2'], conditions: {}, chosen: {} }
    const { next } = await nextOf({ alias: 'x', nodes }, progress, judge)
    expect(next).toMatchObject({ kind: 'ask', execution: { authenticator: 'totp' } })
    expect(judged).toEqual(['totp'])
  })

  it('is stuck where nothing of a choice, or something required, can be done', async () => {
    expect(await ask([['totp', 'REQUIRED']], { totp: 'unavailable' })).toBe('stuck')
    expect(
      await ask(
        [
          ['totp', 'ALTERNATIVE'],
          ['webauthn', 'ALTERNATIVE'],
        ],
        { totp: 'unavailable', webauthn: 'unavailable' },
      ),
    ).toBe('stuck')
  })

  it('lets nobody through an alternative in which everything was skipped', async () => {
    const flow: Sketch[] = [
      ['empty', 'ALTERNATIVE', [['totp', 'CONDITIONAL']]],
      ['password', 'ALTERNATIVE'],
    ]
    expect(await ask(flow, { totp: 'unavailable' })).toBe('password')
    expect(await ask(flow, { totp: 'unavailable', password: 'unavailable' })).toBe('stuck')
  })

  it('sets up what is missing only where nothing of the choice is there', async () => {
    const flow: Sketch[] = [
      ['totp', 'ALTERNATIVE'],
      ['webauthn', 'ALTERNATIVE'],
    ]
    expect(await ask(flow, { totp: 'enrol', webauthn: 'ready' })).toBe('webauthn')
    expect(await ask(flow, { totp: 'enrol', webauthn: 'enrol' })).toBe('totp')
  })
})

describe('flows that cannot work', () => {
  const flow = (...executions: object[]): FlowDoc =>
    ({
      alias: 'browser',
      authenticationExecutions: executions.map((one) => ({ requirement: 'REQUIRED', ...one })),
    }) as unknown as FlowDoc
  const codes = (doc: FlowDoc, sub?: FlowDoc) =>
    passageErrors(doc, { find: () => sub }).map(({ code }) => code)

  it('are named, with what is wrong', () => {
    expect(codes(flow({ authenticator: 'username-password' }))).toEqual([])
    expect(codes(flow({ authenticator: 'totp' }))).toEqual(['user-not-identified'])
    expect(codes(flow({ authenticator: 'identify' }))).toEqual(['no-proof'])
    expect(codes(flow())).toEqual(['no-proof'])
    expect(
      codes(
        flow(
          { authenticator: 'username-password', requirement: 'ALTERNATIVE' },
          { authenticator: 'identify', requirement: 'ALTERNATIVE' },
        ),
      ),
    ).toEqual(['no-proof'])
    const sub = { flowAlias: 'sub' }
    const first = { authenticator: 'username-password' }
    const guarded = flow({ authenticator: 'condition-role' }, { authenticator: 'totp' })
    expect(codes(flow(first, { ...sub, requirement: 'CONDITIONAL' }), guarded)).toEqual([])
    expect(codes(flow({ ...sub, requirement: 'CONDITIONAL' }), guarded)).toEqual([
      'user-not-identified',
    ])
    const skipped = flow({ authenticator: 'condition-role' }, first)
    expect(codes(flow({ ...sub, requirement: 'CONDITIONAL' }), skipped)).toEqual(['no-proof'])
  })
})

describe('the list of authenticators', () => {
  /** Made by name: factories only keep what they are given. */
  const parts = new Proxy({}, { get: () => new Proxy(() => undefined, {}) }) as AuthenticatorNeeds &
    ConditionNeeds
  const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id).sort()

  it('is what a flow can run, and says the same of each as its code', () => {
    const steps = createAuthenticators(parts)
    const conditions = createConditions(parts)
    expect(idsOf([...steps, ...conditions])).toEqual([...authenticatorIds].sort())
    expect(idsOf(steps.filter((step) => step.identifies))).toEqual([...identifying].sort())
    expect(idsOf(steps.filter((step) => step.enrolment !== undefined))).toEqual(
      [...enrollable].sort(),
    )
    expect(idsOf(steps.filter((step) => step.afterProof))).toEqual([...afterProof].sort())
    // What makes an account says by itself how its user is proved.
    const makers = ['register', 'broker-link-or-create']
    const proving = steps.filter(({ amr, id }) => amr !== undefined || makers.includes(id))
    expect(idsOf(proving)).toEqual([...authenticatorIds].filter(isProof).sort())
  })

  it('has a name on the page of choices for each that proves a user', () => {
    const makers = ['register', 'broker-link-or-create']
    const chosen = [...authenticatorIds].filter((id) => isProof(id) && !makers.includes(id))
    expect(chosen.filter((id) => methodKinds[id] === undefined)).toEqual([])
  })
})
