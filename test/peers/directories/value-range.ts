/**
 * A domain controller with a small MaxValRange (MS-ADTS §3.1.1.3.4.6), out of one that has no such policy: Samba gives parts of an
 * attribute only to those who ask for one. Every search for `member` is passed on as one for so many of its values, and what comes
 * back is Samba's.
 */

import { createServer, type Socket } from 'node:net'
import { connect } from 'node:tls'

export interface ValueRange {
  readonly url: string
  /** What was asked for `member`, as it was passed on. */
  readonly asked: string[]
  readonly close: () => Promise<void>
}

interface Tlv {
  readonly tag: number
  readonly value: Buffer
  readonly end: number
}

/** The element at this place (X.690 §8.1); nothing where it is not whole yet. */
const readTlv = (bytes: Buffer, at = 0): Tlv | undefined => {
  if (bytes.length < at + 2) return undefined
  const [tag = 0, short = 0] = bytes.subarray(at, at + 2)
  const more = short < 0x80 ? 0 : short - 0x80
  if (bytes.length < at + 2 + more) return undefined
  const length = more === 0 ? short : bytes.readUIntBE(at + 2, more)
  const start = at + 2 + more
  const end = start + length
  return bytes.length < end ? undefined : { tag, value: bytes.subarray(start, end), end }
}

const writeTlv = (tag: number, value: Buffer): Buffer => {
  const length = Buffer.alloc(5)
  length[0] = 0x84
  length.writeUInt32BE(value.length, 1)
  return Buffer.concat([Buffer.from([tag]), length, value])
}

const childrenOf = (value: Buffer): Tlv[] => {
  const children: Tlv[] = []
  for (let one = readTlv(value); one; one = readTlv(value, one.end)) children.push(one)
  return children
}

const written = (children: readonly { tag: number; value: Buffer }[]): Buffer =>
  Buffer.concat(children.map(({ tag, value }) => writeTlv(tag, value)))

const searchRequest = 0x63
/** Its place in a SearchRequest (RFC 4511 §4.5.1). */
const attributesAt = 7

export const startValueRange = async (
  target: { readonly port: number; readonly ca: string },
  size: number,
): Promise<ValueRange> => {
  const asked: string[] = []
  const sockets = new Set<Socket>()

  const narrowed = (attribute: string): string => {
    const known = /^member(?:;range=(\d+)-\*)?$/i.exec(attribute)
    if (!known) return attribute
    const first = Number(known[1] ?? 0)
    const name = `member;range=${first}-${first + size - 1}`
    asked.push(name)
    return name
  }

  const passedOn = ({ tag, value }: Tlv): Buffer => {
    const message = childrenOf(value).map((part) => {
      if (part.tag !== searchRequest) return part
      const search = childrenOf(part.value).map((field, i) => {
        if (i !== attributesAt) return field
        const attributes = childrenOf(field.value).map((one) => ({
          tag: one.tag,
          value: Buffer.from(narrowed(one.value.toString('utf8'))),
        }))
        return { tag: field.tag, value: written(attributes) }
      })
      return { tag: part.tag, value: written(search) }
    })
    return writeTlv(tag, written(message))
  }

  const server = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port: target.port, ca: target.ca })
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        near.destroy()
        far.destroy()
      })
    }
    far.pipe(near)
    let waiting = Buffer.alloc(0)
    near.on('data', (data) => {
      waiting = Buffer.concat([waiting, data])
      for (let one = readTlv(waiting); one; one = readTlv(waiting)) {
        far.write(passedOn(one))
        waiting = waiting.subarray(one.end)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    url: `ldap://127.0.0.1:${port}`,
    asked,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
