/** The answer of a provider as the browser brought it, and as it is kept until a cross-site POST has come back with cookies. */

import type { Arrival } from './protocol.ts'

/** What an HTTP request brought, before anything of it is understood. */
export interface Landing {
  readonly method: 'GET' | 'POST'
  /** Without the question mark. */
  readonly rawQuery: string
  /** Of a form, as it was sent; empty without one. */
  readonly rawBody: string
}

/** The parameter by which a browser fetches the answer that came by a cross-site POST. */
export const resumeParameter = 'resume'

/** A parameter that stands twice counts as missing: a proxy in front may have read the other one. */
const reader = (raw: string): ((name: string) => string | undefined) => {
  const parameters = new URLSearchParams(raw)
  return (name) => {
    const [value, ...others] = parameters.getAll(name)
    return others.length > 0 ? undefined : value
  }
}

export const arrivalOf = ({ method, rawQuery, rawBody }: Landing): Arrival => ({
  method,
  rawQuery,
  query: reader(rawQuery),
  form: reader(rawBody),
})
