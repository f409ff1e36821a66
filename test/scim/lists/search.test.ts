/** Lists: filters, order, pages and attributes (RFC 7644 §3.4.2, §3.9; RFC 9865). */

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseScimFilter, ScimFilterError } from '#schemas/text/scim-filter.ts'
import { openSite } from '../sender.ts'

const site = openSite()

const people = [
  { userName: 'anna', name: { familyName: 'Berg', givenName: 'Anna' }, externalId: 'X-1' },
  { userName: 'Bert', name: { familyName: 'berg' }, emails: [{ value: 'bert@b.example' }] },
  { userName: 'chris', active: false, name: { familyName: 'Quote"s \\ %_' } },
  { userName: 'dave', emails: [{ value: 'Dave@D.example', type: 'home' }], title: 'x' },
]

beforeAll(async () => {
  for (const { userName, ...more } of people) await site.scim.user(userName, more)
})

const list = (query: Record<string, string>, path = '/Users') =>
  site.scim.send('GET', `${path}?${new URLSearchParams(query)}`)

const found = async (filter: string): Promise<string[]> => {
  const { status, body } = await list({ filter, attributes: 'userName' })
  if (status !== 200) throw new Error(`${filter}: ${JSON.stringify(body)}`)
  return body.Resources.map(({ userName }: { userName: string }) => userName).sort()
}

