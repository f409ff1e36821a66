/**
 * The parameters of a request, from a form or a query (RFC 6749 §3.1, §3.2): one that has no value was not sent, one
 * that stands twice makes the request invalid. Nothing is guessed: a proxy in front may have read the other one.
 */

import type { FastifyInstance } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import { isEncoded } from '#server/http/server.ts'
import { invalidRequest } from './errors.ts'
import { repeatable } from './vocabulary.ts'

/** More are never meant; a parser must not be kept busy with them. */
const mostParameters = 200
const longestForm = 64 * 1024
/** Clients put an encrypted return address into it; it is stored while the user signs in and comes back in an address. */
const longestState = 4096

/** As the URL standard has it; only what is no good UTF-8 needs its parser, which costs several times as much. */
const decoded = (text: string): string => {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return new URLSearchParams(`=${text}`).get('') ?? ''
  }
}

export class Parameters {
  readonly #values: ReadonlyMap<string, string | readonly string[]>

  constructor(values: ReadonlyMap<string, string | readonly string[]>) {
    this.#values = values
  }

  get(name: string): string | undefined {
    const value = this.#values.get(name)
    const first = typeof value === 'object' ? value.find((one) => one !== '') : value
    return first === '' ? undefined : first
  }

  /** Of a parameter that may be repeated. */
  all(name: string): readonly string[] {
    return [this.#values.get(name) ?? []].flat().filter((value) => value !== '')
  }

  /** Throws invalid_request where it is missing. */
  require(name: string): string {
    const value = this.get(name)
    if (value === undefined) throw invalidRequest(`the parameter ${name} is missing`)
    return value
  }

  names(): Iterable<string> {
    return this.#values.keys()
  }
}

/** Throws invalid_request where the opaque value of the client (RFC 6749 §4.1.1, RP-Initiated Logout §2) is too long to keep. */
export const stateOf = (parameters: Parameters): string | undefined => {
  const state = parameters.get('state')
  if (state !== undefined && state.length > longestState)
    throw invalidRequest(
      `the state is longer than ${longestState} characters; keep its content at the client and send a key to it`,
    )
  return state
}

const asItIs = (text: string): string => text

export const parseParameters = (text: string): Parameters => {
  // Both are looked for once: most forms have neither. A plus separates nothing, so it may become a space before the rest.
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  const read = text.includes('%') ? decoded : asItIs
  const values = new Map<string, string | readonly string[]>()
  let count = 0
  for (const part of spaced.split('&')) {
    if (part === '') continue
    count += 1
    if (count > mostParameters) throw invalidRequest('there are too many parameters')
    const end = part.indexOf('=')
    const name = read(end === -1 ? part : part.slice(0, end))
    const value = end === -1 ? '' : read(part.slice(end + 1))
    const before = values.get(name)
    if (before === undefined) values.set(name, value)
    else if (repeatable.has(name)) values.set(name, [before, value].flat())
    else throw invalidRequest(`the parameter ${name.slice(0, 100)} is given more than once`)
  }
  return new Parameters(values)
}

/** The parameters as a form again, without some and with others in their place. */
export const parametersText = (
  parameters: Parameters,
  without: ReadonlySet<string>,
  more: Readonly<Record<string, string>> = {},
): string => {
  const text = new URLSearchParams(more)
  for (const name of parameters.names())
    if (!without.has(name) && !Object.hasOwn(more, name))
      for (const value of parameters.all(name)) text.append(name, value)
  return text.toString()
}

const none = parseParameters('')

/** The form that came as the body of the request; none where there was no body. */
export const formOf = ({ body }: { readonly body: unknown }): Parameters =>
  typeof body === 'string' ? parseParameters(body) : none

/** As `parseParameters`, of a request's query. */
export const queryOf = ({ url }: { readonly url: string }): Parameters => {
  const start = url.indexOf('?')
  return start === -1 ? none : parseParameters(url.slice(start + 1))
}

/** Lets the scope of `app` take forms and nothing else; the text stays as it came, for `formOf`. */
export const takeForms = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: longestForm },
    (request, body, done) =>
      isEncoded(request)
        ? done(invalidRequest('send the form without Content-Encoding'))
        : done(null, body),
  )
  // The type of nothing says nothing: a POST may come with a token in its header alone (OIDC Core §5.3.1).
  app.addContentTypeParser(
    '*',
    { parseAs: 'string', bodyLimit: longestForm },
    (_request, body, done) =>
      body === '' ? done(null) : done(new Problem('unsupported-media-type', 'Send a form.')),
  )
}
