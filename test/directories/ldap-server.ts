/**
 * An LDAP server in this process, for what a real one cannot be made to do: answers that lie, stop in the middle, come late or
 * never. It knows binds, searches and pages; the tests of test/peers/directories use real servers.
 */

import { isUtf8 } from 'node:buffer'
import { createServer, type Socket } from 'node:net'
import {
  AndFilter,
  Ber,
  BerReader,
  BerWriter,
  EqualityFilter,
  ExtensibleFilter,
  type Filter,
  GreaterThanEqualsFilter,
  NotFilter,
  OrFilter,
  PresenceFilter,
} from 'ldapts'
import { isBelow } from '#server/directories/entries/dn.ts'

export interface LdapEntry {
  dn: string
  attributes: Record<string, readonly (string | Buffer)[]>
  password?: string
}

export interface BindResult {
  readonly code: number
  readonly message?: string
  /** The value of the password policy control, as bytes. */
  readonly policy?: Buffer
}

export interface SearchCall {
  /** Of the message, which answers repeat. */
  readonly id: number
  readonly base: string
  readonly scope: number
  readonly filter: Filter
  readonly attributes: readonly string[]
  readonly cookie: string
  /** The DN that is bound on this connection. */
  readonly boundAs: string
}

/** What a test lets the server do instead of answering. */
export interface Faults {
  /** Answers a search later. */
  wait?: (call: SearchCall) => Promise<void>
  bind?: (dn: string, password: string) => BindResult | 'silent' | 'hang-up' | undefined
  search?: (
    call: SearchCall,
    found: readonly LdapEntry[],
  ) =>
    | {
        entries: readonly LdapEntry[]
        code?: number
        cookie?: string
        withoutControl?: boolean
        /** Addresses of other servers: a continuation reference (RFC 4511 §4.5.3), and the referral of code 10. */
        elsewhere?: readonly string[]
      }
    | 'silent'
    | 'hang-up'
    | Buffer
    | undefined
}

export interface LdapServer {
  readonly port: number
  readonly url: string
  entries: LdapEntry[]
  faults: Faults
  readonly binds: string[]
  readonly searches: SearchCall[]
  readonly connections: () => number
  forget(): void
  close(): Promise<void>
}

const pagedOid = '1.2.840.113556.1.4.319'
const policyOid = '1.3.6.1.4.1.42.2.27.8.5.1'

/** The parser of ldapts reads the name of a presence filter from the beginning of the message. */
const filterIn = (reader: BerReader): Filter => {
  const tag = reader.readSequence()
  const end = reader.offset + reader.length
  const inner = (): Filter[] => {
    const filters: Filter[] = []
    while (reader.offset < end) filters.push(filterIn(reader))
    return filters
  }
  switch (tag) {
    case 0xa0:
      return new AndFilter({ filters: inner() })
    case 0xa1:
      return new OrFilter({ filters: inner() })
    case 0xa2:
      return new NotFilter({ filter: filterIn(reader) })
    case 0xa5:
    case 0xa3: {
      const attribute = reader.readString() ?? ''
      const bytes = reader.readString(Ber.OctetString, true) ?? Buffer.alloc(0)
      const value = bytes.toString('utf8')
      return tag === 0xa5
        ? new GreaterThanEqualsFilter({ attribute, value })
        : new EqualityFilter({ attribute, value: isUtf8(bytes) ? value : bytes })
    }
    case 0x87: {
      const attribute = reader.buffer.subarray(reader.offset, end).toString('utf8')
      reader.offset = end
      return new PresenceFilter({ attribute })
    }
    case 0xa9: {
      const parts = new Map<number, string>()
      while (reader.offset < end) {
        const part = reader.peek() ?? 0
        parts.set(part, reader.readString(part) ?? '')
      }
      const [rule = '', matchType = '', value = ''] = [0x81, 0x82, 0x83].map((one) =>
        parts.get(one),
      )
      return new ExtensibleFilter({ rule, matchType, value })
    }
    default:
      throw new Error(`a filter of type ${tag} is not known here`)
  }
}

const valuesOf = ({ dn, attributes }: LdapEntry, name: string): readonly (string | Buffer)[] =>
  name.toLowerCase() === 'distinguishedname'
    ? [dn]
    : (Object.entries(attributes).find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1] ??
      [])

const same = (a: string | Buffer, b: string | Buffer): boolean =>
  Buffer.isBuffer(a) || Buffer.isBuffer(b)
    ? Buffer.from(a as string, 'latin1').equals(Buffer.from(b as string, 'latin1')) ||
      Buffer.from(a).equals(Buffer.from(b))
    : a.toLowerCase() === b.toLowerCase()