describe('a filter of users', () => {
  it.each([
    ['userName eq "ANNA"', ['anna']],
    ['USERNAME Eq "anna"', ['anna']],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "bert"', ['Bert']],
    ['userName ne "anna"', ['Bert', 'chris', 'dave']],
    ['userName sw "CH"', ['chris']],
    ['userName co "r"', ['Bert', 'chris']],
    ['userName ew "E"', ['dave']],
    ['userName gt "bert"', ['chris', 'dave']],
    ['userName le "bert"', ['Bert', 'anna']],
    ['externalId eq "X-1"', ['anna']],
    ['externalId eq "x-1"', []],
    ['externalId pr', ['anna']],
    ['externalId ne "X-1"', ['Bert', 'chris', 'dave']],
    ['not (externalId pr)', ['Bert', 'chris', 'dave']],
    ['emails eq "BERT@b.example"', ['Bert']],
    ['emails.value eq "dave@d.example"', ['dave']],
    ['emails[value eq "dave@d.example"]', ['dave']],
    ['emails[type eq "work"].value eq "bert@b.example"', ['Bert']],
    ['emails pr', ['Bert', 'dave']],
    ['name.familyName eq "BERG"', ['Bert', 'anna']],
    ['name.familyName eq "Quote\\"s \\\\ %_"', ['chris']],
    ['name.familyName co "%"', ['chris']],
    ['name.familyName pr and not (active eq false)', ['Bert', 'anna']],
    ['active eq false', ['chris']],
    ['active eq "False"', ['chris']],
    ['userName eq "anna" or userName eq "dave" and active eq false', ['anna']],
    ['(userName eq "anna" or userName eq "dave") and active eq true', ['anna', 'dave']],
    ['meta.lastModified gt "2020-01-01T00:00:00Z"', ['Bert', 'anna', 'chris', 'dave']],
    ['meta.lastModified lt "2020-01-01T00:00:00Z"', []],
    ['userName eq "\\u0000"', []],
    ["userName eq \"' or '1'='1\"", []],
  ])('%s', async (filter, wanted) => {
    expect(await found(filter)).toEqual([...wanted].sort())
  })

  it.each([
    'password eq "x"',
    'password pr',
    'department eq "x"',
    'name eq "Berg"',
    'displayName eq 5',
    'emails[primary gt true]',
    'emails[nothing eq "a"]',
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:userName eq "anna"',
    'urn:nothing:User:userName eq "anna"',
    'meta.created co "2026"',
    'userName',
    'userName eq',
    'userName eq anna',
    'userName xx "a"',
    'userName eq "a" and',
    '(userName eq "a"',
    'userName eq "a")',
    'not userName eq "a"',
    'userName eq "\\x"',
    'nothing eq "a"',
    'emails[title eq "a"]',
    'emails[',
    'active gt "x"',
    'active gt true',
    'active co "tru"',
    'meta.lastModified gt "soon"',
    'meta.created gt "soon"',
    '__proto__ eq "a"',
    'constructor eq "a"',
    '; drop table users',
    `userName eq "${'a'.repeat(2000)}"`,
    Array.from({ length: 21 }, () => 'userName eq "a"').join(' or '),
    `${'('.repeat(6)}userName eq "a"${')'.repeat(6)}`,
  ])('is refused with 400 invalidFilter: %s', async (filter) => {
    const { status, body } = await list({ filter })
    expect([status, body.scimType]).toEqual([400, 'invalidFilter'])
  })

  it('compares the type of the address that it finds', async () => {
    const [work, home] = ['Typed.Work@x.example', 'typed.home@x.example']
    await site.scim.user('typed-1', {
      emails: [
        { type: 'work', value: work, primary: true },
        { type: 'home', value: home },
      ],
    })
    await site.scim.user('typed-2', {
      emails: [{ value: 'typed.own@x.example', type: 'HOME', primary: true }],
    })
    const changed = await site.scim.user('typed-3', {
      emails: [{ value: 'typed.old@x.example', type: 'work', display: 'T', primary: true }],
    })
    const update = { username: 'typed-3', email: 'typed.new@x.example' }
    expect((await site.world.admin('PUT', `/users/${changed.id}`, update)).status).toBe(200)
    expect(await found('emails[type eq "work" and value sw "typed"]')).toEqual([
      'typed-1',
      'typed-3',
    ])
    expect(await found('emails[type eq "home" and value sw "typed"]')).toEqual([
      'typed-1',
      'typed-2',
    ])
    expect(await found('emails[type eq "work" and value eq "typed.home@x.example"]')).toEqual([])
    for (const name of ['emails', 'emails.value', 'EMAILS.VALUE'])
      expect(await found(`${name} eq "TYPED.home@x.example"`), name).toEqual(['typed-1'])
    expect(await found('emails co "typed.old"')).toEqual([])
    expect(await found('emails[type eq "Home"].value eq "TYPED.own@x.example"')).toEqual([
      'typed-2',
    ])
    expect(await found('emails[type eq "other" and value sw "typed"]')).toEqual([])
    expect(await found('emails[type eq "\\" or" and value sw "typed"]')).toEqual([])
    expect(await found('emails[type eq "work"].value eq "typed.new@x.example"')).toEqual([
      'typed-3',
    ])
    for (const name of ['typed-1', 'typed-2', 'typed-3']) {
      const { body } = await list({ filter: `userName eq "${name}"` })
      await site.scim.send('DELETE', `/Users/${body.Resources[0].id}`)
    }
  })

  it('costs no more than its length: any text is read or refused at once', () => {
    const parts = fc.constantFrom(
      '(',
      ')',
      '[',
      ']',
      ' and ',
      ' or ',
      ' not ',
      'a.b',
      ' eq ',
      ' pr',
      '"x"',
      '1',
    )
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 300 }), (words) => {
        try {
          parseScimFilter(words.join(''))
        } catch (error) {
          expect(error).toBeInstanceOf(ScimFilterError)
        }
      }),
    )
    const doubling = Array.from({ length: 10 }, (_, n) => `(a eq "${n}" or b eq "${n}")`).join(
      ' and ',
    )
    expect(parseScimFilter(doubling)).toMatchObject({ op: 'and' })
  })
})

