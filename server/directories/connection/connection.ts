/** One connection to a server of a directory: dialled through the guard, encrypted as configured, and then asked. */

import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import {
  BindRequest,
  type Control,
  ExtendedRequest,
  type Filter,
  PagedResultsControl,
  PasswordPolicyControl,
  type PasswordPolicyValue,
  SearchRequest,
} from 'ldapts'
import { readCertificate } from '#schemas/public-keys/certificates.ts'
import { canonicalHost } from '#server/platform/outgoing/addresses.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { dial } from '#server/platform/outgoing/dial.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import type { Directory, DirectoryUrl } from '../directory.ts'
import type { Entry } from '../entries/entry.ts'
import { DirectoryAway, DirectoryRefused, resultCodes } from './errors.ts'
import { openWire, type ReadEntry, type Wire } from './wire.ts'

/** What a bind was answered with. */
export interface BindAnswer {
  readonly code: number
  /** The diagnostic message, in which Active Directory says why. */
  readonly message: string
  /** Of the password policy of the directory (draft-behera-ldap-password-policy-11). */
  readonly policy: PasswordPolicyValue | undefined
}

export interface Search {
  readonly base: string
  readonly scope?: 'base' | 'one' | 'sub'
  readonly filter: Filter
  readonly attributes: readonly string[]
  readonly sizeLimit?: number
  readonly controls?: readonly Control[]
  readonly timeoutMs?: number
}

export interface SearchAnswer {
  readonly code: number
  readonly entries: readonly Entry[]
}

export interface Connection {
  readonly isOpen: boolean
  readonly url: DirectoryUrl
  /** The certificate of the server, of an encrypted connection. */
  readonly tls: TLSSocket | undefined
  bind(name: string, password: string): Promise<BindAnswer>
  search(search: Search): Promise<SearchAnswer>
  /** All pages (RFC 2696), until the server gives no cookie. Throws `DirectoryRefused` for every other end. */
  pages<T>(search: Search, pageSize: number, read: ReadEntry<T>): AsyncGenerator<readonly T[]>
  close(): void
}

/** For connecting, for the handshake, and for each answer. */
export const timeoutMs = 5000
/** A page of a sync holds many entries. */
const pageTimeoutMs = 60_000
const maxBytes = 64 * 1024 * 1024
/** OID of StartTLS (RFC 4511 §4.14). */
const startTlsOid = '1.3.6.1.4.1.1466.20037'
/**
 * A sync keeps something of each entry in memory, which all realms share: a directory that does not end must not use it up.
 * Pages may be empty (RFC 2696 §3), so they are counted too.
 */
const mostEntries = 500_000
const mostPages = 20_000
/** In a row. */
const mostEmptyPages = 1000
/** Names are compared character by character; those of real directories have a few hundred. */
export const longestDn = 8192

const asIs = (entry: Entry): Entry => entry

const named = ({ dn }: Pick<Entry, 'dn'>): void => {
  if (dn.length > longestDn)
    throw new DirectoryAway(`the directory names an entry with more than ${longestDn} characters`)
}

const away = (error: unknown, { host }: DirectoryUrl): Error => {
  if (error instanceof DirectoryAway || error instanceof DirectoryRefused) return error
  if (error instanceof OutgoingError) return new DirectoryAway(error.message)
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'failed'
  return new DirectoryAway(`${host}: no trusted TLS connection (${code})`)
}

const tlsOptions = (
  { caCertificate }: Pick<Directory, 'caCertificate'>,
  url: DirectoryUrl,
  socket: Socket,
): ConnectionOptions => {
  const host = canonicalHost(url.host)
  return {
    socket,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    minVersion: 'TLSv1.2',
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED does not count here.
    rejectUnauthorized: true,
    ...(caCertificate === undefined
      ? {}
      : { ca: readCertificate(caCertificate)?.toString() ?? '' }),
  }
}

const encrypt = async (
  directory: Pick<Directory, 'caCertificate'>,
  url: DirectoryUrl,
  socket: Socket,
): Promise<TLSSocket> => {
  const secure = connect(tlsOptions(directory, url, socket))
  try {
    await once(secure, 'secureConnect', { signal: AbortSignal.timeout(timeoutMs) })
    return secure
  } catch (error) {
    secure.on('error', () => undefined)
    secure.destroy()
    socket.destroy()
    throw error
  }
}

