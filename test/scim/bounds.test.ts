/** Requests that would cost more than they may, and requests at the same moment. */

import { describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { errorSchema, groupSchema, openSite, userSchema } from './sender.ts'

const site = openSite()

const searchSchema = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest'
const searches = ['/Users/.search', '/Groups/.search', '/.search']

/** A text that no database can make shorter. */
const noise = (length: number, seed: number): string =>
  Array.from({ length }, (_, i) => ((i + 1) * (seed + 7) * 2_654_435_761).toString(36).at(-2)).join(
    '',
  )

describe('a list of values', () => {
  const numbers = (count: number, from = 0) =>
    Array.from({ length: count }, (_, i) => ({ value: `+${from + i}` }))

  it('has at most 200 values, by POST and by PATCH', async () => {
    const body = { schemas: [userSchema], userName: 'phones' }
    const many = await site.scim.send('POST', '/Users', { ...body, phoneNumbers: numbers(201) })
    expect([many.status, many.body.scimType]).toEqual([400, 'invalidValue'])
    const { id } = await site.scim.user('phones', { phoneNumbers: numbers(200) })
    const add = (value: unknown) =>
      site.scim.patch(`/Users/${id}`, { op: 'add', path: 'phoneNumbers', value })
    expect((await add(numbers(1, 200))).body.scimType).toBe('invalidValue')
    const part = { op: 'add', path: 'phoneNumbers[type eq "fax"].value', value: '+1' }
    expect((await site.scim.patch(`/Users/${id}`, part)).body.scimType).toBe('invalidValue')
    expect((await add(numbers(200))).status).toBe(200)
  })

  it('has each value once, whatever the order of its parts', async () => {
    const { id } = await site.scim.user('twice', { phoneNumbers: [{ value: '+1', type: 'work' }] })
    const value = [{ type: 'work', value: '+1' }]
    const answer = await site.scim.patch(`/Users/${id}`, { op: 'add', path: 'phoneNumbers', value })
    expect(answer.body.phoneNumbers).toEqual([{ value: '+1', type: 'work' }])
  })

  it('has a value of a type once, with the parts of both (RFC 7643 §2.4)', async () => {
    const work = { value: '+1', type: 'work', primary: true }
    const home = { value: '+1', type: 'home' }
    const { id, phoneNumbers } = await site.scim.user('once', {
      phoneNumbers: [work, home, { value: '+1', type: 'work', display: 'desk' }],
    })
    expect(phoneNumbers).toEqual([{ ...work, display: 'desk' }, home])
    const patch = async (operation: object) =>
      (await site.scim.patch(`/Users/${id}`, operation)).body.phoneNumbers
    expect(
      await patch({ op: 'add', path: 'phoneNumbers', value: [{ value: '+1', type: 'work' }] }),
    ).toEqual(phoneNumbers)
    expect(
      await patch({ op: 'add', value: { phoneNumbers: [{ ...home, primary: true }] } }),
    ).toEqual([
      { ...work, display: 'desk', primary: false },
      { ...home, primary: true },
    ])
    const onlyHome = { op: 'replace', path: 'phoneNumbers[type eq "work"].type', value: 'home' }
    expect(await patch(onlyHome)).toEqual([{ ...home, display: 'desk', primary: true }])
  })
})

it('a group of thousands of members is sent back in the form in which it is answered, by senders alone', async () => {
  const { id } = await site.scim.user('of-many')
  const group = await site.scim.group('Thousands', { members: [{ value: id }] })
  const [member] = group.members
  const others = Array.from({ length: 12_000 }, () => {
    const value = newId()
    return { ...member, value, $ref: member.$ref.replace(id, value), display: 'Somebody' }
  })
  const whole = { ...group, members: [member, ...others] }
  expect(JSON.stringify(whole).length).toBeGreaterThan(2 * 1024 * 1024)
  const path = `/Groups/${group.id}`
  const put = await site.scim.send('PUT', path, whole)
  expect([put.status, put.body.members]).toEqual([200, [member]])
  const operation = { op: 'add', path: 'members', value: whole.members }
  expect((await site.scim.patch(path, operation)).status).toBe(200)
  const authorization = 'Bearer none'
  expect((await site.scim.send('PUT', path, whole, { authorization })).status).toBe(401)
  const larger = { ...whole, displayName: 'x'.repeat(6 * 1024 * 1024) }
  const refused = await site.scim.send('PUT', path, larger)
  expect([refused.status, refused.body.schemas]).toEqual([413, [errorSchema]])
})

describe('lengths', () => {
  it('an externalId has at most 500 characters', async () => {
    const users = { schemas: [userSchema], userName: 'named' }
    const groups = { schemas: [groupSchema], displayName: 'Named' }
    for (const [path, body] of [['/Users', users] as const, ['/Groups', groups] as const]) {
      const long = await site.scim.send('POST', path, { ...body, externalId: noise(4000, 1) })
      expect([long.status, long.body.scimType]).toEqual([400, 'invalidValue'])
      const longest = await site.scim.send('POST', path, { ...body, externalId: noise(500, 1) })
      expect(longest.status).toBe(201)
    }
  })

  it('the path of nested groups is limited', async () => {
    let inner: string | undefined
    let refused: { status: number; scimType: string } | undefined
    for (let depth = 0; depth < 15 && !refused; depth += 1) {
      const { status, body } = await site.scim.send('POST', '/Groups', {
        schemas: [groupSchema],
        displayName: `${depth}-${noise(200, depth)}`,
        ...(inner === undefined ? {} : { members: [{ value: inner }] }),
      })
      if (status !== 201) refused = { status, scimType: body.scimType }
      inner = body.id
    }
    expect(refused).toEqual({ status: 400, scimType: 'invalidValue' })
  })
})

describe('a search', () => {
  it('by POST ignores attribute names that are no texts', async () => {
    for (const path of searches)
      for (const attributes of [[{ toString: 1 }], [['userName']], [null, 'userName']]) {
        const { status } = await site.scim.send('POST', path, {
          schemas: [searchSchema],
          attributes,
        })
        expect([path, status]).toEqual([path, 200])
      }
  })

  it('names at most 200 attributes', async () => {
    for (const path of searches)
      for (const name of ['attributes', 'excludedAttributes']) {
        const body = { schemas: [searchSchema], [name]: Array(201).fill('userName') }
        const answer = await site.scim.send('POST', path, body)
        expect([answer.status, answer.body.scimType]).toEqual([400, 'invalidValue'])
      }
  })

  it('finds users without an external id, and those with one', async () => {
    await site.scim.user('with-id', { externalId: 'e-1' })
    await site.scim.user('without-id')
    const found = async (filter: string): Promise<string[]> => {
      const { body } = await site.scim.send('GET', `/Users?filter=${encodeURIComponent(filter)}`)
      return body.Resources.map(({ userName }: { userName: string }) => userName)
    }
    expect(await found('userName sw "with" and externalId eq null')).toEqual(['without-id'])
    expect(await found('userName sw "with" and externalId ne null')).toEqual(['with-id'])
    expect(await found('userName sw "with" and externalId ne "e-1"')).toEqual(['without-id'])
  })
})

describe('a search that the database refuses', () => {
  const letters = Array.from({ length: 0x2fff }, (_, i) => String.fromCodePoint(i + 0x80)).filter(
    (one) => one.toUpperCase() !== one && one.toUpperCase().toLowerCase() === one,
  )
  const find = (filter: string) =>
    site.scim.send('POST', '/Users/.search', { schemas: [searchSchema], filter })

  it('is not made by a name of many different letters', async () => {
    const wide = letters.slice(0, 50).join('')
    await site.scim.user('letters', { name: { familyName: wide.toUpperCase() } })
    const found = await find(`name.familyName eq "${wide}"`)
    expect([found.status, found.body.totalResults]).toEqual([200, 1])
    for (const count of [51, 900]) {
      const { status, body } = await find(`name.givenName co "${letters.slice(0, count).join('')}"`)
      expect([status, body.scimType]).toEqual([400, 'invalidFilter'])
    }
  })

  it('is answered, and ends nothing else', async () => {
    const { storage } = site.world.server.areas
    const rename = (from: string, to: string) =>
      storage.commit([{ sql: `alter table ${from} rename to ${to}`, parameters: [] }])
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    try {
      await rename('users', 'users_away')
      expect((await find('userName eq "letters"')).status).toBe(500)
      // Node.js tells of them once the promises have settled.
      await new Promise((resolve) => setTimeout(resolve, 100))
    } finally {
      await rename('users_away', 'users')
      process.off('unhandledRejection', note)
    }
    expect(unhandled).toEqual([])
  })
})

describe('long work', () => {
  /** The longest that the work keeps the event loop from others, in milliseconds of its processor time. */
  const longestTurn = async (work: Promise<unknown>): Promise<number> => {
    const now = (): number => {
      const { user, system } = process.threadCpuUsage()
      return (user + system) / 1000
    }
    let [longest, last, isUnderWay] = [0, now(), true]
    const tick = (): void => {
      longest = Math.max(longest, now() - last)
      last = now()
      if (isUnderWay) setImmediate(tick)
    }
    setImmediate(tick)
    await work
    isUnderWay = false
    tick()
    return longest
  }
  const photos = Array.from({ length: 200 }, (_, i) => ({ value: `${i} `.padEnd(3800, 'A') }))
  const terms = Array.from({ length: 20 }, (_, i) => `value co "z${i}"`).join(' or ')
  const many = (operation: (i: number) => object): object[] =>
    Array.from({ length: 400 }, (_, i) => operation(i))

  it('of a PATCH gives way in between (CWE-407)', async () => {
    const { id } = await site.scim.user('album', { photos })
    const patches = [
      many((i) => ({ op: 'replace', path: 'photos.display', value: `n${i}` })),
      many(() => ({ op: 'remove', path: `photos[${terms}]` })),
    ]
    for (const operations of patches) {
      const answer = site.scim.patch(`/Users/${id}`, ...operations)
      expect(await longestTurn(answer)).toBeLessThan(200)
      expect((await answer).status).toBe(200)
    }
  })
})

describe('requests at the same moment', () => {
  it('leave the members of one PUT, never a mixture of two', async () => {
    const users = await Promise.all([1, 2, 3, 4].map((i) => site.scim.user(`put-${i}`)))
    const ids = users.map(({ id }) => id as string)
    const lists = [ids.slice(0, 2), ids.slice(2)]
    for (let round = 0; round < 5; round += 1) {
      const { id } = await site.scim.group(`Put ${round}`)
      const answers = await Promise.all(
        lists.map((list) =>
          site.scim.send('PUT', `/Groups/${id}`, {
            schemas: [groupSchema],
            displayName: `Put ${round}`,
            members: list.map((value) => ({ value })),
          }),
        ),
      )
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      const { members } = (await site.scim.send('GET', `/Groups/${id}`)).body
      expect(lists).toContainEqual(members.map(({ value }: { value: string }) => value))
    }
  })
})
