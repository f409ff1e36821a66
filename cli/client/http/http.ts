/**
 * Requests to one server: persistent connections, timeouts, responses as values, and a retry where it is safe. Authentication
 * is in session.ts. No other file of the CLI makes requests.
 */

import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, type Dispatcher } from 'undici'
import { versionHeader } from '#schemas/wire/capabilities.ts'
import manifest from '../../../package.json' with { type: 'json' }
import { CommandError, exitCodes } from '../../exit.ts'
import { isLoopback } from '../address.ts'
import { ProblemError, problemOf, UnreachableError } from './errors.ts'
import { unreachable } from './failures.ts'
import { isTooDeep } from './json-depth.ts'
import { withPlainParser } from './parser-code.ts'
import { proxied } from './proxy.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the server's address, with its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Headers that are computed for each attempt, such as a single-use DPoP proof. */
  readonly freshHeaders?: () => Promise<Readonly<Record<string, string>>>
  /** Text, or a function that produces its parts for each attempt. */
  readonly body?: string | (() => AsyncIterable<string>)
  /** Whether sending it twice is the same as once; a GET always is. */
  readonly repeatable?: boolean
  /** The answer may take minutes. */
  readonly slow?: boolean
  /** Signing in and out does not count. */
  readonly uncounted?: boolean
  /** For a response that is an event stream: called with each part; the response then has no body. */
  readonly stream?: AnswerStream
}

export interface AnswerStream {
  readonly onOpen: () => void
  readonly onText: (text: string) => void
  /** Ends it. */
  readonly signal: AbortSignal
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed where it is JSON, else text. */
  readonly body: unknown
}

export interface Http {
  readonly server: string
  /** How many were sent, those of a sign-in aside. */
  readonly requests: () => number
  /** Whether any answer has come yet. */
  readonly hasAnswered: () => boolean
  /** As its answers told so far. */
  readonly serverVersion: () => string | undefined
  /** Whatever the status is. */
  readonly send: (request: HttpRequest) => Promise<HttpAnswer>
  readonly close: () => Promise<void>
}