describe('a list', () => {
  it('has numbers, no nulls, and the schema of lists (RFC 7644 §3.4.2)', async () => {
    const { body, headers } = await list({})
    expect(headers['content-type']).toContain('application/scim+json')
    expect(body).toMatchObject({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      totalResults: 4,
      itemsPerPage: 4,
      startIndex: 1,
    })
    expect(JSON.stringify(body)).not.toContain('null')
  })

  it('has pages: a start below 1 is 1, count 0 gives the total, more than 200 is 200', async () => {
    const page = async (query: Record<string, string>) => {
      const { body } = await list(query)
      return [body.startIndex, body.itemsPerPage, body.totalResults]
    }
    expect(await page({ startIndex: '0', count: '2' })).toEqual([1, 2, 4])
    expect(await page({ startIndex: '-5', count: '-1' })).toEqual([1, 0, 4])
    expect(await page({ startIndex: '4', count: '2' })).toEqual([4, 1, 4])
    expect(await page({ startIndex: '9', count: '2' })).toEqual([9, 0, 4])
    expect(await page({ count: '0' })).toEqual([1, 0, 4])
    expect(await page({ count: '5000' })).toEqual([1, 4, 4])
    expect((await list({ count: 'many' })).status).toBe(400)
  })

  it('is sorted by an attribute, without case, both ways', async () => {
    const names = async (query: Record<string, string>) =>
      (await list(query)).body.Resources.map(({ userName }: { userName: string }) => userName)
    expect(await names({ sortBy: 'userName' })).toEqual(['anna', 'Bert', 'chris', 'dave'])
    expect(await names({ sortBy: 'userName', sortOrder: 'descending' })).toEqual([
      'dave',
      'chris',
      'Bert',
      'anna',
    ])
    expect((await names({ sortBy: 'name.familyName' })).slice(-2)).toEqual(['chris', 'dave'])
    for (const sortBy of ['nothing', 'password', 'name', 'department'])
      expect((await list({ sortBy })).body, sortBy).toMatchObject({ scimType: 'invalidPath' })
  })

  it('has each resource once by cursor (RFC 9865)', async () => {
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await list({ cursor, count: '3' })
      seen.push(...body.Resources.map(({ userName }: { userName: string }) => userName))
      if (body.nextCursor === undefined) break
      cursor = body.nextCursor
    }
    expect(seen.sort()).toEqual(['Bert', 'anna', 'chris', 'dave'])
    expect((await list({ cursor: 'x' })).body).toMatchObject({ scimType: 'invalidCursor' })
  })

  it('has the attributes that are asked for, and always id and schemas', async () => {
    const one = async (query: Record<string, string>) => {
      const { body } = await list({ filter: 'userName eq "anna"', ...query })
      return body.Resources[0]
    }
    expect(Object.keys(await one({ attributes: 'USERNAME' })).sort()).toEqual([
      'id',
      'schemas',
      'userName',
    ])
    expect((await one({ attributes: 'name.givenName' })).name).toEqual({ givenName: 'Anna' })
    expect((await one({ excludedAttributes: 'name.givenName,id' })).name).toEqual({
      familyName: 'Berg',
    })
    const without = await one({ excludedAttributes: 'name,meta' })
    expect([without.name, without.meta, without.id]).toEqual([
      undefined,
      undefined,
      expect.any(String),
    ])
  })

  it('accepts the largest integers as count and startIndex', async () => {
    for (const most of ['2147483647', '9223372036854775807']) {
      expect((await list({ count: most })).body).toMatchObject({ itemsPerPage: 4, startIndex: 1 })
      expect((await list({ startIndex: most })).body).toMatchObject({ itemsPerPage: 0 })
      expect((await list({ startIndex: `-${most}`, count: '1' })).body).toMatchObject({
        itemsPerPage: 1,
        startIndex: 1,
      })
    }
  })

  it('by POST takes names in any case, and never ignores a parameter that it cannot read', async () => {
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:SearchRequest']
    const search = (more: object, path = '/Users') =>
      site.scim.send('POST', `${path}/.search`, { schemas, ...more })
    const found = await search({ FILTER: 'userName eq "anna"', Count: 1, Attributes: ['userName'] })
    expect(found.body).toMatchObject({ totalResults: 1, Resources: [{ userName: 'anna' }] })
    expect(Object.keys(found.body.Resources[0])).not.toContain('meta')
    for (const more of [
      { filter: { userName: 'anna' } },
      { filter: true },
      { filter: 'id pr', FILTER: 'userName eq "anna"' },
      { attributes: { userName: true } },
      { filter: ['userName eq "anna"'] },
      { count: [1] },
    ])
      for (const path of ['/Users', '/Groups', ''])
        expect((await search(more, path)).body, JSON.stringify(more)).toMatchObject({
          status: '400',
          scimType: 'invalidSyntax',
        })
  })

  it('is answered to POST .search of one type or of both (RFC 7644 §3.4.3)', async () => {
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:SearchRequest']
    await site.scim.group('Staff')
    const users = await site.scim.send('POST', '/Users/.search', {
      schemas,
      filter: 'userName sw "a"',
      attributes: ['userName'],
      startIndex: 1,
      count: 10,
    })
    expect(users.body).toMatchObject({ totalResults: 1, Resources: [{ userName: 'anna' }] })
    const all = await site.scim.send('POST', '/.search', { schemas, startIndex: 4, count: 2 })
    expect(all.body.totalResults).toBe(5)
    expect(
      all.body.Resources.map(({ meta }: { meta: { resourceType: string } }) => meta.resourceType),
    ).toEqual(['User', 'Group'])
    const groups = await site.scim.send('POST', '/.search', {
      schemas,
      filter: 'displayName eq "staff"',
    })
    expect(groups.body).toMatchObject({ totalResults: 1, Resources: [{ displayName: 'Staff' }] })
  })
})

