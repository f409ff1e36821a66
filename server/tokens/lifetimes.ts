/** How long what the realm issues is good for, in seconds. */

import type { ClientDoc } from '#schemas/kinds/client.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'

const day = 24 * 3600

/** Between an authorization and its exchange; RFC 6749 §4.1.2 allows ten minutes at most. */
export const codeLifetime = 60

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
