/**
 * THE guarded client: every request to a URL that a user gave goes through it. A name is resolved once, all of its
 * addresses are checked, and the connection goes to a checked address, so that a later answer of the name server has no
 * effect (DNS rebinding). Redirects are returned, not followed.
 */

import type { Agent, Dispatcher } from 'undici'
import { addressProblem, canonicalHost, parseAllowed } from './addresses.ts'
import { OutgoingError } from './errors.ts'
import { type Lookup, limitLookups, lookupBySystem, type ResolvedAddress } from './lookup.ts'
import { checkUrl, type Scheme } from './url.ts'

export interface OutgoingOptions {
  /** Ranges, addresses and host names outside the public internet that the operator allows. */
  allowPrivate?: readonly string[] | undefined
  allowHttp?: boolean | undefined
  /** For the whole request: resolving, connecting, sending, and receiving the last byte. */
  timeoutMs?: number | undefined
  maxBytes?: number | undefined
  /** Certificate authorities (PEM) trusted besides those of the system. */
  ca?: readonly string[] | undefined
  lookup?: Lookup | undefined
}

export interface OutgoingRequest {
  url: string
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | undefined
  headers?: Readonly<Record<string, string>> | undefined
  body?: string | Uint8Array | undefined
  timeoutMs?: number | undefined
  maxBytes?: number | undefined
  /** The answer is its status and headers: of the body, `maxBytes` at most are read, and neither kept nor waited for. */
  dropBody?: boolean | undefined
  /** A body beyond `maxBytes` ends there, and is no error: the caller needs no more of it. */
  cutBody?: boolean | undefined
  /** Narrows what is allowed in general; it cannot widen it. */
  schemes?: readonly Scheme[] | undefined
  /** Gives up when the caller does. */
  signal?: AbortSignal | undefined
  /** Shown to a server that asks for it. */
  client?: ClientIdentity | undefined
}

/** The client certificate for servers that ask for one (mutual TLS), and its key, both in PEM. */
export interface ClientIdentity {
  readonly key: string
  readonly certificate: string
}

export interface OutgoingResponse {
  status: number
  /** Names in lower case; repeated headers joined by a comma. */
  headers: Record<string, string>
  body: Uint8Array
}

export interface Outgoing {
  request(request: OutgoingRequest): Promise<OutgoingResponse>
  /** The checks that need no network, for validating a field. Throws an OutgoingError. */
  checkUrl(url: string): URL
  /** Checked addresses of a host, for protocols that dial for themselves (LDAP, SMTP). */
  resolve(hostname: string): Promise<ResolvedAddress[]>
  /** Waits for the requests under way, which all end within their time limit. */
  close(): Promise<void>
}

