/** Takes a stream of bytes apart into lines, of which none may be too long; those without text are passed over. */

import { Problem } from '#schemas/problems.ts'

export interface Line {
  /** Its place in the text, from 1, blank ones counted. */
  readonly number: number
  readonly bytes: Buffer
}

const newline = 0x0a

const isBlank = (bytes: Buffer): boolean => /^[ \t\r\n]*$/.test(bytes.toString('latin1'))

export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  limit: number,
): AsyncGenerator<Line, void> {
  let pieces: Buffer[] = []
  let size = 0
  let number = 0
  const add = (piece: Buffer): void => {
    size += piece.length
    if (size > limit) throw new Problem('too-large', `A line is larger than ${limit} bytes.`)
    if (piece.length > 0) pieces.push(piece)
  }
  const take = (): Line => {
    const bytes = Buffer.concat(pieces)
    pieces = []
    size = 0
    number += 1
    return { number, bytes }
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, end))
      from = end + 1
      const line = take()
      if (!isBlank(line.bytes)) yield line
    }
    add(chunk.subarray(from))
  }
  const last = take()
  if (!isBlank(last.bytes)) yield last
}
