/** The body of a changeset is parsed alike for every division into chunks. */

import { describe, expect, it } from 'vitest'
import { readBody } from '#server/realm/changesets/changeset-body.ts'

async function* inChunks(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const read = async (text: string, type: string, size: number, partLimit = 1000) => {
  const operations: unknown[] = []
  const head = await readBody(inChunks(text, size), type, {
    partLimit,
    onOperation: (value) => operations.push(value) < 100,
  })
  return { head, operations }
}

const operations = [
  { a: '"operations":[{', b: [1, [2, {}]], 'c]': ']}' },
  [],
  'ä\\"🧑‍🚀',
  { deep: { operations: [{ operations: [] }] } },
  7,
]
const head = { before: { operations: [{ x: 1 }] }, list: [[], {}], after: 'Ω' }

describe('the body of a changeset', () => {
  it('is the same in chunks of any size, as JSON', async () => {
    const text = ` {"before":${JSON.stringify(head.before)} ,\n"operations" :\t${JSON.stringify(operations, null, 1)},
      "list":${JSON.stringify(head.list)},"after":"Ω"}`
    for (let size = 1; size <= text.length; size += 1)
      expect(await read(text, 'application/json', size), String(size)).toEqual({
        head: { ...head, operations: [] },
        operations,
      })
  })

  it('is the same in chunks of any size, as lines', async () => {
    const text = `\n${[head, ...operations].map((one) => JSON.stringify(one)).join('\r\n \n')}`
    for (let size = 1; size <= text.length; size += 1)
      expect(await read(text, 'application/x-ndjson; charset=utf-8', size), String(size)).toEqual({
        head,
        operations,
      })
  })

  it('may have no operations', async () => {
    for (const list of ['[]', '[ ]', '[\n]'])
      for (const size of [1, 100])
        expect(await read(`{"operations":${list}}`, 'application/json', size)).toEqual({
          head: { operations: [] },
          operations: [],
        })
    expect(await read('{}', 'application/x-ndjson', 1)).toEqual({ head: {}, operations: [] })
  })

  it('is left where the reader has enough of it', async () => {
    const list = Array.from({ length: 500 }, (_, i) => i)
    const found = await read(JSON.stringify({ operations: list }), 'application/json', 64)
    expect(found).toEqual({ head: undefined, operations: list.slice(0, 100) })
  })

  it('keeps to the limit of each part, however long the whole', async () => {
    const part = 'x'.repeat(900)
    const long = { operations: Array.from({ length: 50 }, () => part) }
    const found = await read(JSON.stringify(long), 'application/json', 333)
    expect(found.operations).toHaveLength(50)
    for (const body of [{ operations: [part + part] }, { operations: [], message: part + part }])
      for (const type of ['application/json', 'application/x-ndjson'])
        await expect(read(JSON.stringify(body), type, 100)).rejects.toMatchObject({
          code: 'too-large',
        })
  })

  it('tells which operation cannot be read, and nothing of what stands in it', async () => {
    const broken = '{"operations":[{},{"secret":"hunter2" "x"}]}'
    await expect(read(broken, 'application/json', 10)).rejects.toThrow(/^Operation 1: .*column/)
    await expect(read(broken, 'application/json', 10)).rejects.not.toThrow('hunter2')
  })
})
