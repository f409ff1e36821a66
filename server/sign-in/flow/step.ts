/**
 * One thing that a sign-in asks for: an authenticator of a flow, or something that is required of the user. A step shows a
 * page and takes its answer; it never opens a session and never decides what comes next.
 *
 * Whatever could be guessed is checked inside `prove` or `attempt`, which count failures, give every refusal the same
 * shape, and commit what the proof uses up together with what it allows.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Checked } from '#server/credentials/attempt.ts'
import type { FieldErrors, FormPage, PageError } from '#server/http/pages/pages.ts'
import type { FoundSession } from '#server/sessions/sessions.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { SessionRow, UserRow } from '#server/storage/tables/tables.ts'
import type { LoginError } from '../pages/definitions/login.ts'
import type { SignInPage, StepError } from '../pages/definitions/step-page.ts'
import type { PinnedExecution, PinnedFlow } from './pinned-flow.ts'
import type { SignIn } from './sign-ins.ts'
import type { Brokered, SignInState } from './state.ts'

/** Fields of the form; one that is missing or given twice is empty. */
export type Form = (field: string) => string

/** Why the page is shown again. */
export type StepRefusal = StepError | LoginError

/** The data of every page of a sign-in. */
export interface AskedPage extends FormPage, SignInPage {
  /** The identified user, or the given name. */
  readonly username?: string | undefined
  readonly canRestart: boolean
  readonly hasOthers: boolean
  /** The authenticators that could be used instead. */
  readonly offers: readonly string[]
  readonly refusal?: Refusal | undefined
}

export interface Passed {
  /** The user that the step identified, and the name that was given. */
  readonly user?: UserRow | undefined
  readonly name?: string | undefined
  /** How it was shown (RFC 8176). */
  readonly amr?: readonly string[] | undefined
  /** The proof is the word of a directory, as that of a step with `isVouched` is of an identity provider. */
  readonly isVouched?: boolean | undefined
  readonly statements?: readonly Statement[] | undefined
  readonly events?: readonly AuditEvent[] | undefined
  readonly rememberMe?: boolean | undefined
  /** The user's address was found to be theirs. */
  readonly emailVerified?: true
  /** An address that was not known to be the user's, and of which this step has read a message; folded. */
  readonly readAddress?: string | undefined
  /** Committed too, with the address verified, unless the sign-in asks for another proof next: who gives it has set it up. */
  readonly unlessProvedNext?:
    | { readonly statements: readonly Statement[]; readonly events: readonly AuditEvent[] }
    | undefined
  /** The organization that was chosen, by id. */
  readonly organization?: string | undefined
  /** The person whom an identity provider has named, and the flows that it asks to follow. */
  readonly broker?: Brokered | undefined
  readonly flows?: readonly PinnedFlow[] | undefined
}

export type Answered =
  /** It is stored how the sign-in goes on, or that it has ended with a session. */
  | { readonly kind: 'went-on'; readonly signIn: SignIn }
  | {
      readonly kind: 'signed-in'
      readonly session: Opened
      readonly state: SignInState
      /** For the cookie that makes this browser known. */
      readonly device: string
      /** A letter about the sign-in waits to be sent. */
      readonly hasMail: boolean
    }
  /** The flow has ended without a session by design: a forgotten password was reset. */
  | { readonly kind: 'finished'; readonly state: SignInState }
  | Refusal
  /** The page is shown again without an error: a code was sent again. */
  | { readonly kind: 'again'; readonly signIn: SignIn }

export interface Opened {
  readonly cookieValue: string
  readonly session: SessionRow
}

export interface Refusal {
  readonly kind: 'refused'
  readonly status: number
  readonly error?: StepRefusal | undefined
  /** What is wrong with which field, where the user may know. */
  readonly errors?: FieldErrors<string> | undefined
  /** The page that tells why the sign-in ended, instead of the one that asked. */
  readonly outage?: PageError | undefined
  /** Names whom to ask, on that page. */
  readonly detail?: string | undefined
  /** What was typed and may be shown again. */
  readonly values?: Readonly<Record<string, string>> | undefined
}

export const refused = (error: StepRefusal, status = 400): Refusal => ({
  kind: 'refused',
  status,
  error,
})

/** As pages about names and passwords know them. */
export const loginError = (refusal: Refusal | undefined): LoginError | undefined => {
  const error = refusal?.error
  return error === undefined ||
    error === 'expired' ||
    error === 'too-many' ||
    error === 'unavailable'
    ? error
    : 'credentials'
}