describe('a filter of groups', () => {
  it('finds by name, sender and member, and refuses the rest', async () => {
    const user = await site.scim.user('member')
    const group = await site.scim.group('Finders', {
      externalId: 'F',
      members: [{ value: user.id }],
    })
    for (const filter of [
      'displayName eq "FINDERS"',
      'displayName sw "find" and id pr',
      'externalId eq "F"',
      `members.value eq "${user.id}"`,
      `members[value eq "${user.id}"]`,
      `id eq "${group.id}"`,
    ])
      expect((await list({ filter }, '/Groups')).body.Resources, filter).toMatchObject([
        { id: group.id },
      ])
    const outer = await site.scim.group('Outer', { members: [{ value: group.id, type: 'Group' }] })
    for (const filter of [`members.value eq "${group.id}"`, `members[value eq "${group.id}"]`])
      expect((await list({ filter }, '/Groups')).body.Resources, filter).toMatchObject([
        { id: outer.id },
      ])
    expect((await list({ filter: `members eq "${outer.id}"` }, '/Groups')).body.totalResults).toBe(
      0,
    )
    const users = await list({ filter: `groups[value eq "${group.id}"]` })
    expect(users.body.Resources).toMatchObject([{ id: user.id }])
    for (const filter of ['groups[title eq "x"]', 'groups.members eq "x"', 'groups[value eq 5]'])
      expect((await list({ filter })).body.scimType, filter).toBe('invalidFilter')
    for (const filter of [
      'members pr',
      'members.value co "x"',
      'not (members pr)',
      'members eq null',
      'not (members.value eq null)',
      'members[value eq null]',
      'members.value eq 5',
    ])
      expect((await list({ filter }, '/Groups')).body, filter).toMatchObject({
        scimType: 'invalidFilter',
        detail: expect.stringContaining('members.value eq'),
      })
    for (const filter of [
      'members.display eq "x"',
      'description eq "x"',
      'displayName',
      'displayName eq 5',
      'displayName eq true',
      'meta.lastModified gt "soon"',
      'meta.created gt 5',
    ])
      expect((await list({ filter }, '/Groups')).body.scimType, filter).toBe('invalidFilter')
  })
})
