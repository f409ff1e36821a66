/** The answer of a provider as the browser brought it, and as it is kept until a cross-site POST has come back with cookies. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Arrival } from './protocol.ts'

/** What an HTTP request brought, before anything of it is understood. */
export interface Landing {
  readonly method: 'GET' | 'POST'
  /** Without the question mark. */
  readonly rawQuery: string
  /** Of a form, as it was sent; empty without one. */
  readonly rawBody: string
}

const rawQueryOf = ({ url }: Pick<FastifyRequest, 'url'>): string => {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}

export const landingOf = (request: Pick<FastifyRequest, 'method' | 'url' | 'body'>): Landing => ({
  method: request.method === 'POST' ? 'POST' : 'GET',
  rawQuery: rawQueryOf(request),
  rawBody: typeof request.body === 'string' ? request.body : '',
})

/** Forms stay as they were sent: signatures are over the raw text, and a parameter may stand twice. */
export const takeRawForms = (app: FastifyInstance, bodyLimit: number): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit },
    (_request, body, done) => done(null, body),
  )
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
