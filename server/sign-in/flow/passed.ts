/**
 * The state of a sign-in after a passed step. All of it (methods, passed executions, results of conditions, notes)
 * belongs to one user: a step that names another user starts a new state with that step only. During a step-up of a
 * session no other user can be named: the proofs of the session belong to its own user.
 */

import { foldName } from '#server/users/names.ts'
import { arrivalPath, graft, isWithin } from './graft.ts'
import { newState, type SignInState } from './state.ts'
import type { Passed } from './step.ts'

/** The user that the step names: `userId` is undefined for a name without a user. Undefined where the step names none. */
const namedBy = ({ user, name }: Passed): { readonly userId: string | undefined } | undefined =>
  user === undefined && name === undefined ? undefined : { userId: user?.id }

const isSameUser = (state: SignInState, userId: string | undefined, name = ''): boolean =>
  userId === undefined
    ? state.userId === undefined && foldName(state.name ?? '') === foldName(name)
    : state.userId === userId

/** Whether the step names another user than the one whose session is strengthened. */
export const isOutOfPlace = (state: SignInState, passed: Passed): boolean => {
  const named = namedBy(passed)
  return state.strengthens !== undefined && named !== undefined && named.userId !== state.userId
}

/** What does not depend on the user. */
const independent = [
  'entry',
  'rememberMe',
  'pending',
  'acr',
  'clientId',
  'organizationHint',
  'invitation',
  'withoutSession',
] as const satisfies readonly (keyof SignInState)[]

const begunAnew = (state: SignInState): SignInState =>
  newState(
    state.flow,
    Object.fromEntries(
      independent.flatMap((key) => (state[key] === undefined ? [] : [[key, state[key]]])),
    ),
  )

/**
 * A person whom an identity provider has named gets an account: what was done since then, inside the flow of that first
 * sign-in, was done by the same person. Nothing from before is kept.
 */
const withAccount = (state: SignInState, path: string): SignInState => {
  const { broker, userId, done, conditions, chosen, notes } = state
  const anew = begunAnew(state)
  if (!broker || userId !== undefined || !isWithin(path, broker.path)) return anew
  const within = <T>(values: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(values).filter(([key]) => isWithin(key, broker.path)))
  return {
    ...anew,
    broker,
    done: done.filter((one) => isWithin(one, broker.path)),
    conditions: within(conditions),
    chosen: { ...chosen },
    notes: within(notes),
  }
}

/** `methods`: how the step has proved the user (RFC 8176). */
export const stateAfter = (
  before: SignInState,
  path: string,
  passed: Passed,
  methods: readonly string[],
): SignInState => {
  const named = namedBy(passed)
  const isSame = named === undefined || isSameUser(before, named.userId, passed.name)
  const state = isSame ? before : withAccount(before, path)
  const userId = named ? named.userId : state.userId
  const name = passed.name ?? state.name
  const organization = passed.organization ?? state.organization
  const { [path]: _, ...notes } = state.notes
  const { flows, broker } = passed
  return {
    ...state,
    ...(flows === undefined ? {} : { flow: graft(state.flow, path, flows) }),
    ...(broker === undefined ? {} : { broker }),
    done: [...state.done, flows === undefined ? path : arrivalPath(path)],
    amr: [...new Set([...state.amr, ...methods])],
    notes,
    rememberMe: passed.rememberMe ?? state.rememberMe,
    ...(userId === undefined ? {} : { userId }),
    ...(name === undefined ? {} : { name }),
    ...(organization === undefined ? {} : { organization }),
  }
}

/** What was proved here, and at the identity provider whose account is linked as this sign-in ends. */
export const methodsIn = ({
  amr,
  broker,
  userId,
}: Pick<SignInState, 'amr' | 'broker' | 'userId'>): readonly string[] =>
  broker?.linksTo !== undefined && broker.linksTo === userId
    ? [...new Set([...amr, ...broker.amr])]
    : amr