export interface HttpOptions {
  readonly server: string
  /** For the first byte of an answer, and between two parts of it. */
  readonly timeoutMs: number
  readonly slowTimeoutMs: number
  /** Told of every answer; never of what is in it. */
  readonly trace?: ((line: string) => void) | undefined
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A JavaScript string cannot hold much more. */
const largestAnswer = 400 * 1024 * 1024
const tries = 3
const connectTimeoutMs = 10_000

const agentOptions = { connect: { timeout: connectTimeoutMs }, keepAliveTimeout: 10_000 }

const read = async (body: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > largestAnswer)
      throw new CommandError(
        exitCodes.error,
        `the answer has more than ${largestAnswer / 1024 / 1024} MiB`,
        { hint: 'ask for less at a time, such as one section' },
      )
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const isStream = (type: unknown): boolean => /^text\/event-stream\b/.test(String(type))

const pass = async (body: AsyncIterable<Buffer>, stream: AnswerStream): Promise<''> => {
  const decoder = new TextDecoder()
  stream.onOpen()
  try {
    for await (const chunk of body) stream.onText(decoder.decode(chunk, { stream: true }))
  } catch (error) {
    if (!stream.signal.aborted) throw error
  }
  return ''
}

const isJson = (type: unknown): boolean => /^application\/([\w.-]+\+)?json\b/.test(String(type))

const parse = (server: string, text: string): unknown => {
  if (isTooDeep(text))
    throw new UnreachableError(server, 'stranger', `${server} answers JSON that is nested too deep`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UnreachableError(server, 'stranger', `${server} answers broken JSON`, error)
  }
}

/** Seconds, or a date (RFC 9110 §10.2.3). */
const retryAfterMs = (header: unknown): number | undefined => {
  if (typeof header !== 'string') return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

/** A 429 had no effect; the outcome of a 503 is unknown. */
const mayComeBack = ({ status }: HttpAnswer, repeatable: boolean): boolean =>
  status === 429 || (status === 503 && repeatable)

/** Worth another try: the server restarts, or closed a connection that was idle for too long. */
const isPassing = (error: UnreachableError): boolean =>
  error.reason === 'refused' || error.reason === 'closed'

export const createHttp = (options: HttpOptions): Http => {
  const { server, trace } = options
  // What is for this machine never goes through a proxy.
  const proxy = isLoopback(server) ? undefined : proxied(options.env ?? {}, server, agentOptions)
  const dispatcher: Dispatcher = proxy?.agent ?? new Agent(agentOptions)
  let counted = 0
  let underWay = 0
  let answered = false
  let version: string | undefined

  const once = async (asked: HttpRequest): Promise<HttpAnswer> => {
    const { method, path, headers = {}, body: sent, slow = false, uncounted = false } = asked
    const timeout = slow ? options.slowTimeoutMs : options.timeoutMs
    const fresh = await asked.freshHeaders?.()
    const started = performance.now()
    if (!uncounted) counted += 1
    underWay += 1
    const say = (outcome: string): void =>
      trace?.(`${method} ${path} ${outcome} ${Math.round(performance.now() - started)} ms`)
    try {
      const { origin, pathname, search } = new URL(server + path)
      const request: Dispatcher.RequestOptions = {
        origin,
        path: pathname + search,
        method,
        headersTimeout: timeout,
        ...(asked.stream ? { signal: asked.stream.signal } : {}),
        bodyTimeout: timeout,
        headers: {
          'user-agent': `iamctl/${manifest.version}`,
          accept: 'application/json, application/problem+json',
          ...headers,
          ...fresh,
        },
        ...(sent === undefined
          ? {}
          : {
              body: typeof sent === 'string' ? sent : Readable.from(sent(), { objectMode: false }),
            }),
      }
      const answer = await withPlainParser(() => dispatcher.request(request))
      const { stream } = asked
      const text =
        stream && isStream(answer.headers['content-type'])
          ? await pass(answer.body, stream)
          : await read(answer.body)
      answered = true
      say(String(answer.statusCode))
      const told = answer.headers[versionHeader]
      if (typeof told === 'string') version = told
      const body =
        isJson(answer.headers['content-type']) && text !== '' ? parse(server, text) : text
      return { status: answer.statusCode, headers: answer.headers, body }
    } catch (error) {
      const failure = unreachable(server, error, proxy?.says) ?? error
      say(failure instanceof Error ? failure.message : 'failed')
      throw failure
    } finally {
      underWay -= 1
    }
  }

  const send = async (asked: HttpRequest): Promise<HttpAnswer> => {
    const repeatable = asked.repeatable ?? asked.method === 'GET'
    // From the first refusal: an answer may take minutes, but a server that refuses for a minute has no passing fault.
    let patience: number | undefined
    for (let attempt = 1; ; attempt += 1)
      try {
        const answer = await once(asked)
        const wait = mayComeBack(answer, repeatable)
          ? retryAfterMs(answer.headers['retry-after'])
          : undefined
        if (wait === undefined) return answer
        patience ??= Date.now() + options.timeoutMs
        if (Date.now() + wait > patience) return answer
        await sleep(wait)
      } catch (error) {
        if (!(error instanceof UnreachableError && isPassing(error))) throw error
        if (!repeatable || attempt === tries) throw error
        await sleep(100 * attempt ** 2)
      }
  }

  return {
    server,
    requests: () => counted,
    hasAnswered: () => answered,
    serverVersion: () => version,
    send,
    // To break off makes an error for every connection, with a stack trace, which takes its time.
    close: () => (underWay === 0 ? dispatcher.close() : dispatcher.destroy()),
  }
}

const stranger = (server: string, message: string): UnreachableError =>
  new UnreachableError(server, 'stranger', message)

/** The response if it succeeded; otherwise throws its problem, or an error that the server is not an iamctl server. */
export const succeeded = (server: string, answer: HttpAnswer): HttpAnswer => {
  const { status, headers, body } = answer
  if (status >= 200 && status < 300) return answer
  if (typeof body === 'object' && body !== null && !Array.isArray(body))
    throw new ProblemError(problemOf(status, body as Record<string, unknown>))
  if (status >= 300 && status < 400) {
    const target = URL.parse(String(headers['location'] ?? ''), server)
    const elsewhere = target !== null && target.origin !== new URL(server).origin
    throw stranger(
      server,
      elsewhere ? `${server} sends its visitors to ${target.origin}` : `${server} redirects`,
    )
  }
  throw stranger(
    server,
    `${server} is not an iamctl server, or the server behind it is away (${status})`,
  )
}
