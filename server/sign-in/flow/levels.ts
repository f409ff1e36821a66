/** The `acr` values of a sign-in, weakest first, and the methods that reach them (RFC 8176 names the methods). */

import { authenticationLevels } from '#schemas/kinds/clients/client.ts'

export const levels: readonly string[] = authenticationLevels
export const [singleFactor, twoFactors] = authenticationLevels

/**
 * The method of a sign-in at an identity provider, as Entra ID names it; RFC 8176 has no name for it. By itself it counts as
 * what the user knows: a password there and a password here are one factor.
 */
export const federated = 'fed'

const knowledge: ReadonlySet<string> = new Set(['pwd', 'pin', 'kba', federated])

/** What the user knows, and what the user has; two of one class are one factor. */
const classOf = (method: string): 'knowledge' | 'possession' =>
  knowledge.has(method) ? 'knowledge' : 'possession'

/** `mfa` marks a method with two factors: a passkey with user verification. */
export const levelOf = (amr: readonly string[]): string =>
  amr.includes('mfa') || new Set(amr.map(classOf)).size > 1 ? twoFactors : singleFactor

export const isEnough = (level: string, wanted: string): boolean =>
  levels.indexOf(level) >= levels.indexOf(wanted)

/** Seconds after a sign-in during which it is recent: good enough to change how its user signs in. */
export const recentInSession = 15 * 60