export function createOutgoing({
  allowPrivate = [],
  allowHttp = false,
  timeoutMs = 10_000,
  maxBytes = 1024 * 1024,
  ca = [],
  lookup = lookupBySystem,
}: OutgoingOptions = {}): Outgoing {
  const allowed = parseAllowed(allowPrivate)
  const schemes: readonly Scheme[] = allowHttp ? ['https', 'http'] : ['https']
  const limitedLookup = limitLookups(lookup, timeoutMs)

  const resolve = async (hostname: string): Promise<ResolvedAddress[]> => {
    const host = canonicalHost(hostname)
    const addresses = await limitedLookup(host)
    if (addresses.length === 0) {
      throw new OutgoingError('outgoing.network', host, 'the name has no address')
    }
    if (!allowed.hosts.has(host)) {
      for (const { address } of addresses) {
        const problem = addressProblem(address, allowed)
        if (problem !== undefined) {
          throw new OutgoingError('outgoing.address', host, `${problem} is not allowed`)
        }
      }
    }
    return addresses
  }
  // Loaded on demand: most starts make no outgoing call.
  const newAgent = async (client?: ClientIdentity): Promise<Agent> =>
    (await import('./agent.ts')).createAgent({ resolve, timeoutMs, ca, client })
  let made: Promise<Agent> | undefined
  const agent = (): Promise<Agent> => {
    made ??= newAgent()
    return made
  }
  /** A connection that shows a certificate is for this request alone: no other caller may speak as this client. */
  const withAgent = async <T>(
    client: ClientIdentity | undefined,
    use: (agent: Agent) => Promise<T>,
  ): Promise<T> => {
    if (client === undefined) return use(await agent())
    const own = await newAgent(client)
    try {
      return await use(own)
    } finally {
      await own.destroy()
    }
  }
  const underWay = new Set<Promise<unknown>>()

  return Object.freeze({
    async request(request: OutgoingRequest): Promise<OutgoingResponse> {
      const narrowed = schemes.filter((scheme) => request.schemes?.includes(scheme) ?? true)
      const url = checkUrl(request.url, { schemes: narrowed, allowed })
      const limit = AbortSignal.timeout(request.timeoutMs ?? timeoutMs)
      const signal = request.signal ? AbortSignal.any([limit, request.signal]) : limit
      const exchange = (): Promise<OutgoingResponse> =>
        withAgent(request.client, async (one) => {
          const response = await send(one, url, request, signal)
          return receive(response, url.host, {
            maxBytes: request.maxBytes ?? maxBytes,
            dropBody: request.dropBody ?? false,
            cutBody: request.cutBody ?? false,
          })
        })
      const work = beforeAbort(exchange(), signal).catch((error: unknown) => {
        throw explain(error, url.host, signal)
      })
      underWay.add(work)
      return work.finally(() => underWay.delete(work))
    },
    checkUrl: (url: string) => checkUrl(url, { schemes, allowed }),
    async resolve(hostname: string): Promise<ResolvedAddress[]> {
      try {
        return await resolve(hostname)
      } catch (error) {
        throw explain(error, hostname)
      }
    },
    async close(): Promise<void> {
      await Promise.allSettled(underWay)
      await (await made)?.destroy()
    },
  })
}

function send(
  agent: Agent,
  url: URL,
  { method = 'GET', headers = {}, body }: Omit<OutgoingRequest, 'url'>,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const fields = new Map([['user-agent', 'iamctl']])
  for (const [name, value] of Object.entries(headers)) fields.set(name.toLowerCase(), value)
  fields.delete('host')
  // Nothing is ever unpacked, so a small answer stays a small answer.
  fields.set('accept-encoding', 'identity')
  return agent.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers: Object.fromEntries(fields),
    body: body ?? null,
    signal,
  })
}

/** The library heeds the signal only once it has a connection; resolving and connecting count too. */
async function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function receive(
  response: Dispatcher.ResponseData,
  host: string,
  {
    maxBytes,
    dropBody,
    cutBody,
  }: { readonly maxBytes: number; readonly dropBody: boolean; readonly cutBody: boolean },
): Promise<OutgoingResponse> {
  // Read to its end, a short body leaves a connection for the next request; the time limit holds for it too.
  if (dropBody) response.body.dump({ limit: maxBytes }).catch(() => undefined)
  const body = dropBody ? new Uint8Array() : await bodyOf(response, host, maxBytes, cutBody)
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(response.headers)) {
    headers[name] = Array.isArray(value) ? value.join(', ') : (value ?? '')
  }
  return { status: response.statusCode, headers, body }
}

async function bodyOf(
  { body }: Dispatcher.ResponseData,
  host: string,
  maxBytes: number,
  isCut: boolean,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop early destroys the body and with it the connection.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes && isCut) return Buffer.concat([...chunks, chunk]).subarray(0, maxBytes)
    if (size > maxBytes) {
      throw new OutgoingError('outgoing.size', host, `the answer has more than ${maxBytes} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Only codes of the errors underneath are passed on: their messages may quote the other side. */
function explain(error: unknown, host: string, signal?: AbortSignal): OutgoingError {
  if (error instanceof OutgoingError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'failed'
  if (signal?.aborted === true || code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new OutgoingError('outgoing.timeout', host, 'no answer in time')
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new OutgoingError('outgoing.size', host, 'the answer has too many headers')
  }
  return new OutgoingError('outgoing.network', host, `the request failed (${code})`)
}
