/** What holds for any user and any change, and for many at once. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { enterprise, groupSchema, openSite, patchSchema, userSchema } from './sender.ts'

const site = openSite()

let count = 0
const nextName = (): string => {
  count += 1
  return `p-${count}`
}

const word = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => text.isWellFormed() && !/[\p{Cc}]/u.test(text) && text.trim() !== '')
const typed = (values: readonly string[]) =>
  fc.uniqueArray(
    fc.record(
      { value: word, type: fc.constantFrom(...values), display: word },
      { requiredKeys: ['value'] },
    ),
    { maxLength: 3, selector: (one) => JSON.stringify(one) },
  )
const optional = { requiredKeys: [] as never[] }
const person = fc.record(
  {
    name: fc.record(
      { givenName: word, familyName: word, formatted: word, middleName: word },
      optional,
    ),
    displayName: word,
    nickName: word,
    title: word,
    locale: fc.constantFrom('nl', 'en-US'),
    active: fc.boolean(),
    phoneNumbers: typed(['work', 'mobile', 'fax']),
    ims: typed(['xmpp']),
    roles: typed(['a', 'b']),
    addresses: fc.array(
      fc.record(
        { type: fc.constantFrom('work', 'home'), streetAddress: word, country: word },
        optional,
      ),
      { maxLength: 2 },
    ),
    [enterprise]: fc.record(
      { department: word, employeeNumber: word, manager: fc.record({ value: word }) },
      optional,
    ),
  },
  optional,
)

const path = fc.constantFrom(
  'displayName',
  'title',
  'name.givenName',
  'name',
  'phoneNumbers',
  'phoneNumbers[type eq "work"].value',
  'phoneNumbers[type eq "mobile"].display',
  'addresses[type eq "home"].country',
  `${enterprise}:department`,
  `${enterprise}:manager`,
  'active',
)
const valueFor = (at: string): fc.Arbitrary<unknown> => {
  if (at === 'active') return fc.constantFrom(true, false, 'False', 'true')
  if (at === 'name') return fc.record({ givenName: word, honorificPrefix: word }, optional)
  return at === 'phoneNumbers' ? typed(['work', 'mobile']) : word
}
const operation = path.chain((at) =>
  fc.oneof(
    valueFor(at).map((value) => ({ op: 'replace', path: at, value })),
    valueFor(at).map((value) => ({ op: 'Add', path: at, value })),
    ...(at === 'active' ? [] : [fc.constant({ op: 'remove', path: at })]),
  ),
)

describe('any user', () => {
  it('is what was sent, and sending back what was read changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(person, async (fields) => {
        const made = await site.scim.user(nextName(), fields)
        const read = (await site.scim.send('GET', `/Users/${made.id}`)).body
        expect(read).toEqual(made)
        const { id: _, meta: __, ...same } = read
        expect((await site.scim.send('PUT', `/Users/${made.id}`, same)).body).toEqual(read)
      }),
      { numRuns: 60 },
    )
  })

  it('is the same after a change as after the same change twice, and only the first one counts', async () => {
    await fc.assert(
      fc.asyncProperty(
        person,
        fc.array(operation, { minLength: 1, maxLength: 4 }),
        async (fields, changes) => {
          const { id } = await site.scim.user(nextName(), fields)
          const body = { schemas: [patchSchema], Operations: changes.slice(0, 1) }
          const first = await site.scim.send('PATCH', `/Users/${id}`, body)
          expect([200, 400]).toContain(first.status)
          const second = await site.scim.send('PATCH', `/Users/${id}`, body)
          expect(second.status).toBe(first.status)
          if (first.status === 200) expect(second.body).toEqual(first.body)
          const all = await site.scim.patch(`/Users/${id}`, ...changes)
          const read = await site.scim.send('GET', `/Users/${id}`)
          if (all.status === 200) expect(read.body).toEqual(all.body)
        },
      ),
      { numRuns: 100 },
    )
  })
})

describe('concurrent requests', () => {
  it('create a username once', async () => {
    const body = { schemas: [userSchema], userName: 'race', externalId: 'race' }
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => site.scim.send('POST', '/Users', body)),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([201, ...Array.from({ length: 19 }, () => 409)])
    const group = { schemas: [groupSchema], displayName: 'Race' }
    const groups = await Promise.all(
      Array.from({ length: 8 }, () => site.scim.send('POST', '/Groups', group)),
    )
    expect(groups.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(groups.filter(({ status }) => status === 409)).toHaveLength(7)
  })

  it('create and rename groups whose names differ in case alone once (RFC 7643 §7, uniqueness)', async () => {
    const spellings = ['Émile', 'émile', 'ÉMILE', 'éMILE', 'émILE', 'émilE']
    const made = await Promise.all(
      spellings.map((displayName) =>
        site.scim.send('POST', '/Groups', { schemas: [groupSchema], displayName }),
      ),
    )
    expect(made.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    const groups = await Promise.all(spellings.map((_, n) => site.scim.group(`Other ${n}`)))
    const renamed = await Promise.all(
      groups.map(({ id }, n) =>
        site.scim.patch(`/Groups/${id}`, {
          op: 'replace',
          path: 'displayName',
          value: `Re${spellings[n]}`,
        }),
      ),
    )
    expect(renamed.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409])
    const others = await Promise.all(
      Array.from({ length: 12 }, (_, n) => site.scim.group(`At once ${n}`)),
    )
    expect(new Set(others.map(({ id }) => id)).size).toBe(12)
  })

  it('change one user without lost updates', async () => {
    const { id } = await site.scim.user('busy')
    const attributes = ['title', 'nickName', 'displayName', 'userType', 'locale', 'timezone']
    const answers = await Promise.all(
      attributes.map((at) => site.scim.patch(`/Users/${id}`, { op: 'add', path: at, value: at })),
    )
    expect(answers.map(({ status }) => status)).toEqual(attributes.map(() => 200))
    const { body } = await site.scim.send('GET', `/Users/${id}`)
    expect(body).toMatchObject(Object.fromEntries(attributes.map((at) => [at, at])))
  })

  it('add every member to one group', async () => {
    const { id } = await site.scim.group('Crowd')
    const users = await Promise.all(Array.from({ length: 20 }, () => site.scim.user(nextName())))
    const answers = await Promise.all(
      users.map((user) =>
        site.scim.patch(`/Groups/${id}`, {
          op: 'add',
          path: 'members',
          value: [{ value: user.id }],
        }),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const { body } = await site.scim.send('GET', `/Groups/${id}`)
    expect(body.members).toHaveLength(20)
  })
})

describe('pages', () => {
  it.each(['startIndex', 'cursor'])(
    'by %s have every user once while users are made',
    async (by) => {
      const before: string[] = []
      for (let n = 0; n < 7; n += 1) before.push((await site.scim.user(`paged-${by}-${n}`)).id)
      const filter = `userName sw "paged-${by}"`
      const seen: string[] = []
      let at = by === 'cursor' ? '' : '1'
      for (let n = 0; ; n += 1) {
        const query = new URLSearchParams({ filter, count: '2', [by]: at })
        const { body } = await site.scim.send('GET', `/Users?${query}`)
        seen.push(...body.Resources.map(({ id }: { id: string }) => id))
        // Made while the sender reads, for a while.
        if (n < 3) await site.scim.user(`paged-${by}-later-${n}`)
        at = by === 'cursor' ? body.nextCursor : String(body.startIndex + body.itemsPerPage)
        if (at === undefined || body.itemsPerPage === 0) break
      }
      expect(new Set(seen).size).toBe(seen.length)
      expect(seen.slice(0, 7)).toEqual(before)
      expect(seen).toHaveLength(10)
    },
  )
})
