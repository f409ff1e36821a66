/** Opens the parts that every page and form shares: cookies, CSRF tokens, pages, and errors of storage. */

import { createCookies } from './cookies/cookies.ts'
import { createCsrf } from './cookies/csrf.ts'
import type { MapError } from './errors.ts'
import { createPages } from './pages/pages.ts'

export interface HttpNeeds {
  readonly baseUrl: string
  /** The key of one purpose, the same on every node. */
  readonly secrets: { readonly keyFor: (purpose: string) => Uint8Array }
  readonly mapError: MapError
}

export const openHttp = ({ baseUrl, secrets, mapError }: HttpNeeds) => {
  const cookies = createCookies(baseUrl)
  const csrf = createCsrf(secrets.keyFor('csrf'))
  return { cookies, csrf, pages: createPages({ cookies }), mapError }
}

export type HttpArea = ReturnType<typeof openHttp>
