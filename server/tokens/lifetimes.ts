/** The lifetimes of codes and tokens. */

import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'

const day = 24 * 3600

/** Seconds between an authorization and its exchange; RFC 6749 §4.1.2 allows ten minutes at most. */
export const codeLifetime = 60

/** In seconds. */
export interface Lifetimes {
  readonly accessToken: number
  readonly idToken: number
  /** A refresh token is good when it is used within so long. */
  readonly refreshIdle: number
  /** And never longer than that after the sign-in. */
  readonly refreshMax: number
  readonly offlineIdle: number
  readonly offlineMax: number
}

export const lifetimesOf = (
  settings: SettingsDoc,
  { accessTokenLifespan, refreshTokenLifespan }: ClientDoc,
): Lifetimes => {
  const accessToken = accessTokenLifespan ?? settings.accessTokenLifespan
  return {
    accessToken,
    idToken: accessToken,
    refreshIdle: refreshTokenLifespan ?? settings.ssoSessionIdleTimeout,
    refreshMax: settings.ssoSessionMaxLifespan,
    offlineIdle: refreshTokenLifespan ?? 30 * day,
    offlineMax: 365 * day,
  }
}

type IdleSettings = Pick<SettingsDoc, 'ssoSessionIdleTimeout'>

const mostUnwrittenMs = 60_000

/** Milliseconds of use of a session that may go unwritten. */
export const touchInterval = ({ ssoSessionIdleTimeout }: IdleSettings): number =>
  Math.min(mostUnwrittenMs, ssoSessionIdleTimeout * 100)

/**
 * A session whose last written use is not after this time is over, and what was issued within it. The use that may be
 * unwritten is added, so that a session in use never ends early.
 */
export const idleSince = (settings: IdleSettings, now: number): number =>
  now - settings.ssoSessionIdleTimeout * 1000 - touchInterval(settings)
