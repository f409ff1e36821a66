/** The stored state of a sign-in between its pages. */

import type { PinnedFlow } from './pinned-flow.ts'
import type { Progress } from './runner.ts'

/** The person whom an identity provider has named. */
export interface Brokered {
  /** The provider, by the id of its document. */
  readonly provider: string
  /** The execution that the person came through. */
  readonly path: string
  /** What the provider said, sealed. */
  readonly identity: string
  /** The proven methods, in our own terms. */
  readonly amr: readonly string[]
  /** The account of the person, once the link exists; `isNew`: this sign-in has made the link. */
  readonly linked?: string
  readonly isNew?: true
  /** The account that the link is made to when the sign-in ends: its user proves it first. */
  readonly linksTo?: string
  /** The profile as the person has reviewed it. */
  readonly profile?: Readonly<Record<'username' | 'email' | 'firstName' | 'lastName', string>>
}

export interface SignInState extends Progress {
  readonly flow: PinnedFlow
  /** Where it began; the sign-in page unless told. */
  readonly entry?: string
  /** The identified user. */
  readonly userId?: string
  /** The name that was given, known or not. */
  readonly name?: string
  /** The session, by sid, that is strengthened rather than replaced: its user is the one that signs in. */
  readonly strengthens?: string
  /** The user has proved who they are in this sign-in, not only in the session that it strengthens. */
  readonly provesAnew?: true
  /** How it was shown who that is (RFC 8176). */
  readonly amr: readonly string[]
  /** One of these is a proof of the realm's own: no message, and no word of an identity provider or a directory. */
  readonly beyondMessages?: true
  /** The unverified address of which a message was read; the account goes to its owner with the new password. */
  readonly readAddress?: string
  readonly rememberMe: boolean
  /** The handle of the request that waits for the sign-in. */
  readonly pending?: string
  /** The level that is asked for. */
  readonly acr?: string
  /** The client that it is for. */
  readonly clientId?: string
  /** The organization that is asked for, by alias. */
  readonly organizationHint?: string
  /** The invitation that lets the user register, by id. */
  readonly invitation?: string
  /** The organization that it is for, by id. */
  readonly organization?: string
  /** The person, where an identity provider has named one. */
  readonly broker?: Brokered
  /** Ends without a session: it is for something else than signing in. */
  readonly withoutSession?: boolean
  /** What a step keeps for itself, by the path of its execution. Secrets in it are digests or sealed. */
  readonly notes: Readonly<Record<string, unknown>>
}

export const newState = (
  flow: PinnedFlow,
  known: Partial<Omit<SignInState, 'flow'>> = {},
): SignInState => ({
  flow,
  done: [],
  conditions: {},
  chosen: {},
  amr: [],
  rememberMe: false,
  notes: {},
  ...known,
})
