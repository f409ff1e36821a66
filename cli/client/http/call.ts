/** One request of the admin API as a value in and a value out; what is no success is thrown. */

import { CommandError, exitCodes } from '../../exit.ts'
import type { Session } from '../session.ts'
import { UnreachableError } from './errors.ts'
import type { Http, HttpAnswer, HttpRequest } from './http.ts'
import { succeeded } from './http.ts'

export interface CallOptions extends Omit<HttpRequest, 'method' | 'path' | 'body'> {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as lines of JSON, one value each. */
  readonly lines?: () => Iterable<unknown> | AsyncIterable<unknown>
}

/** The body is what the API description says it is: the server is ours, and of our version or newer. */
export interface Answer<T> {
  readonly body: T
  readonly header: (name: string) => string | undefined
}

export type Call = <T>(
  method: HttpRequest['method'],
  path: string,
  options?: CallOptions,
) => Promise<Answer<T>>

/** A URL parser removes segments of dots, so that the request would reach another path (RFC 3986 §5.2.4). */
export const segmentOf = (name: string): string => {
  if (name === '' || name === '.' || name === '..')
    throw new CommandError(exitCodes.error, `"${name}" is not a name that a document can have`, {
      hint: 'check the arguments and --realm (IAMCTL_REALM); a variable of a script may be empty',
    })
  return encodeURIComponent(name)
}

/** Each segment encoded: `path`admin/realms/${realm}/users``. */
export const path = (parts: TemplateStringsArray, ...values: readonly string[]): string =>
  String.raw({ raw: parts }, ...values.map(segmentOf))

const queryOf = (query: CallOptions['query'] = {}): string => {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? '' : `?${given}`
}

/** Lines are joined to larger parts: a write to the socket for every one of them would be slow. */
async function* inParts(lines: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<string> {
  let part = ''
  for await (const line of lines) {
    part += `${JSON.stringify(line)}\n`
    if (part.length > 64 * 1024) {
      yield part
      part = ''
    }
  }
  if (part !== '') yield part
}

const bodyOf = ({ json, lines }: CallOptions): Pick<HttpRequest, 'body' | 'headers'> => {
  if (lines !== undefined)
    return { headers: { 'content-type': 'application/x-ndjson' }, body: () => inParts(lines()) }
  if (json === undefined) return {}
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(json) }
}

export const createCall =
  (http: Http, session: Session): Call =>
  async <T>(method: HttpRequest['method'], where: string, options: CallOptions = {}) => {
    const { query, json: _json, lines: _lines, headers, ...rest } = options
    const { body, headers: ofBody } = bodyOf(options)
    const answer: HttpAnswer = succeeded(
      http.server,
      await session.send({
        ...rest,
        method,
        path: where + queryOf(query),
        headers: { ...ofBody, ...headers },
        ...(body === undefined ? {} : { body }),
      }),
    )
    // A proxy that asks for a sign-in of its own answers with a page and success.
    if (typeof answer.body === 'string' && answer.body !== '')
      throw new UnreachableError(
        http.server,
        'stranger',
        `${http.server} is not an iamctl server: its answer is not JSON`,
      )
    return {
      body: answer.body as T,
      header: (name) => {
        const value = answer.headers[name]
        return Array.isArray(value) ? value[0] : value
      },
    }
  }
