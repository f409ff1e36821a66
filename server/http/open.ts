/** Opens what every page and form shares: cookies, CSRF tokens, the pages, and how errors of storage are told. */

import { createCookies } from './cookies/cookies.ts'
import { createCsrf } from './cookies/csrf.ts'
import type { MapError } from './errors.ts'
import { createPages } from './pages/pages.ts'

export interface HttpNeeds {
  readonly baseUrl: string
  /** Makes the tokens of forms; every node has the same. */
  readonly csrfKey: Uint8Array
  readonly mapError: MapError
}

export const openHttp = ({ baseUrl, csrfKey, mapError }: HttpNeeds) => {
  const cookies = createCookies(baseUrl)
  return { cookies, csrf: createCsrf(csrfKey), pages: createPages({ cookies }), mapError }
}

export type HttpArea = ReturnType<typeof openHttp>
