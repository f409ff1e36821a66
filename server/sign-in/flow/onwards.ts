/** What a passed step leads to, to be committed with it: the next question, a session, or the end of the sign-in. */

import type { AuditEvent } from '#server/audit/event.ts'
import type { Acceptance } from '#server/credentials/attempt.ts'
import type { PageError } from '#server/http/pages/pages.ts'
import { signInGuard } from '#server/sessions/begun-sign-ins.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { KnownDevices } from '../known-devices.ts'
import type { createProvedReader } from '../messages/mail-proof.ts'
import type { SignInOrganizations } from '../sign-in-organizations.ts'
import { levelOf } from './levels.ts'
import { isOutOfPlace, methodsIn, stateAfter } from './passed.ts'
import type { Asked, NextQuestion, Questions, Visitor } from './questions.ts'
import type { SignIn, SignIns } from './sign-ins.ts'
import type { SignInState } from './state.ts'
import { type Answered, type Passed, refused, type Step } from './step.ts'
import { visitorEvent } from './visitor-event.ts'
import type { Vouching } from './vouching.ts'

export interface OnwardsParts {
  readonly questions: Pick<Questions, 'nextFor'>
  readonly steps: readonly Step[]
  readonly sessions: Sessions
  readonly signIns: SignIns
  readonly knownDevices: Pick<KnownDevices, 'signedIn'>
  readonly organizations: Pick<SignInOrganizations, 'signedIn'>
  readonly vouching: Pick<Vouching, 'endOf' | 'signedIn'>
  readonly provedReader: ReturnType<typeof createProvedReader>
}

/** A sign-in after a step, and what is committed with whatever comes next. */
interface Advanced {
  readonly visitor: Visitor
  readonly signIn: SignIn
  readonly user: UserRow | undefined
  readonly statements: readonly Statement[]
  readonly events: readonly AuditEvent[]
}

const challengeEvent = (visitor: Visitor, { step, user }: Asked): AuditEvent[] =>
  step.factor && user ? [visitorEvent(visitor, 'MFA_CHALLENGE', 'SUCCESS', user.id, step.id)] : []

const successEvent = (visitor: Visitor, step: Step, user: UserRow | undefined): AuditEvent[] =>
  step.factor && user ? [visitorEvent(visitor, 'MFA_SUCCESS', 'SUCCESS', user.id, step.id)] : []

const methodsOf = ({ step }: Asked, { amr }: Passed): readonly string[] =>
  amr ?? (step.amr === undefined ? [] : [step.amr])

const isProof = (asked: Asked, passed: Passed): boolean =>
  methodsOf(asked, passed).length > 0 && !asked.step.enrols

export const stateOf = (asked: Asked, passed: Passed): SignInState => {
  const { signIn, execution, step } = asked
  const methods = methodsOf(asked, passed)
  const state = stateAfter(signIn.state, execution.path, passed, methods)
  const isVouched = step.isVouched || passed.isVouched
  const isOwn = methods.length > 0 && !step.isMessage && !isVouched
  return {
    ...state,
    ...(isProof(asked, passed) ? { provesAnew: true } : {}),
    ...(isOwn ? { beyondMessages: true } : {}),
    ...(passed.readAddress === undefined ? {} : { readAddress: passed.readAddress }),
  }
}

/** A factor that is set up proves nothing about who came before. */
const asksProof = (next: NextQuestion): boolean =>
  next.kind === 'ask' && next.asked.step.amr !== undefined && !next.asked.step.enrols

/** The refusal of a proof by another user than the sign-in is of. */
export const otherUser = (
  visitor: Visitor,
  { signIn: { state } }: Asked,
): Acceptance<Answered> => ({
  statements: [],
  events: [visitorEvent(visitor, 'LOGIN_FAILURE', 'FAILURE', state.userId ?? '', 'other-user')],
  value: refused('credentials', 401),
  partial: true,
})

