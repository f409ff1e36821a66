import { describe, expect, it } from 'vitest'
import { createParser } from '#cli/client/event-stream.ts'

const read = (...pieces: string[]): [string, string | undefined][] => {
  const messages: [string, string | undefined][] = []
  const parse = createParser((data, id) => messages.push([data, id]))
  for (const piece of pieces) parse(piece)
  return messages
}

describe('a stream of events', () => {
  it('is the same however it is cut, with any line ends, comments and fields that nobody knows', () => {
    const text =
      'retry: 3000\n:\nid: 1\n\nid: 2\ndata: {"a":1}\n\n: beat\nid:3\ndata: x\ndata:y\nevent: z\n\n'
    const whole = [
      ['', '1'],
      ['{"a":1}', '2'],
      ['x\ny', '3'],
    ]
    expect(read(text)).toEqual(whole)
    expect(read(...text)).toEqual(whole)
    expect(read(text.replaceAll('\n', '\r\n'))).toEqual(whole)
  })

  it('tells nothing of a message that has not ended', () => {
    expect(read('id: 1\ndata: half')).toEqual([])
  })
})
