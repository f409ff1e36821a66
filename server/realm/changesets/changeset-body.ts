/**
 * Takes the body of a changeset apart without ever holding it as one text: a JSON object whose `operations` are
 * handed on one by one, or lines of JSON of which the first is the head. Each part is read as strictly as any body
 * (`http/json.ts`), and the event loop gets its turn in between.
 */

import { Problem } from '#schemas/problems.ts'
import { parseJsonBytes } from '#server/http/json.ts'
import { linesOf } from '#server/http/lines.ts'
import { createPace } from '#server/platform/pace.ts'

export const changesetTypes = ['application/json', 'application/x-ndjson'] as const

export interface BodyReader {
  /** Of the head, and of each operation, in bytes. */
  readonly partLimit: number
  /** Called with every operation in turn; false ends the reading. */
  readonly onOperation: (value: unknown) => boolean
}

type Parts = AsyncGenerator<Buffer, Buffer>

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Collects the bytes of one part, which may come in several chunks. */
const createPart = (name: string, limit: number) => {
  let chunks: Buffer[] = []
  let size = 0
  return {
    add: (chunk: Buffer): void => {
      size += chunk.length
      if (size > limit) throw new Problem('too-large', `${name} is larger than ${limit} bytes.`)
      if (chunk.length > 0) chunks.push(chunk)
    },
    /** The last bytes so far. */
    tail: (length: number): string => Buffer.concat(chunks).subarray(-length).toString('latin1'),
    take: (): Buffer => {
      const whole = Buffer.concat(chunks)
      chunks = []
      size = 0
      return whole
    },
  }
}

const isBlank = (bytes: Buffer): boolean => /^[ \t\r\n]*$/.test(bytes.toString('latin1'))

/** Whether the list that begins here is the value of "operations", given what stands before it. */
const listName = /"operations"[ \t\r\n]*:[ \t\r\n]*$/

/**
 * Yields the items of the list and returns the rest, with the list emptied. It only counts brackets outside of strings: a
 * malformed item stays malformed, and is refused when it is parsed.
 */
async function* partsOfJson(chunks: AsyncIterable<Buffer>, limit: number): Parts {
  const head = createPart('The fields beside the operations', limit)
  const operation = createPart('An operation', limit)
  let depth = 0
  let count = 0
  let inString = false
  let escaped = false
  let inList = false
  for await (const chunk of chunks) {
    let from = 0
    for (let i = 0; i < chunk.length; i += 1) {
      const byte = chunk[i]
      if (inString) {
        if (escaped) escaped = false
        else if (byte === backslash) escaped = true
        else if (byte === quote) inString = false
      } else if (byte === quote) inString = true
      else if (byte === openObject || byte === openList) {
        depth += 1
        if (depth !== 2 || inList || byte !== openList) continue
        head.add(chunk.subarray(from, i))
        inList = listName.test(head.tail(1000))
        from = i
        if (!inList) continue
        head.add(chunk.subarray(i, i + 1))
        from = i + 1
      } else if (byte === closeObject || byte === closeList) {
        depth -= 1
        if (!inList || depth !== 1) continue
        operation.add(chunk.subarray(from, i))
        const last = operation.take()
        if (count > 0 || !isBlank(last)) yield last
        inList = false
        from = i
      } else if (byte === comma && inList && depth === 2) {
        operation.add(chunk.subarray(from, i))
        yield operation.take()
        count += 1
        from = i + 1
      }
    }
    const target = inList ? operation : head
    target.add(chunk.subarray(from))
  }
  return head.take()
}

/** Yields every line after the first and returns that. */
async function* partsOfLines(chunks: AsyncIterable<Buffer>, limit: number): Parts {
  let head: Buffer | undefined
  for await (const { bytes } of linesOf(chunks, limit)) {
    if (head) yield bytes
    else head = bytes
  }
  return head ?? Buffer.alloc(0)
}

/** Says which part it is that cannot be read. */
const parsed = (bytes: Buffer, name: string): unknown => {
  try {
    const value = parseJsonBytes(bytes)
    if (value !== undefined) return value
    throw new Problem('bad-request', 'The body is empty.')
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw new Problem(error.code, `${name}: ${error.message}`, { extra: error.extra })
  }
}

export const isLines = (type: string): boolean => type.startsWith('application/x-ndjson')

/** Answers the head, of a JSON body with its `operations` as an empty list; nothing where reading was ended. */
export const readBody = async (
  chunks: AsyncIterable<Buffer>,
  type: string,
  { partLimit, onOperation }: BodyReader,
): Promise<unknown> => {
  const lines = isLines(type)
  const parts = lines ? partsOfLines(chunks, partLimit) : partsOfJson(chunks, partLimit)
  const pace = createPace()
  for (let index = 0; ; index += 1) {
    const { done, value } = await parts.next()
    if (done) return parsed(value, lines ? 'The first line' : 'Beside the operations')
    if (!onOperation(parsed(value, `Operation ${index}`))) {
      await parts.return(Buffer.alloc(0))
      return undefined
    }
    if (pace.over()) await pace.rest()
  }
}