export const createOnwards = (parts: OnwardsParts) => {
  const { sessions, signIns } = parts
  const { nextFor } = parts.questions

  const outageOf = (next: NextQuestion): PageError | undefined => {
    const missed = next.kind === 'stuck' ? next.unreachable?.authenticator : undefined
    return parts.steps.find(({ id }) => id === missed)?.outage
  }

  const ask = (
    { visitor, signIn, statements, events }: Advanced,
    asked: Asked,
  ): Acceptance<Answered> => {
    const saving = signIns.save(signIn, asked.signIn.state, visitor.browser)
    return {
      statements: [...statements, ...saving.statements],
      events: [...events, ...challengeEvent(visitor, asked)],
      value: { kind: 'went-on', signIn: saving.saved },
      partial: true,
      ownGuard: signInGuard,
    }
  }

  const finish = ({ signIn, statements, events }: Advanced): Acceptance<Answered> => ({
    statements: [...statements, ...signIns.end(signIn)],
    events,
    value: { kind: 'finished', state: signIn.state },
    ownGuard: signInGuard,
  })

  /** What the step did is not committed. */
  const fail = (
    { visitor, signIn, user, events }: Advanced,
    outage: PageError | undefined,
  ): Acceptance<Answered> => {
    const actor = user?.id ?? signIn.state.name ?? ''
    return {
      statements: signIns.end(signIn),
      events: [
        ...events,
        visitorEvent(visitor, 'LOGIN_FAILURE', 'FAILURE', actor, 'no-way-through'),
      ],
      value: { ...refused('unavailable', 403), outage },
      partial: true,
      ownGuard: signInGuard,
    }
  }

  const openSession = async (
    visitor: Visitor,
    state: SignInState,
    organization: string | undefined,
    user: UserRow,
  ) => {
    const { request, realm, settings, current, sessionCookie } = visitor
    // One in which an administrator acts as the user ends: what was issued in it is not the user's.
    const isOwn = current?.user.id === user.id && current.session.impersonator === null
    return sessions.openStatements({
      realm,
      userId: user.id,
      ip: request.ip,
      userAgent: request.headers['user-agent'],
      rememberMe: state.rememberMe,
      settings,
      amr: methodsIn(state),
      acr: levelOf(methodsIn(state)),
      organization,
      replaces: sessionCookie,
      continues: isOwn ? current.session : undefined,
      isUnproved: state.strengthens !== undefined && !state.provesAnew,
      endsBy: await parts.vouching.endOf(realm, state),
    })
  }

  /** Undefined where the identity provider that vouched for the user no longer does. */
  const signedIn = async (
    { visitor, signIn, statements, events }: Advanced,
    user: UserRow,
  ): Promise<Acceptance<Answered> | undefined> => {
    const { state } = signIn
    const { ip } = visitor.request
    const joining = await parts.organizations.signedIn(visitor.view, user, state, ip)
    const opened = await openSession(visitor, state, joining.organization, user)
    const at = { realm: visitor.realm, view: visitor.view, address: ip }
    const vouched = await parts.vouching.signedIn(at, state, user, opened.session)
    if (!vouched) return undefined
    const device = await parts.knownDevices.signedIn(visitor.request, visitor.view, user)
    const news = device.isNews ? [visitorEvent(visitor, 'NEW_DEVICE', 'SUCCESS', user.id)] : []
    const success = visitorEvent(visitor, 'LOGIN_SUCCESS', 'SUCCESS', user.id)
    return {
      statements: [
        ...statements,
        ...signIns.end(signIn),
        ...joining.statements,
        ...opened.statements,
        ...vouched.statements,
        ...device.statements,
      ],
      events: [...events, ...joining.events, ...vouched.events, ...news, success],
      value: {
        kind: 'signed-in',
        session: opened,
        state,
        device: device.cookieValue,
        hasMail: device.hasMail,
      },
      ownGuard: signInGuard,
    }
  }

  const onwards = async (
    visitor: Visitor,
    asked: Asked,
    passed: Passed,
    found: UserRow | undefined,
  ): Promise<Acceptance<Answered>> => {
    if (isOutOfPlace(asked.signIn.state, passed)) return otherUser(visitor, asked)
    const { signIn: before } = asked
    const reader = { realm: visitor.realm, address: visitor.request.ip, handle: before.handle }
    const proved =
      found && isProof(asked, passed) ? parts.provedReader(reader, before.state, found) : undefined
    const isVerified = passed.emailVerified || passed.unlessProvedNext || proved
    const user = found && isVerified ? { ...found, email_verified: 1 } : found
    const signIn: SignIn = { ...before, state: stateOf(asked, passed) }
    const next = await nextFor(visitor, signIn, user)
    const more = asksProof(next) ? proved : (passed.unlessProvedNext ?? proved)
    const advanced: Advanced = {
      visitor,
      signIn,
      user,
      statements: [...(passed.statements ?? []), ...(more?.statements ?? [])],
      events: [
        ...(passed.events ?? []),
        ...(more?.events ?? []),
        ...successEvent(visitor, asked.step, user),
      ],
    }
    if (next.kind === 'ask') return ask(advanced, next.asked)
    if (next.kind === 'stuck') return fail(advanced, outageOf(next))
    if (advanced.signIn.state.withoutSession) return finish(advanced)
    return (user && (await signedIn(advanced, user))) ?? fail(advanced, undefined)
  }

  return { onwards, outageOf }
}
