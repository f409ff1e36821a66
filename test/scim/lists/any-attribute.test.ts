/** Filters and order by attributes that the database has no column for (RFC 7644 §3.4.2.2, §3.4.2.3). */

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { UserFields } from '#schemas/wire/records.ts'
import { newId } from '#server/platform/ids.ts'
import { mostScanned } from '#server/provisioning/scim/in/schema/user-schema.ts'
import { insertRows } from '#server/storage/statements.ts'
import { newUserRow } from '#server/users/user-record.ts'
import { enterprise, openSite, userSchema } from '../sender.ts'

const site = openSite()

const people = [
  {
    userName: 'ada',
    externalId: 'E-1',
    name: { formatted: 'Ada Lovelace', familyName: 'Lovelace', honorificPrefix: 'Lady' },
    displayName: 'Ada L.',
    nickName: 'Countess',
    title: 'Analyst "first" \\ grade',
    userType: 'Employee',
    preferredLanguage: 'en-GB',
    locale: 'en-GB',
    timezone: 'Europe/London',
    profileUrl: 'https://people.example/Ada',
    emails: [
      { value: 'ada@work.example', type: 'work', primary: true },
      { value: 'Ada@Home.example', type: 'home' },
    ],
    phoneNumbers: [{ value: '+44 1', type: 'mobile' }],
    addresses: [{ type: 'work', locality: 'London', country: 'GB' }],
    [enterprise]: { department: 'Engines', employeeNumber: '1', manager: { value: 'boss' } },
  },
  {
    userName: 'bea',
    displayName: 'Bea',
    title: 'Straßenbau',
    emails: [{ value: 'bea@work.example' }],
    [enterprise]: { department: 'engines', costCenter: '42' },
  },
  { userName: 'cid', displayName: 'ada l.', active: false, userType: 'Contractor' },
]

beforeAll(async () => {
  for (const { userName, ...more } of people)
    await site.scim.user(userName, { schemas: [userSchema, enterprise], ...more })
})

const list = (query: Record<string, string>) =>
  site.scim.send('GET', `/Users?${new URLSearchParams(query)}`)

const names = ({ Resources }: { Resources: { userName: string }[] }): string[] =>
  Resources.map(({ userName }) => userName)

const found = async (filter: string): Promise<string[]> => {
  const { status, body } = await list({ filter })
  if (status !== 200) throw new Error(`${filter}: ${JSON.stringify(body)}`)
  expect(body.totalResults).toBe(body.Resources.length)
  return names(body).sort()
}

interface Described {
  readonly attributes: readonly DescribedAttribute[]
}
interface DescribedAttribute {
  readonly name: string
  readonly returned: string
  readonly subAttributes?: readonly DescribedAttribute[]
}

const pathsOf = (
  { name, returned, subAttributes = [] }: DescribedAttribute,
  prefix: string,
): string[] =>
  returned === 'never'
    ? []
    : [`${prefix}${name}`, ...subAttributes.map((part) => `${prefix}${name}.${part.name}`)]

