/** Canonical form, content hash and field diff, also as laws over generated documents. */

import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { diff } from '#schemas/diff.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { Settings } from '#schemas/kinds/settings.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { compact, complete, contentHash } from '#schemas/normalize.ts'

const clients = fc.record(
  {
    clientId: fc.string({ minLength: 1 }),
    name: fc.option(fc.string()),
    enabled: fc.boolean(),
    publicClient: fc.boolean(),
    grantTypes: fc.uniqueArray(fc.constantFrom('password', 'device', 'refresh_token')),
    redirectUris: fc.uniqueArray(fc.webUrl()),
    accessTokenLifespan: fc.option(fc.nat()),
    attributes: fc.dictionary(fc.string(), fc.string()),
  },
  { requiredKeys: ['clientId'] },
) as fc.Arbitrary<Doc>

describe('the canonical form', () => {
  it('leaves out what is unset or the default, sorts sets and keeps the order of the schema', () => {
    const doc = { redirectUris: ['b', 'a'], enabled: true, name: null, clientId: 'web' }
    expect(JSON.stringify(compact(Client, doc))).toBe('{"clientId":"web","redirectUris":["a","b"]}')
  })

  it('reaches into objects that have defaults of their own', () => {
    expect(compact(Settings, { passwordPolicy: { length: 12, digits: 1 } })).toEqual({
      passwordPolicy: { digits: 1 },
    })
    expect(compact(Settings, { passwordPolicy: { length: 12 } })).toEqual({})
    expect(complete(Settings, {})).toMatchObject({
      passwordPolicy: { length: 12, breachCheck: true },
    })
  })

  it('writes each item of a set once to sort it, so that a body of one megabyte costs little (CWE-407)', () => {
    const audiences = Array.from({ length: 1000 }, (_, i) => `service ${(i * 7) % 1000}`)
    const stringify = vi.spyOn(JSON, 'stringify')
    const { audiences: sorted } = compact(Client, { clientId: 'a', audiences })
    const times = stringify.mock.calls.length
    stringify.mockRestore()
    expect(sorted).toEqual(audiences.toSorted())
    expect(times).toBeLessThanOrEqual(1000)
  })

  it('stores a grant by its short name, however it was written', () => {
    const urn = 'urn:ietf:params:oauth:grant-type:device_code'
    expect(compact(Client, { clientId: 'a', grantTypes: [urn, 'device'] })).toEqual({
      clientId: 'a',
      grantTypes: ['device'],
    })
  })

  it('keeps a field that no schema knows, also one with the name of what every object has', () => {
    const doc = { clientId: 'a', constructor: 'b', zeal: 1, attributes: { toString: 'c' } }
    expect(compact(Client, doc)).toEqual(doc)
  })

  it('is a fixed point, also through its complete form', () => {
    fc.assert(
      fc.property(clients, (doc) => {
        const once = compact(Client, doc)
        expect(compact(Client, once)).toEqual(once)
        expect(compact(Client, complete(Client, once))).toEqual(once)
      }),
    )
  })

  it('has the same hash whatever the order of fields and of sets', () => {
    fc.assert(
      fc.property(clients, (doc) => {
        const turned = Object.fromEntries(
          Object.entries(doc)
            .reverse()
            .map(([name, value]) => [name, Array.isArray(value) ? value.toReversed() : value]),
        )
        expect(contentHash(compact(Client, turned))).toBe(contentHash(compact(Client, doc)))
      }),
    )
  })
})

describe('the field diff', () => {
  it('names fields, and items of sets', () => {
    expect(
      diff(
        Role,
        { name: 'a', composites: ['x', 'y'], attributes: { team: ['one'] } },
        { name: 'a', composites: ['y', 'z'], description: 'new', attributes: { team: ['two'] } },
      ),
    ).toEqual([
      { pointer: '/composites', change: 'remove', value: 'x' },
      { pointer: '/composites', change: 'add', value: 'z' },
      { pointer: '/attributes/team/0', change: 'set', before: 'one', after: 'two' },
      { pointer: '/description', change: 'set', after: 'new' },
    ])
  })

  it('does not see defaults that are written out', () => {
    expect(diff(Client, { clientId: 'a' }, complete(Client, { clientId: 'a' }))).toEqual([])
  })

  it('is empty exactly when the canonical forms are the same', () => {
    fc.assert(
      fc.property(clients, clients, (a, b) => {
        const [left, right] = [compact(Client, a), compact(Client, b)]
        expect(diff(Client, left, right).length === 0).toBe(
          contentHash(left) === contentHash(right),
        )
        expect(diff(Client, left, left)).toEqual([])
      }),
    )
  })
})
