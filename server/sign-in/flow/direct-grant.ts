/**
 * What the realm would ask of a user beyond a username and a password. A password grant (RFC 6749 §4.3) shows no page: where
 * the flow, or a required action of the user, needs more, the grant is refused. Otherwise the grant would bypass a mandatory
 * second factor.
 */

import type { FastifyRequest } from 'fastify'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { pinFlow } from './pinned-flow.ts'
import type { Questions } from './questions.ts'
import { newSignIn } from './sign-ins.ts'
import { newState } from './state.ts'
import type { Step } from './step.ts'

export interface DirectGrantRequest {
  readonly request: FastifyRequest
  readonly realm: string
  readonly settings: SettingsDoc
  readonly view: RealmView
  readonly clientId: string
}

/** As audit events name it; undefined where the password is enough. */
export type DirectLack = (
  request: DirectGrantRequest,
  user: UserRow,
  /** A directory has checked the password, which alone admits no administrator. */
  isVouched: boolean,
) => Promise<'second-factor' | 'required-actions' | 'flow' | undefined>

const amr = ['pwd']

export const createDirectLack = (
  { nextFor, provedBefore, isOfAction }: Questions,
  steps: readonly Step[],
): DirectLack => {
  const factors = new Set(steps.flatMap(({ id, factor }) => (factor ? [id] : [])))

  return async ({ clientId, ...from }, user, isVouched) => {
    const { realm, settings, view } = from
    const flow = await pinFlow(view, settings.directGrantFlow ?? settings.browserFlow)
    const done = provedBefore(flow.nodes, amr)
    // A realm that takes no password at its sign-in page takes none here.
    if (done.length === 0) return 'flow'
    const own = isVouched ? {} : ({ beyondMessages: true } as const)
    const proved = { userId: user.id, amr, done, clientId, ...own }
    const visitor = { ...from, browser: '', current: undefined, sessionCookie: undefined }
    const next = await nextFor(visitor, newSignIn(realm, newState(flow, proved)), user)
    if (next.kind === 'passed') return undefined
    const execution = next.kind === 'ask' ? next.asked.execution : next.unreachable
    if (!execution) return 'flow'
    if (isOfAction(execution)) return 'required-actions'
    return factors.has(execution.authenticator) ? 'second-factor' : 'flow'
  }
}