describe('a filter', () => {
  it.each([
    ['displayName eq "ADA L."', ['ada', 'cid']],
    ['displayName co "da"', ['ada', 'cid']],
    ['displayName sw "b"', ['bea']],
    ['displayName ew "L."', ['ada', 'cid']],
    ['displayName ne "Bea"', ['ada', 'cid']],
    ['displayName gt "ada l."', ['bea']],
    ['displayName pr', ['ada', 'bea', 'cid']],
    ['not (title pr)', ['cid']],
    ['title eq null', ['cid']],
    ['title eq "analyst \\"first\\" \\\\ grade"', ['ada']],
    ['title co "\\"first\\""', ['ada']],
    ['title eq "STRAßENBAU"', ['bea']],
    ['title eq "displayName"', []],
    ['name.formatted eq "ada lovelace"', ['ada']],
    ['name.honorificPrefix pr', ['ada']],
    ['name pr', ['ada']],
    ['nickName eq "countess"', ['ada']],
    ['userType eq "Employee" or userType eq "Contractor"', ['ada', 'cid']],
    ['userType ne "Employee"', ['bea', 'cid']],
    ['preferredLanguage sw "en"', ['ada']],
    ['locale eq "en-GB" and timezone co "/"', ['ada']],
    ['profileUrl pr', ['ada']],
    ['emails.value eq "ada@home.example"', ['ada']],
    ['emails eq "ADA@HOME.EXAMPLE"', ['ada']],
    ['emails.value co "work.example"', ['ada', 'bea']],
    ['emails.type eq "home"', ['ada']],
    ['emails[type eq "home" and value ew "home.example"]', ['ada']],
    ['emails[type eq "home" and value ew "work.example"]', []],
    ['emails[type eq "work"].value eq "bea@work.example"', ['bea']],
    ['emails[not (type eq "work")]', ['ada']],
    ['emails[primary eq true]', ['ada']],
    ['emails pr', ['ada', 'bea']],
    ['not (emails pr)', ['cid']],
    ['phoneNumbers.value eq "+44 1"', ['ada']],
    ['phoneNumbers[type eq "mobile"]', ['ada']],
    ['addresses[type eq "work" and locality eq "london"]', ['ada']],
    ['addresses.country eq "GB"', ['ada']],
    [`${enterprise}:department eq "ENGINES"`, ['ada', 'bea']],
    [`${enterprise.toUpperCase()}:Department eq "engines"`, ['ada', 'bea']],
    [`${enterprise}:manager.value eq "boss"`, ['ada']],
    [`${enterprise}:manager eq "boss"`, ['ada']],
    [`${enterprise}:costCenter pr and active eq true`, ['bea']],
    [`${enterprise}:employeeNumber eq "1" and userName eq "bea"`, []],
    [`${userSchema}:displayName eq "bea"`, ['bea']],
    [`schemas eq "${enterprise}"`, ['ada', 'bea']],
    ['meta.created gt "2020-01-01T00:00:00Z"', ['ada', 'bea', 'cid']],
    ['meta.created lt "2020-01-01T00:00:00Z"', []],
    ['meta.created pr and displayName eq "bea"', ['bea']],
    ['meta.version pr', ['ada', 'bea', 'cid']],
    ['externalId eq "E-1" and title pr', ['ada']],
    ['externalId eq "E-1" or userType eq "contractor"', ['ada', 'cid']],
    ['externalId eq "e-1" or userType eq "contractor"', ['cid']],
    ['active eq false and displayName pr', ['cid']],
    ['groups pr', []],
    ['not (groups pr) and title pr', ['ada', 'bea']],
  ])('%s', async (filter, wanted) => {
    expect(await found(filter)).toEqual(wanted)
  })

  it.each([
    'emails pr',
    'emails.value pr',
    'emails.type pr',
    'emails[type pr]',
    'emails[primary eq true]',
    'emails.type eq "work"',
    'emails.type eq "work" and emails.value co "usual@"',
    'emails.type sw "w"',
    'emails[type eq "work" and value co "usual@"]',
  ])('finds a user by the only address of type work: %s', async (filter) => {
    const emails = [{ value: 'usual@work.example', type: 'work', primary: true }]
    const { id } = await site.scim.user('usual', { emails })
    const all = await found(filter)
    await site.scim.send('DELETE', `/Users/${id}`)
    expect(all).toContain('usual')
  })

  it('finds a member by the name of the group', async () => {
    const { body } = await list({ filter: 'userName eq "bea"' })
    const [{ id }] = body.Resources
    const group = await site.scim.group('Roads', { members: [{ value: id }] })
    expect(await found('groups.display eq "roads"')).toEqual(['bea'])
    expect(await found(`groups[value eq "${group.id}" and display sw "R"]`)).toEqual(['bea'])
    expect(await found(`groups.value ne "${group.id}"`)).toEqual(['ada', 'cid'])
    await site.scim.send('DELETE', `/Groups/${group.id}`)
  })

  it('combines with pages, cursors and attributes', async () => {
    const filter = 'displayName pr'
    const page = await list({ filter, startIndex: '2', count: '1', attributes: 'userName' })
    expect(page.body).toMatchObject({ totalResults: 3, itemsPerPage: 1, startIndex: 2 })
    expect(Object.keys(page.body.Resources[0]).sort()).toEqual(['id', 'schemas', 'userName'])
    expect((await list({ filter, count: '0' })).body).toMatchObject({
      totalResults: 3,
      Resources: [],
    })
    const seen: string[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const { body }: Awaited<ReturnType<typeof list>> = await list({ filter, cursor, count: '2' })
      seen.push(...names(body))
      cursor = body.nextCursor
    }
    expect(seen.sort()).toEqual(['ada', 'bea', 'cid'])
  })

  it('finds the same users by the database and by the scan', async () => {
    const words = ['ada', 'b', 'L', 'work.example', '', 'E-1', 'Contractor', 'ß', '"']
    const attribute = fc.constantFrom('userName', 'name.familyName', 'externalId', 'id')
    const op = fc.constantFrom('eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le')
    await fc.assert(
      fc.asyncProperty(attribute, op, fc.constantFrom(...words), async (path, by, word) => {
        const filter = `${path} ${by} ${JSON.stringify(word)}`
        // `schemas pr` fits everyone, and no column has it.
        expect(await found(`${filter} and schemas pr`)).toEqual(await found(filter))
      }),
      { numRuns: 60 },
    )
  })

  it('finds the same users with and without a narrower query of the database', async () => {
    const { id } = await site.scim.user('usual', {
      emails: [{ value: 'usual@work.example', type: 'work', primary: true }],
      roles: [{ value: 'True', primary: false }],
    })
    const { body } = await site.scim.send('GET', '/Schemas')
    const paths = body.Resources.flatMap((schema: Described & { id: string }) =>
      schema.id === enterprise || schema.id === userSchema
        ? schema.attributes.flatMap((one) => pathsOf(one, `${schema.id}:`))
        : [],
    )
    const values = [
      'work',
      'WORK.example',
      'ada',
      '',
      'True',
      'home',
      'e',
      '"first"',
      'ß',
      'GB',
      '1',
    ]
    const conditions = fc.oneof(
      fc.constantFrom('pr', 'eq null', 'ne null'),
      fc
        .tuple(
          fc.constantFrom('eq', 'ne', 'co', 'sw', 'ew', 'ge', 'lt'),
          fc.constantFrom(...values),
        )
        .map(([op, value]) => `${op} ${JSON.stringify(value)}`),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), conditions, async (path, condition) => {
        const filter = `${path} ${condition}`
        const narrow = await list({ filter })
        // The database is not asked to fulfil a negation.
        const whole = await list({ filter: `not (not (${filter})) and schemas pr` })
        expect(whole.status, filter).toBe(narrow.status)
        if (narrow.status === 200)
          expect(names(narrow.body).sort(), filter).toEqual(names(whole.body).sort())
      }),
      { numRuns: 150 },
    )
    await site.scim.send('DELETE', `/Users/${id}`)
  }, 60_000)
})

