/**
 * What a request for single sign-on still needs from its user: to sign in, to choose an account, or nothing. The same
 * questions are asked anew each time the browser comes back, of the session that is there then.
 */

import type { FoundSession } from '#server/sessions/sessions.ts'
import { isEnough } from '#server/sign-in/flow/levels.ts'
import type { Progress } from '#server/sign-in/waiting/round-trip.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { NameIds } from '../assertion/name-id.ts'
import { SamlStatusError } from '../errors.ts'
import type { ServiceProvider } from '../service-provider.ts'
import { isFederated, metClass, wantedLevel } from './authn-context.ts'
import type { SsoRequest } from './sso-request.ts'

export type Need =
  | { readonly kind: 'sign-in' }
  | { readonly kind: 'account'; readonly found: FoundSession }
  | { readonly kind: 'nothing'; readonly found: FoundSession; readonly contextClass: string }

/** The level that a sign-in aims at. */
export const aimedLevel = ({ context }: SsoRequest): string | undefined =>
  wantedLevel(context) ?? undefined

/** Whether the session is good, but for its level: then it is strengthened, and nothing is asked twice. */
export const stepsUp = ({ forceAuthn, subject, isDirect }: SsoRequest): boolean =>
  !forceAuthn && subject === undefined && !isDirect

export const createInteraction =
  (nameIds: Pick<NameIds, 'isSubject'>) =>
  async (
    issuer: Issuer,
    provider: ServiceProvider,
    request: SsoRequest,
    { found, signedInSince, chosen }: Progress,
  ): Promise<Need> => {
    const level = wantedLevel(request.context)
    if (level === null)
      throw new SamlStatusError(
        'NoAuthnContext',
        'no sign-in meets the authentication context that is asked for',
      )
    if (!found) return { kind: 'sign-in' }
    if (request.forceAuthn && !signedInSince) return { kind: 'sign-in' }
    if (request.subject && !(await nameIds.isSubject(issuer, provider, found, request.subject))) {
      if (signedInSince)
        throw new SamlStatusError(
          'UnknownPrincipal',
          'another user signed in than the one asked for',
        )
      return { kind: 'sign-in' }
    }
    if (request.isDirect && isFederated(found.session)) {
      if (signedInSince)
        throw new SamlStatusError(
          'ProxyCountExceeded',
          'the user signed in at another identity provider',
        )
      return { kind: 'sign-in' }
    }
    const contextClass = metClass(request.context, found.session)
    if (contextClass === undefined) {
      // A session of that level that still does not meet the class needs a sign-in by another method.
      if (signedInSince)
        throw new SamlStatusError(
          'NoAuthnContext',
          isEnough(found.session.acr, level)
            ? 'the user has signed in by another authentication context than the one asked for'
            : 'the user has not reached the authentication context that is asked for',
        )
      return { kind: 'sign-in' }
    }
    // What starts here may have been started by a link of an attacker: the user agrees (login CSRF).
    if (request.id === undefined && !signedInSince && chosen !== found.session.id)
      return { kind: 'account', found }
    return { kind: 'nothing', found, contextClass }
  }