/** RFC 4511 §4.14: a server that declines leaves a plain connection, on which nothing is sent. */
const startTls = async (
  directory: Pick<Directory, 'caCertificate'>,
  url: DirectoryUrl,
  socket: Socket,
): Promise<TLSSocket> => {
  const plain = openWire(socket)
  const { response } = await plain.exchange(
    (messageId) => new ExtendedRequest({ messageId, oid: startTlsOid }),
    { timeoutMs, maxBytes: 65_536 },
    asIs,
  )
  if (response.status !== resultCodes.success) {
    plain.close()
    throw new DirectoryRefused('StartTLS', response.status)
  }
  plain.detach()
  return encrypt(directory, url, socket)
}

const connectionOver = (wire: Wire, url: DirectoryUrl, tls: TLSSocket | undefined): Connection => {
  const search = async <T>(
    { base, scope = 'sub', filter, attributes, sizeLimit = 0, ...rest }: Search,
    read: ReadEntry<T>,
    paging?: PagedResultsControl,
  ) => {
    const limit = rest.timeoutMs ?? timeoutMs
    const controls = [...(rest.controls ?? []), ...(paging ? [paging] : [])]
    return wire.exchange(
      (messageId) =>
        new SearchRequest({
          messageId,
          baseDN: base,
          scope,
          filter,
          attributes: [...attributes],
          sizeLimit,
          timeLimit: Math.ceil(limit / 1000),
          derefAliases: 'never',
          controls,
        }),
      { timeoutMs: limit, maxBytes },
      (entry) => {
        named(entry)
        return read(entry)
      },
    )
  }

  return {
    get isOpen() {
      return wire.isOpen
    },
    url,
    tls,

    bind: async (name, password) => {
      // RFC 4513 §5.1.2: a name without a password is an anonymous bind, which succeeds.
      if (password === '') throw new TypeError('a bind without a password proves nothing')
      const control = new PasswordPolicyControl()
      const { response } = await wire.exchange(
        (messageId) => new BindRequest({ messageId, dn: name, password, controls: [control] }),
        { timeoutMs, maxBytes: 1_048_576 },
        asIs,
      )
      return { code: response.status, message: response.errorMessage, policy: control.value }
    },

    search: async (asked) => {
      const { response, entries } = await search(asked, asIs)
      return { code: response.status, entries }
    },

    pages: async function* <T>(asked: Search, pageSize: number, read: ReadEntry<T>) {
      let received = 0
      const counted: ReadEntry<T> = (entry) => {
        received += 1
        if (received > mostEntries)
          throw new DirectoryAway(
            `the directory has more than ${mostEntries} entries below "${asked.base}": narrow the base or the filter`,
          )
        return read(entry)
      }
      const page = async (cookie: Buffer | undefined) => {
        const value = { size: pageSize, ...(cookie ? { cookie } : {}) }
        const paging = new PagedResultsControl({ critical: true, value })
        const { response, entries } = await search(
          { timeoutMs: pageTimeoutMs, ...asked },
          counted,
          paging,
        )
        if (response.status !== resultCodes.success)
          throw new DirectoryRefused(`search below "${asked.base}"`, response.status)
        const answered = response.controls?.find((one) => one instanceof PagedResultsControl)
        if (!answered?.value)
          throw new DirectoryAway('the directory answers a paged search without its control')
        return { entries, cookie: answered.value.cookie }
      }
      let next = page(undefined)
      let empty = 0
      for (let count = 0; count < mostPages && empty < mostEmptyPages; count += 1) {
        const { entries, cookie } = await next
        empty = entries.length === 0 ? empty + 1 : 0
        // An empty page may have a cookie (RFC 2696 §3), so that the cookie alone says whether this was the last.
        const isLast = !cookie || cookie.length === 0
        // The directory works on the next page while this one is used.
        if (!isLast) {
          next = page(cookie)
          next.catch(() => undefined)
        }
        yield entries
        if (isLast) return
      }
      throw new DirectoryAway('the pages of the directory do not end')
    },

    close: () => wire.close(),
  }
}

/** Throws `DirectoryAway` or `DirectoryRefused`. */
export const openConnection = async (
  outgoing: Outgoing,
  directory: Pick<Directory, 'startTls' | 'caCertificate'>,
  url: DirectoryUrl,
): Promise<Connection> => {
  try {
    const socket = await dial(outgoing, { host: url.host, port: url.port, timeoutMs })
    const isEncrypted = url.secure || directory.startTls
    if (!isEncrypted) return connectionOver(openWire(socket), url, undefined)
    const tls = await (url.secure ? encrypt : startTls)(directory, url, socket)
    return connectionOver(openWire(tls), url, tls)
  } catch (error) {
    throw away(error, url)
  }
}
