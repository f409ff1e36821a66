/** Reads BER as LDAP uses it (RFC 4511 §5.1): types of one byte, lengths in the definite form. Throws where it is neither. */

export const types = {
  integer: 0x02,
  octetString: 0x04,
  sequence: 0x30,
  set: 0x31,
  /** SearchResultEntry (RFC 4511 §4.5.2). */
  searchEntry: 0x64,
} as const

export interface BerReader {
  /** Where the next element begins, or its content after `enter`. */
  at: number
  /** The type of the next element. */
  peek(): number | undefined
  /** Goes to the content of an element of this type, and says where it ends. */
  enter(type: number): number
  integer(): number
  text(): string
}

/** The bytes of an element with its type and length; nothing while too few are there to know. */
const sizeAt = (bytes: Buffer, from: number): number | undefined => {
  const first = bytes[from + 1]
  if (first === undefined) return undefined
  if (first < 0x80) return 2 + first
  const count = first & 0x7f
  if (count === 0 || count > 4) throw new RangeError('a length that LDAP does not allow')
  if (bytes.length < from + 2 + count) return undefined
  return 2 + count + bytes.readUIntBE(from + 2, count)
}

export const createBerReader = (bytes: Buffer): BerReader => {
  const reader: BerReader = {
    at: 0,
    peek: () => bytes[reader.at],
    enter: (type) => {
      const from = reader.at
      const size = sizeAt(bytes, from)
      if (bytes[from] !== type || size === undefined || from + size > bytes.length)
        throw new RangeError('another element than expected')
      const length = bytes[from + 1] ?? 0
      reader.at = from + 2 + (length < 0x80 ? 0 : length & 0x7f)
      return from + size
    },
    integer: () => {
      const end = reader.enter(types.integer)
      const length = end - reader.at
      if (length < 1 || length > 4) throw new RangeError('no number of a message')
      const value = bytes.readIntBE(reader.at, length)
      reader.at = end
      return value
    },
    text: () => {
      const end = reader.enter(types.octetString)
      const value = bytes.toString('utf8', reader.at, end)
      reader.at = end
      return value
    },
  }
  return reader
}

/** Gives each message to `use` when it is whole. */
export const createFrames = (use: (message: Buffer) => void): ((data: Buffer) => void) => {
  let parts: Buffer[] = []
  let missing = 0
  return (data) => {
    parts.push(data)
    missing -= data.length
    if (missing > 0) return
    const bytes = parts.length === 1 ? data : Buffer.concat(parts)
    parts = []
    missing = 0
    let from = 0
    while (from < bytes.length) {
      if (bytes[from] !== types.sequence) throw new RangeError('no message')
      const size = sizeAt(bytes, from)
      const end = from + (size ?? Number.POSITIVE_INFINITY)
      if (end > bytes.length) {
        parts = [bytes.subarray(from)]
        missing = size === undefined ? 1 : end - bytes.length
        return
      }
      use(bytes.subarray(from, end))
      from = end
    }
  }
}
