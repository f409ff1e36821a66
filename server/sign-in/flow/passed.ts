/**
 * What a sign-in has become once a step is passed. Everything in it (methods, passed executions, answers of conditions, notes)
 * is of one user: a step that names another user begins a sign-in that has nothing but that step. While a session is
 * strengthened, no other user can be named: what the session has proved is of its own user.
 */

import { foldName } from '#server/users/names.ts'
import { newState, type SignInState } from './state.ts'
import type { Passed } from './step.ts'

/** The user that the step names, by id; undefined for a name without a user. Nothing where the step names none. */
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

/** `methods`: how the step has proved the user (RFC 8176). */
export const stateAfter = (
  before: SignInState,
  path: string,
  passed: Passed,
  methods: readonly string[],
): SignInState => {
  const named = namedBy(passed)
  const isSame = named === undefined || isSameUser(before, named.userId, passed.name)
  const state = isSame ? before : begunAnew(before)
  const userId = named ? named.userId : state.userId
  const name = passed.name ?? state.name
  const organization = passed.organization ?? state.organization
  const { [path]: _, ...notes } = state.notes
  return {
    ...state,
    done: [...state.done, path],
    amr: [...new Set([...state.amr, ...methods])],
    notes,
    rememberMe: passed.rememberMe ?? state.rememberMe,
    ...(userId === undefined ? {} : { userId }),
    ...(name === undefined ? {} : { name }),
    ...(organization === undefined ? {} : { organization }),
  }
}
