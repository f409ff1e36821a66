/**
 * What an authorize request still needs from its user: to sign in, to choose an account, to consent, or nothing. The
 * same checks run each time the browser returns, for the session at that time.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { FoundSession } from '#server/sessions/sessions.ts'
import type { Progress } from '#server/sign-in/waiting/round-trip.ts'
import type { Storage } from '#server/storage/contract.ts'
import { highRiskScopes } from '#server/tokens/access/high-risk.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { isCommandLine } from '#server/tokens/command-line.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Mint } from '#server/tokens/mint.ts'
import { SubjectMissingError } from '#server/tokens/subject.ts'
import { organizationsOf } from '#server/users/organizations/organizations.ts'
import type { Consents } from '../consent/consents.ts'
import { isUnproven } from '../consent/shown-application.ts'
import { accessDenied, oauthError } from '../errors.ts'
import { askedScopes } from './asked-scopes.ts'
import type { AuthorizeRequest } from './authorize-request.ts'
import { checkLevels, hasPreferredLevel, missesEssentialLevel, unmet } from './wanted-levels.ts'

/** Milliseconds that the way back from the sign-in may take, and reading what is to be allowed. */
const wayBack = 5000
const reading = 5 * 60_000

export const loginRequired = oauthError('login_required')

export type Need =
  | { readonly kind: 'sign-in' }
  | { readonly kind: 'account'; readonly found: FoundSession }
  | { readonly kind: 'consent'; readonly found: FoundSession }
  | {
      readonly kind: 'nothing'
      readonly found: FoundSession
      /** The one that was asked for, by id. */
      readonly organization?: string | undefined
    }

export interface AuthorizeProgress extends Progress {
  /** Whether the user consents by this very request. */
  readonly consents?: boolean | undefined
}

/** Whether the session is good, but for its level: then it is strengthened, and nothing is asked twice. */
export const stepsUp = ({ prompt, maxAge, subject }: AuthorizeRequest): boolean =>
  prompt.length === 0 && maxAge === undefined && subject === undefined

export interface InteractionParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly mint: Pick<Mint, 'subject'>
  readonly consents: Pick<Consents, 'scopesOf'>
  readonly agents: Pick<Agents, 'of'>
}

export const createInteraction = (parts: InteractionParts) => {
  const { storage, clock, mint, consents, agents } = parts

  const isOlder = ({ session }: FoundSession, seconds: number | undefined, grace = 0): boolean =>
    seconds !== undefined && clock.now() - session.created_at > seconds * 1000 + grace

  /** A sign-in since then may have been for another request, and longer ago than `max_age` (OIDC Core §3.1.2.1). */
  const isTooOld = (
    found: FoundSession,
    { maxAge, prompt }: AuthorizeRequest,
    { signedInSince, consentsNow }: { signedInSince: boolean; consentsNow: boolean },
  ): boolean =>
    signedInSince
      ? isOlder(found, maxAge, consentsNow ? reading : wayBack)
      : prompt.includes('login') || maxAge === 0 || isOlder(found, maxAge)

  const subjectOf = async (
    issuer: Issuer,
    client: TokenClient,
    { user }: FoundSession,
  ): Promise<string | SubjectMissingError> => {
    try {
      return await mint.subject(issuer, client, user)
    } catch (error) {
      if (error instanceof SubjectMissingError) return error
      throw error
    }
  }

  /** By id, where the user is a member. */
  const organizationAsked = async (
    { view }: Issuer,
    { user }: FoundSession,
    alias: string,
  ): Promise<string | undefined> => {
    const memberships = await organizationsOf(storage, view, user.id)
    return memberships.find((one) => one.alias === alias)?.id
  }

  /** An administrator who acts as the user cannot know whether the user wants it now. */
  const mustConfirm = async (
    { view }: Issuer,
    { session }: FoundSession,
    asked: readonly string[],
  ): Promise<boolean> => {
    const [risky] = await highRiskScopes(view, asked)
    if (risky !== undefined && session.impersonator !== null)
      throw accessDenied(`the user must confirm the high-risk scope ${risky} in person`)
    return risky !== undefined
  }

  const mustConsent = async (
    issuer: Issuer,
    client: TokenClient,
    { user }: FoundSession,
    request: AuthorizeRequest,
    asked: readonly string[],
  ): Promise<boolean> => {
    if (request.prompt.includes('consent') || isCommandLine(client)) return true
    // Any page can send a browser to a loopback port, behind which another program may listen (RFC 8252 §8.6).
    if (isUnproven(client, request.redirectUri)) return true
    // An agent goes on when the user is away: it always asks once.
    const isAgent = (await agents.of(issuer.view, client.clientId)) !== undefined
    if (!client.doc.consentRequired && !isAgent) return false
    const allowed = await consents.scopesOf(user.id, client.id)
    if (!allowed) return true
    return asked.some((one) => !allowed.has(one))
  }

  return async (
    issuer: Issuer,
    client: TokenClient,
    request: AuthorizeRequest,
    { found, signedInSince, chosen, consents: consentsNow = false }: AuthorizeProgress,
  ): Promise<Need> => {
    checkLevels(request)
    if (!found) return { kind: 'sign-in' }
    if (isTooOld(found, request, { signedInSince, consentsNow })) return { kind: 'sign-in' }
    const subject = await subjectOf(issuer, client, found)
    if (request.subject !== undefined && request.subject !== subject) {
      if (signedInSince) throw loginRequired('another user signed in than the one asked for')
      return { kind: 'sign-in' }
    }
    const { prompt } = request
    if (!hasPreferredLevel(request, found.session.acr)) {
      if (!signedInSince) return { kind: 'sign-in' }
      if (missesEssentialLevel(request, found.session.acr))
        throw unmet(
          'the user has not signed in by the authentication context class that is essential',
        )
    }
    if (prompt.includes('select_account') && !signedInSince && chosen !== found.session.id)
      return { kind: 'account', found }
    const organization =
      request.organization === undefined
        ? undefined
        : await organizationAsked(issuer, found, request.organization)
    if (request.organization !== undefined && organization === undefined) {
      if (signedInSince) throw accessDenied('the user is no member of the organization asked for')
      return { kind: 'sign-in' }
    }
    // The code could never be redeemed.
    if (typeof subject !== 'string')
      throw accessDenied('no token can be issued for this user', { detail: subject.message })
    const asked = await askedScopes(issuer, client, request)
    const confirms = await mustConfirm(issuer, found, asked)
    const asks =
      !consentsNow && (confirms || (await mustConsent(issuer, client, found, request, asked)))
    return asks ? { kind: 'consent', found } : { kind: 'nothing', found, organization }
  }
}
