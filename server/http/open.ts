/** Opens the parts that every page and form shares: cookies, CSRF tokens, pages, errors of storage, the pace of refusals, and what bulk work gives way to. */

import type { Clock } from '#server/platform/clock.ts'
import { createCookies } from './cookies/cookies.ts'
import { createCsrf } from './cookies/csrf.ts'
import type { MapError } from './errors.ts'
import { createForeground } from './limits/foreground.ts'
import { createSlowRefusals } from './limits/slow-refusals.ts'
import { createPages } from './pages/pages.ts'

export interface HttpNeeds {
  readonly baseUrl: string
  readonly clock: Clock
  /** The key of one purpose, the same on every node. */
  readonly secrets: { readonly keyFor: (purpose: string) => Uint8Array }
  readonly mapError: MapError
  readonly metrics: { readonly refusalDelayed: (realm: string) => void }
}

export const openHttp = ({ baseUrl, clock, secrets, mapError, metrics }: HttpNeeds) => {
  const cookies = createCookies(baseUrl)
  const csrf = createCsrf(secrets.keyFor('csrf'))
  const slowRefusal = createSlowRefusals({ clock, metrics })
  return {
    cookies,
    csrf,
    pages: createPages({ cookies }),
    mapError,
    slowRefusal,
    foreground: createForeground(),
  }
}

export type HttpArea = ReturnType<typeof openHttp>