/** Whether an entry is in a group, directly or through groups in it (LDAP_MATCHING_RULE_IN_CHAIN). */
const isInChain = (dn: string, group: string, all: readonly LdapEntry[]): boolean => {
  const within = (one: string, seen: readonly string[]): boolean => {
    const members = all.find((entry) => same(entry.dn, one))?.attributes['member'] ?? []
    return members.some((member) => {
      const text = String(member).toLowerCase()
      return same(member, dn) || (!seen.includes(text) && within(text, [...seen, text]))
    })
  }
  return within(group, [])
}

const matches = (filter: Filter, entry: LdapEntry, all: readonly LdapEntry[]): boolean => {
  if (filter instanceof AndFilter) return filter.filters.every((one) => matches(one, entry, all))
  if (filter instanceof OrFilter) return filter.filters.some((one) => matches(one, entry, all))
  if (filter instanceof NotFilter) return !matches(filter.filter, entry, all)
  if (filter instanceof ExtensibleFilter)
    return filter.matchType === 'member'
      ? isInChain(filter.value, entry.dn, all)
      : isInChain(entry.dn, filter.value, all)
  if (filter instanceof PresenceFilter) return valuesOf(entry, filter.attribute).length > 0
  if (filter instanceof EqualityFilter)
    return valuesOf(entry, filter.attribute).some((value) => same(value, filter.value))
  if (filter instanceof GreaterThanEqualsFilter)
    return valuesOf(entry, filter.attribute).some((value) => {
      const [a, b] = [String(value), String(filter.value)]
      return /^\d+$/.test(a) && /^\d+$/.test(b) ? BigInt(a) >= BigInt(b) : a >= b
    })
  return false
}

interface WrittenControl {
  readonly oid: string
  readonly value: Buffer
}

const message = (
  id: number,
  body: (writer: BerWriter) => void,
  control?: WrittenControl,
): Buffer => {
  const writer = new BerWriter()
  writer.startSequence()
  writer.writeInt(id)
  body(writer)
  if (control) {
    writer.startSequence(0xa0)
    writer.startSequence()
    writer.writeString(control.oid)
    writer.writeBuffer(control.value, Ber.OctetString)
    writer.endSequence()
    writer.endSequence()
  }
  writer.endSequence()
  return writer.buffer
}

const result = (
  id: number,
  tag: number,
  code: number,
  text = '',
  control?: WrittenControl,
  elsewhere: readonly string[] = [],
): Buffer =>
  message(
    id,
    (writer) => {
      writer.startSequence(tag)
      writer.writeEnumeration(code)
      writer.writeString('')
      writer.writeString(text)
      if (elsewhere.length > 0) {
        writer.startSequence(0xa3)
        for (const url of elsewhere) writer.writeString(url)
        writer.endSequence()
      }
      writer.endSequence()
    },
    control,
  )

const referenceMessage = (id: number, urls: readonly string[]): Buffer =>
  message(id, (writer) => {
    writer.startSequence(0x73)
    for (const url of urls) writer.writeString(url)
    writer.endSequence()
  })

export const entryMessage = (id: number, entry: LdapEntry, wanted: readonly string[]): Buffer =>
  message(id, (writer) => {
    writer.startSequence(0x64)
    writer.writeString(entry.dn)
    writer.startSequence()
    for (const [name, values] of Object.entries(entry.attributes)) {
      const isWanted = wanted.some((one) => one.toLowerCase() === name.toLowerCase())
      if (!isWanted && !wanted.includes('*')) continue
      writer.startSequence()
      writer.writeString(name)
      writer.startSequence(0x31)
      for (const value of values) writer.writeBuffer(Buffer.from(value as string), Ber.OctetString)
      writer.endSequence()
      writer.endSequence()
    }
    writer.endSequence()
    writer.endSequence()
  })

const pagedValue = (cookie: string): Buffer => {
  const writer = new BerWriter()
  writer.startSequence()
  writer.writeInt(0)
  writer.writeString(cookie)
  writer.endSequence()
  return writer.buffer
}

const controlsIn = (reader: BerReader): Map<string, Buffer> => {
  const found = new Map<string, Buffer>()
  if (reader.peek() !== 0xa0) return found
  reader.readSequence(0xa0)
  const end = reader.offset + reader.length
  while (reader.offset < end) {
    reader.readSequence()
    const own = reader.offset + reader.length
    const oid = reader.readString() ?? ''
    if (reader.offset < own && reader.peek() === Ber.Boolean) reader.readBoolean()
    const value =
      reader.offset < own
        ? (reader.readString(Ber.OctetString, true) ?? Buffer.alloc(0))
        : Buffer.alloc(0)
    found.set(oid, value)
  }
  return found
}

