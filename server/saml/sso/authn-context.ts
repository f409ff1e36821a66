/**
 * Authentication context classes against the levels of the sign-in flow (SAML Core §3.3.2.2.1). A class is asserted only
 * where it is true of the session: what asks for a password is not met by a passkey.
 */

import {
  federated,
  isEnough,
  levels,
  singleFactor,
  twoFactors,
} from '#server/sign-in/flow/levels.ts'
import type { SessionRow } from '#server/storage/tables/tables.ts'

export type Comparison = 'exact' | 'minimum' | 'maximum' | 'better'

/** Plain JSON: it is stored while the user signs in. */
export interface RequestedContext {
  readonly comparison: Comparison
  /** In the order of preference. */
  readonly classes: readonly string[]
}

interface ContextClass {
  readonly level: string
  /** A method (RFC 8176) that must have been used. */
  readonly method?: string
}

const ac = 'urn:oasis:names:tc:SAML:2.0:ac:classes'
const refedsMfa = 'https://refeds.org/profile/mfa'
const passwordOverTls = `${ac}:PasswordProtectedTransport`
const unspecified = `${ac}:unspecified`

const classes: Readonly<Record<string, ContextClass>> = {
  [unspecified]: { level: singleFactor },
  [`${ac}:Password`]: { level: singleFactor, method: 'pwd' },
  [passwordOverTls]: { level: singleFactor, method: 'pwd' },
  'https://refeds.org/profile/sfa': { level: singleFactor },
  [`${ac}:TimeSyncToken`]: { level: twoFactors, method: 'otp' },
  [refedsMfa]: { level: twoFactors },
  'http://schemas.microsoft.com/claims/multipleauthn': { level: twoFactors },
}

const classOf = (name: string): ContextClass | undefined =>
  Object.hasOwn(classes, name) ? classes[name] : undefined

/** Whether any session can be of the class. */
export const isKnownClass = (name: string): boolean => classOf(name) !== undefined

type Session = Pick<SessionRow, 'acr' | 'amr'>

const methodsOf = ({ amr }: Pick<SessionRow, 'amr'>): readonly string[] => JSON.parse(amr)

/** Whether the user signed in at another identity provider. */
export const isFederated = (session: Pick<SessionRow, 'amr'>): boolean =>
  methodsOf(session).includes(federated)

/** Whether it is true of the session: a stronger one holds what a weaker class says. */
const holds = (name: string, session: Session): boolean => {
  const wanted = classOf(name)
  if (!wanted || !isEnough(session.acr, wanted.level)) return false
  return wanted.method === undefined || methodsOf(session).includes(wanted.method)
}

/** What a session is by itself. */
const ownClass = (session: Session): string =>
  [refedsMfa, passwordOverTls].find((name) => holds(name, session)) ?? unspecified

const rank = (level: string): number => levels.indexOf(level)

/** Those of the request that are known; none of them can be met where this is empty. */
const knownLevels = ({ classes: names }: RequestedContext): string[] =>
  names.flatMap((name) => classOf(name)?.level ?? [])

/** The class to assert; undefined where the session does not meet what is asked. */
export const metClass = (
  requested: RequestedContext | undefined,
  session: Session,
): string | undefined => {
  if (!requested) return ownClass(session)
  const own = ownClass(session)
  const asked = knownLevels(requested).map(rank)
  const level = rank(session.acr)
  switch (requested.comparison) {
    case 'exact':
      return requested.classes.find((name) => holds(name, session))
    case 'minimum':
      return (
        requested.classes.find((name) => holds(name, session)) ??
        (asked.some((one) => level >= one) ? own : undefined)
      )
    case 'better':
      return asked.length > 0 && asked.every((one) => level > one) ? own : undefined
    case 'maximum':
      if (asked.some((one) => level <= one)) return own
      // What is true of a stronger session as well does not exceed what was asked for.
      return requested.classes.find((name) => holds(name, session))
  }
}

/** The level that a sign-in must reach for it; null where no sign-in can. */
export const wantedLevel = (requested: RequestedContext | undefined): string | null => {
  if (!requested) return singleFactor
  const asked = knownLevels(requested)
  if (asked.length === 0) return null
  const lowest = Math.min(...asked.map(rank))
  if (requested.comparison === 'better') return levels[Math.max(...asked.map(rank)) + 1] ?? null
  return requested.comparison === 'maximum' ? singleFactor : (levels[lowest] ?? null)
}