describe('the order', () => {
  it.each([
    ['displayName', ['ada', 'cid', 'bea']],
    ['title', ['ada', 'bea', 'cid']],
    ['emails.value', ['ada', 'bea', 'cid']],
    ['emails', ['ada', 'bea', 'cid']],
    [`${enterprise}:costCenter`, ['bea', 'ada', 'cid']],
    ['meta.created', ['ada', 'bea', 'cid']],
  ])('by %s', async (sortBy, wanted) => {
    expect(names((await list({ sortBy })).body)).toEqual(wanted)
    const { body } = await list({ sortBy, sortOrder: 'descending', count: '1' })
    expect(wanted).toContain(names(body)[0])
    if (sortBy === 'title') expect(names(body)).toEqual(['cid'])
  })
})

describe('among more users than are read one by one', () => {
  beforeAll(async () => {
    const { storage } = site.world.server.areas
    const row = (n: number) => {
      const key = `crowd-${String(n).padStart(6, '0')}`
      const fields: UserFields = {
        username: key,
        email: `${key}@crowd.example`,
        emailVerified: false,
        firstName: null,
        lastName: null,
        enabled: true,
        locked: false,
        requiredActions: [],
        attributes: {
          displayName: [`Crowd ${n}`],
          emails: [
            JSON.stringify({ value: `${key}@crowd.example`, type: 'work' }),
            JSON.stringify({ value: `${key}@Other.example`, type: 'home' }),
          ],
        },
      }
      return newUserRow(fields, { id: newId(), realm: 'acme', now: 1 })
    }
    for (let n = 0; n <= mostScanned; n += 1000)
      await storage.commit(
        insertRows(
          storage.db,
          'users',
          Array.from({ length: 1000 }, (_, i) => row(n + i)),
        ),
      )
  }, 120_000)

  it('a narrow filter finds users by any attribute, and a wide filter gets tooMany', async () => {
    for (const filter of [
      'displayName eq "CROWD 777"',
      'emails eq "crowd-000777@other.example"',
      'emails[type eq "work"].value eq "crowd-000777@crowd.example"',
      'displayName co "Crowd" and userName eq "crowd-000777"',
    ]) {
      const { body } = await list({ filter })
      expect(body, filter).toMatchObject({
        totalResults: 1,
        Resources: [{ userName: 'crowd-000777' }],
      })
    }
    for (const query of [
      { filter: 'displayName co "crowd"' },
      { filter: 'not (title pr)' },
      { sortBy: 'displayName' },
    ])
      expect((await list(query)).body, JSON.stringify(query)).toMatchObject({
        status: '400',
        scimType: 'tooMany',
        detail: expect.stringContaining('20000 users'),
      })
    expect((await list({ sortBy: 'emails.value', count: '1' })).status).toBe(200)
  })

  it('an address is found among as many users: it has an index', async () => {
    const filter = 'emails.value eq "crowd-019999@other.example"'
    expect((await list({ filter })).body.totalResults).toBe(1)
  })
})