export const startLdap = async (entries: readonly LdapEntry[] = []): Promise<LdapServer> => {
  const sockets = new Set<Socket>()
  const it: Omit<LdapServer, 'port' | 'url' | 'close'> = {
    entries: [...entries],
    faults: {},
    binds: [],
    searches: [],
    connections: () => sockets.size,
    forget: () => {
      it.binds.length = 0
      it.searches.length = 0
    },
  }

  const bindOf = (dn: string, password: string): BindResult | 'silent' | 'hang-up' => {
    const own = it.faults.bind?.(dn, password)
    if (own !== undefined) return own
    const entry = it.entries.find((one) => one.dn.toLowerCase() === dn.toLowerCase())
    return { code: entry?.password !== undefined && entry.password === password ? 0 : 49 }
  }

  const onBind = (socket: Socket, id: number, reader: BerReader): string => {
    reader.readInt()
    const dn = reader.readString() ?? ''
    const password = reader.readString(0x80) ?? ''
    it.binds.push(dn)
    const answer = bindOf(dn, password)
    if (answer === 'silent') return ''
    if (answer === 'hang-up') {
      socket.destroy()
      return ''
    }
    const control = answer.policy && { oid: policyOid, value: answer.policy }
    socket.write(result(id, 0x61, answer.code, answer.message, control))
    return answer.code === 0 ? dn : ''
  }

  const onSearch = (socket: Socket, id: number, reader: BerReader, boundAs: string): void => {
    const base = reader.readString() ?? ''
    const scope = reader.readEnumeration() ?? 2
    reader.readEnumeration()
    const sizeLimit = reader.readInt() ?? 0
    reader.readInt()
    reader.readBoolean()
    const filter = filterIn(reader)
    const attributes: string[] = []
    reader.readSequence()
    const end = reader.offset + reader.length
    while (reader.offset < end) attributes.push(reader.readString() ?? '')
    const paged = controlsIn(reader).get(pagedOid)
    let size = 0
    let cookie = ''
    if (paged) {
      const own = new BerReader(paged)
      own.readSequence()
      size = own.readInt() ?? 0
      cookie = own.readString() ?? ''
    }
    const call = { id, base, scope, filter, attributes, cookie, boundAs }
    it.searches.push(call)
    const found = it.entries.filter((entry) => {
      if (scope === 0) return entry.dn.toLowerCase() === base.toLowerCase()
      return base !== '' && isBelow(entry.dn, base) && matches(filter, entry, it.entries)
    })
    const from = Number(cookie || 0)
    const page = size > 0 ? found.slice(from, from + size) : found
    const next = size > 0 && from + size < found.length ? String(from + size) : ''
    const answer = (): void => {
      const own = it.faults.search?.(call, page)
      if (own === 'silent') return
      if (own === 'hang-up') {
        socket.destroy()
        return
      }
      if (Buffer.isBuffer(own)) {
        socket.write(own)
        return
      }
      const shown = own?.entries ?? page
      const isCut = sizeLimit > 0 && shown.length > sizeLimit
      for (const entry of isCut ? shown.slice(0, sizeLimit) : shown)
        socket.write(entryMessage(id, entry, own ? ['*'] : attributes))
      const control =
        paged && own?.withoutControl !== true
          ? { oid: pagedOid, value: pagedValue(own?.cookie ?? next) }
          : undefined
      const code = own?.code ?? (isCut ? 4 : 0)
      const elsewhere = own?.elsewhere ?? []
      if (elsewhere.length > 0) socket.write(referenceMessage(id, elsewhere))
      socket.write(result(id, 0x65, code, '', control, code === 10 ? elsewhere : []))
    }
    const { wait } = it.faults
    if (wait) void wait(call).then(answer)
    else answer()
  }

  const server = createServer((socket) => {
    sockets.add(socket)
    let buffer = Buffer.alloc(0)
    let boundAs = ''
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (data) => {
      buffer = Buffer.concat([buffer, data])
      for (;;) {
        const reader = new BerReader(buffer)
        if (buffer.length < 2 || reader.readSequence() === null || reader.remain < reader.length)
          return
        const end = reader.offset + reader.length
        const rest = buffer.subarray(end)
        reader.setBufferSize(end)
        const id = reader.readInt() ?? 0
        const tag = reader.readSequence()
        if (tag === 0x60) boundAs = onBind(socket, id, reader)
        else if (tag === 0x63) onSearch(socket, id, reader, boundAs)
        else if (tag === 0x42) socket.end()
        else socket.write(result(id, 0x78, 2))
        buffer = rest
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return Object.assign(it, {
    port,
    url: `ldap://127.0.0.1:${port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}
