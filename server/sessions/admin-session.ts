/**
 * The session of an admin request. In a browser that is signed in to several realms the realm's own session is used first,
 * then that of `master`; sessions of other realms are ignored.
 */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { Cookies } from '#server/http/cookies/cookies.ts'
import type { FoundSession, Sessions } from './sessions.ts'

export interface AdminSession extends FoundSession {
  readonly sessionRealm: string
}

export type ResolveAdminSession = (
  cookies: Readonly<Record<string, string | undefined>>,
  realm: string,
) => Promise<AdminSession | null>

export interface AdminSessionParts {
  readonly sessions: Pick<Sessions, 'find'>
  readonly cookies: Cookies
  /** The realm whose administrators look after all others; it cannot be switched off. */
  readonly master: string
  readonly settingsOf: (realm: string) => Promise<SettingsDoc | null>
}

export const createResolveAdminSession =
  ({ sessions, cookies, master, settingsOf }: AdminSessionParts): ResolveAdminSession =>
  async (given, realm) => {
    for (const sessionRealm of new Set([realm, master])) {
      const value = given[cookies.session(sessionRealm).name]
      const settings = value === undefined ? null : await settingsOf(sessionRealm)
      if (value === undefined || settings === null) continue
      if (!settings.enabled && sessionRealm !== master) continue
      const found = await sessions.find(sessionRealm, value, settings)
      if (found !== undefined) return { ...found, sessionRealm }
    }
    return null
  }
