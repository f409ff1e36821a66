/** Entries as they come from a directory: messages in whatever pieces, values of whatever bytes, DNs in whatever spelling. */

import { BerReader as PeerReader, SearchEntry } from 'ldapts'
import { describe, expect, it } from 'vitest'
import { createBerReader, createFrames, types } from '#server/directories/connection/ber.ts'
import { comparableDn, isBelow } from '#server/directories/entries/dn.ts'
import { type Entry, entryIn } from '#server/directories/entries/entry.ts'
import { entryMessage, type LdapEntry } from './ldap-server.ts'

const read = (message: Buffer): Entry => {
  const reader = createBerReader(message)
  reader.enter(types.sequence)
  reader.integer()
  return entryIn(message, reader)
}

const entries: readonly LdapEntry[] = [
  {
    dn: 'uid=ada,dc=corp',
    attributes: { uid: ['ada'], mail: ['ada@corp.example', 'a@x.example'] },
  },
  { dn: 'cn=Zoë \\2C Ltd,dc=corp', attributes: { cn: ['Zoë', ' ', '\uFFFD'], sn: [] } },
  {
    dn: '',
    attributes: {
      objectGUID: [Buffer.from([0xff, 0xfe, 0, 1])],
      photo: [Buffer.alloc(70_000, 0x41)],
    },
  },
  {
    dn: 'cn=all,dc=corp',
    attributes: {
      'member;range=0-1499': Array.from({ length: 300 }, (_, i) => `uid=u${i},dc=corp`),
    },
  },
]
const messages = entries.map((entry, i) => entryMessage(i * 127 + 1, entry, ['*']))

describe('an entry of a directory', () => {
  it.each(messages)('is read as the parser of ldapts reads it (%#)', (message) => {
    const peer = new PeerReader(message)
    peer.readSequence()
    const theirs = new SearchEntry({ messageId: peer.readInt() ?? 0 })
    peer.readSequence()
    theirs.parse(peer, [])
    const ours = read(message)
    expect(ours.dn).toBe(theirs.name)
    expect(ours.names).toEqual(theirs.attributes.map(({ type }) => type.toLowerCase()))
    for (const { type, values, parsedBuffers } of theirs.attributes) {
      const texts = [...values].filter((one) => typeof one === 'string' && one.trim() !== '')
      expect(ours.values(type.toUpperCase())).toEqual(texts)
      expect(ours.first(type)).toBe(texts[0])
      expect(ours.bytes(type)).toEqual(parsedBuffers[0])
    }
    expect(ours.values('absent')).toEqual([])
    expect(ours.bytes('absent')).toBeUndefined()
  })

  it('is read in whatever pieces it arrives', () => {
    const [first, second, , last] = messages
    const sent = Buffer.concat([first, second, last, first].map((one) => one ?? Buffer.alloc(0)))
    for (const size of [1, 2, 3, 7, 100, 1000, sent.length]) {
      const received: Buffer[] = []
      const frames = createFrames((message) => received.push(message))
      for (let from = 0; from < sent.length; from += size) frames(sent.subarray(from, from + size))
      expect(received).toEqual([first, second, last, first])
    }
  })

  it('that ends before its parts do, or has a length that LDAP does not allow, is no entry', () => {
    const [message = Buffer.alloc(0)] = messages
    for (let at = 2; at < message.length; at += 1) {
      const longer = Buffer.from(message)
      longer[at] = 0x7f
      // Another letter of a text is no fault.
      try {
        read(longer)
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
      }
      expect(() => read(message.subarray(0, at))).toThrow(RangeError)
    }
    const frames = createFrames(() => undefined)
    for (const bytes of [
      [0x30, 0x80],
      [0x30, 0x85, 1, 1, 1, 1, 1],
      [0x31, 0],
    ])
      expect(() => frames(Buffer.from(bytes))).toThrow(RangeError)
  })
})

describe('a DN', () => {
  const base = 'OU=Sales & Co,dc=corp'

  it.each([
    ['UID=Ada,OU=People,DC=corp', 'uid=ada,ou=people,dc=corp'],
    ['uid = ada , ou=people;dc=corp', 'uid=ada,ou=people,dc=corp'],
    ['uid=\\61da,ou=people,dc=corp', 'uid=ada,ou=people,dc=corp'],
    ['uid="ada",ou=people,dc=corp', 'uid=ada,ou=people,dc=corp'],
    ['cn=Ada  Lee,dc=corp', 'cn=ada lee,dc=corp'],
    ['cn="Lee, Ada",dc=corp', 'cn=lee\\, ada,dc=corp'],
    ['cn=a+uid=b,dc=corp', 'uid=B + CN=A,dc=corp'],
    ['cn=Zo\\C3\\AB,dc=corp', 'cn=ZOË,dc=corp'],
  ])('%s is equal to %s', (one, other) => {
    expect(comparableDn(one)).toBe(comparableDn(other))
  })

  it.each([
    ['cn=a\\,ou=b,dc=corp', 'cn=a,ou=b,dc=corp'],
    ['cn=a\\+uid=b,dc=corp', 'cn=a+uid=b,dc=corp'],
    ['cn="a",dc=corp', 'cn=\\"a\\",dc=corp'],
    ['cn=a b,dc=corp', 'cn=ab,dc=corp'],
  ])('%s differs from %s', (one, other) => {
    expect(comparableDn(one)).not.toBe(comparableDn(other))
  })

  it.each([
    ['uid=ada,ou=sales & co,dc=corp', true],
    ['ou=Sales \\26 Co,DC=Corp', true],
    ['cn="x, y",ou=sales & co,dc=corp', true],
    ['uid=ada,dc=corp', false],
    ['xou=sales & co,dc=corp', false],
    ['cn=x\\,ou=sales & co,dc=corp', false],
    ['cn="x,ou=sales & co,dc=corp"', false],
  ])('%s is below the base: %s', (dn, expected) => {
    expect(isBelow(dn, base)).toBe(expected)
  })
})