/** As pages about codes and keys know them. */
export const stepError = (refusal: Refusal | undefined): StepError | undefined =>
  refusal?.error === 'credentials' ? 'wrong-code' : refusal?.error

export interface StepContext {
  readonly request: FastifyRequest
  readonly realm: string
  readonly settings: SettingsDoc
  readonly view: RealmView
  readonly execution: PinnedExecution
  /** Names the sign-in in the addresses of its pages. */
  readonly handle: string
  /** Whether the sign-in is stored; one that was only looked at is not, and looking costs no row. */
  readonly stored: boolean
  readonly state: SignInState
  /** The identified user. */
  readonly user: UserRow | undefined
  readonly address: string
  /** The cookie that ties the sign-in to its browser, and the session that this browser has already. */
  readonly browser: string
  readonly current: FoundSession | undefined
  /** What the step has kept for itself. */
  readonly notes: unknown
}

export interface AnswerContext extends StepContext {
  pass(passed: Passed): Promise<Answered>
  /** A name and a password. */
  attempt(name: string, password: string, passed?: Passed): Promise<Answered>
  /** A proof by the identified user; `method` names it in the audit event. */
  prove(method: string, check: () => Promise<Checked>, passed?: Passed): Promise<Answered>
  /** Stores notes before the answer is looked at: a try is used up whatever comes of it. */
  keep(notes: unknown): Promise<AnswerContext>
  /** Stores notes and shows the page again. */
  again(notes: unknown, statements?: readonly Statement[]): Promise<Answered>
}

export interface Shown {
  readonly send: (reply: FastifyReply, page: AskedPage) => FastifyReply
  /** Stored before the page is sent. */
  readonly notes?: unknown
  readonly statements?: readonly Statement[]
  readonly events?: readonly AuditEvent[]
  /** Called after the commit: wakes the sender of messages. */
  readonly stored?: () => void
}

export interface Step {
  readonly id: string
  /** The method that makes asking again needless within one session (RFC 8176). */
  readonly amr?: string
  /** A further factor of an identified user: counted and audited as a challenge. */
  readonly factor?: boolean
  /** Works before a user is identified. */
  readonly identifies?: boolean
  /** Works the same for an unknown name, so that it does not reveal which names exist. */
  readonly blind?: boolean
  /** Its proof is what a messaging provider carries, and can read. */
  readonly isMessage?: true
  /** Its proof is the word of an identity provider, which holders of one permission configure. */
  readonly isVouched?: true
  /** About a person whom an identity provider has named and who has no account yet. */
  readonly firstLogin?: true
  /** The required action by which a user who lacks it, and has proved who they are, sets it up. */
  readonly enrolment?: string
  /** Sets up the factor that it then names as a method: no proof that the user is the one from before. */
  readonly enrols?: true
  /** Tells or changes something of the user: never asked before a proof. */
  readonly afterProof?: true
  /** A step by the same credential, by id: where this one is asked for or can be chosen, that one is not offered once more. */
  readonly sameCredentialAs?: string
  /** Whether the form answers this step, although it is only offered beside the one that is asked. */
  answersBeside?(form: Form): boolean
  /** Whether the realm offers it in this sign-in; what is not offered is never asked. */
  isOffered?(context: StepContext): boolean | Promise<boolean>
  /** Whether it passes by itself: there is something to do, and nothing to ask. */
  isAutomatic?(context: StepContext): Promise<boolean>
  /** Whether there is nothing left to ask of this user. It proves nothing about who that is. */
  isDone?(context: StepContext): boolean | Promise<boolean>
  /** Whether it is available now; a message that cannot be sent makes it unavailable. */
  works?(context: StepContext): Promise<boolean>
  /** The page for users who have it and nothing else to go on with, while it does not work. */
  readonly outage?: PageError
  /** Whether this user can pass it; a step without needs none of the user's things. */
  suits?(context: StepContext): Promise<boolean>
  show(context: StepContext): Promise<Shown>
  /** For a page that waits: PENDING while there is nothing new to answer it with. */
  status?(context: StepContext): Promise<string>
  answer(context: AnswerContext, form: Form): Promise<Answered>
}

/** Lets a sub-flow run, or not. */
export interface Condition {
  readonly id: string
  holds(context: StepContext): Promise<boolean>
}

/** Something that is required of a user before the sign-in ends. */
export interface RequiredAction extends Step {
  /** Whether the realm's policy asks for it, beside the list of the user. */
  isDue?(context: StepContext): boolean | Promise<boolean>
}
