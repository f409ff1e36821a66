/** A realm as an issuer: its configuration, its settings, its name in tokens. */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { Copy, MarkedView, RealmView } from '#server/storage/documents/copy.ts'
import { settingsOf } from '#server/storage/documents/settings.ts'

export interface Issuer {
  readonly name: string
  /** `{base_url}/realms/{realm}`, the `iss` of everything that is signed. */
  readonly url: string
  /** Of the server, which all realms share. */
  readonly baseUrl: string
  readonly view: RealmView
  readonly settings: SettingsDoc
  /** Of the moment it was caught up with; none where it is as last known. */
  readonly mark?: string | undefined
}

/** Undefined for a realm that does not exist or is switched off: from outside they are the same. */
export interface Issuers {
  /** Without a query, as last known: where no user is involved. */
  known(realm: string): Promise<Issuer | undefined>
  /** After catching up with the database: for everything that is about a user. */
  fresh(realm: string): Promise<Issuer | undefined>
  /** Of a view that a request has caught up with already. */
  of(view: RealmView): Promise<Issuer | undefined>
}

export interface IssuerParts {
  readonly copy: Copy
  readonly baseUrl: string
  /** The realm that cannot be switched off. */
  readonly master: string
}

export const createIssuers = ({ copy, baseUrl, master }: IssuerParts): Issuers => {
  /** A view stays the same until the realm changes, and so does what follows from it. */
  const made = new WeakMap<RealmView, Issuer>()
  const marked = new WeakMap<MarkedView, Issuer>()

  const make = async (view: RealmView): Promise<Issuer | undefined> => {
    const settings = await settingsOf(view)
    if (!settings || (!settings.enabled && view.realm !== master)) return undefined
    const url = `${baseUrl}/realms/${view.realm}`
    const issuer = { name: view.realm, url, baseUrl, view, settings }
    made.set(view, issuer)
    return issuer
  }
  const issuerOf = async (view: RealmView): Promise<Issuer | undefined> =>
    made.get(view) ?? make(view)
  return {
    of: issuerOf,
    known: async (realm) => {
      const view = await copy.known(realm)
      return view && issuerOf(view)
    },
    fresh: async (realm) => {
      const seen = await copy.freshMarked(realm)
      if (!seen) return undefined
      const before = marked.get(seen)
      if (before) return before
      const issuer = await issuerOf(seen.view)
      if (!issuer) return undefined
      const fresh = { ...issuer, mark: seen.mark }
      marked.set(seen, fresh)
      return fresh
    },
  }
}
