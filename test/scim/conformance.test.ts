/** What the compliance suites of SCIM ask of a service, beyond the requests of single senders. */

import { beforeAll, describe, expect, it } from 'vitest'
import {
  enterprise,
  errorSchema,
  groupSchema,
  openSite,
  patchSchema,
  userSchema,
} from './sender.ts'

interface Attribute {
  readonly name: string
  readonly uniqueness: string
  readonly subAttributes?: readonly Attribute[]
}

const site = openSite()

const filtered = (path: string, filter: string) =>
  site.scim.send('GET', `${path}?filter=${encodeURIComponent(filter)}`)

describe('a resource', () => {
  it('is found at its Location, and has it with every answer', async () => {
    const made = await site.scim.send('POST', '/Users', { schemas: [userSchema], userName: 'loc' })
    const path = `/Users/${made.body.id}`
    const body = { schemas: [userSchema], userName: 'loc', title: 'x' }
    const patch = { schemas: [patchSchema], Operations: [{ op: 'remove', path: 'title' }] }
    const answers = [
      made,
      await site.scim.send('GET', path),
      await site.scim.send('PUT', path, body),
      await site.scim.send('PATCH', path, patch),
    ]
    for (const { headers, body: resource } of answers) {
      expect(headers['location']).toBe(made.body.meta.location)
      expect(resource.meta).toMatchObject({
        location: made.body.meta.location,
        version: headers['etag'],
      })
    }
    expect(made.body.meta.location.endsWith(`/realms/acme/scim/v2${path}`)).toBe(true)
  })

  it('takes attributes and operators in any case', async () => {
    const { body } = await site.scim.send('POST', '/Users', {
      SCHEMAS: [userSchema],
      USERNAME: 'anycase',
      Name: { FAMILYNAME: 'Case', givenname: 'Any' },
      eMails: [{ VALUE: 'any@case.example', Type: 'work', PRIMARY: true }],
    })
    expect(body).toMatchObject({
      userName: 'anycase',
      name: { familyName: 'Case', givenName: 'Any' },
      emails: [{ value: 'any@case.example', type: 'work', primary: true }],
    })
    const changed = await site.scim.patch(`/Users/${body.id}`, {
      OP: 'REPLACE',
      PATH: 'NAME.FAMILYNAME',
      VALUE: 'Upper',
    })
    expect(changed.body.name.familyName).toBe('Upper')
    expect((await filtered('/Users', 'USERNAME EQ "ANYCASE"')).body.totalResults).toBe(1)
  })

  it('keeps its id and meta, whatever PUT says of them', async () => {
    const { id, meta } = await site.scim.user('immutable')
    const answer = await site.scim.send('PUT', `/Users/${id}`, {
      schemas: [userSchema],
      id: '00000000-0000-4000-8000-000000000000',
      meta: { resourceType: 'Group', created: '2001-01-01T00:00:00Z' },
      userName: 'immutable',
      title: 'x',
    })
    expect([answer.status, answer.body.id]).toEqual([200, id])
    expect(answer.body.meta).toMatchObject({ resourceType: 'User', created: meta.created })
  })

  it('is deleted once: again it is 404, in the shape of SCIM', async () => {
    const { id } = await site.scim.group('Once Only')
    expect((await site.scim.send('DELETE', `/Groups/${id}`)).status).toBe(204)
    const again = await site.scim.send('DELETE', `/Groups/${id}`)
    expect(again.body).toEqual({
      schemas: [errorSchema],
      status: '404',
      detail: expect.any(String),
    })
  })

  it('is changed by PATCH without a path: add, replace, and extensions by their URN', async () => {
    const { id } = await site.scim.user('no-path', { title: 'Old' })
    const answer = await site.scim.patch(
      `/Users/${id}`,
      { op: 'add', value: { nickName: 'Nick', phoneNumbers: [{ value: '+1', type: 'work' }] } },
      { op: 'replace', value: { title: 'New', 'name.givenName': 'No' } },
      { op: 'add', value: { [enterprise]: { department: 'R&D' } } },
    )
    expect(answer.body).toMatchObject({
      nickName: 'Nick',
      title: 'New',
      name: { givenName: 'No' },
      phoneNumbers: [{ value: '+1', type: 'work' }],
      [enterprise]: { department: 'R&D' },
    })
    expect(answer.body.schemas).toContain(enterprise)
  })

  it('has one value of a list replaced or removed by a filter', async () => {
    const { id } = await site.scim.user('by-filter', {
      emails: [
        { value: 'work@x.example', type: 'work', primary: true },
        { value: 'home@x.example', type: 'home' },
      ],
    })
    const path = `/Users/${id}`
    const { body } = await site.scim.patch(path, {
      op: 'replace',
      path: 'emails[type eq "home"].value',
      value: 'new@x.example',
    })
    expect(body.emails.map(({ value }: { value: string }) => value)).toEqual([
      'work@x.example',
      'new@x.example',
    ])
    const removed = await site.scim.patch(path, { op: 'remove', path: 'emails[type eq "home"]' })
    expect(removed.body.emails).toHaveLength(1)
  })
})

describe('a list', () => {
  it('without a match has no resources and status 200', async () => {
    for (const path of ['/Users', '/Groups']) {
      const name = path === '/Users' ? 'userName' : 'displayName'
      const { status, body } = await filtered(path, `${name} eq "nobody-at-all"`)
      expect([status, body.totalResults, body.Resources]).toEqual([200, 0, []])
    }
  })

  it('sorts groups and returns the requested attributes', async () => {
    for (const name of ['Sorted B', 'sorted a', 'Sorted C']) await site.scim.group(name)
    const query = new URLSearchParams({
      filter: 'displayName sw "sorted"',
      sortBy: 'displayName',
      sortOrder: 'descending',
      attributes: 'displayName',
    })
    const { body } = await site.scim.send('GET', `/Groups?${query}`)
    expect(body.Resources.map((one: { displayName: string }) => one.displayName)).toEqual([
      'Sorted C',
      'Sorted B',
      'sorted a',
    ])
    for (const one of body.Resources)
      expect(Object.keys(one).sort()).toEqual(['displayName', 'id', 'schemas'])
  })

  it('sorts groups without a value last, in descending order first (RFC 7644 §3.4.2.3)', async () => {
    for (const [name, externalId] of [
      ['c', undefined],
      ['a', 'b-2'],
      ['b', 'B-1'],
    ])
      await site.scim.group(`Valued ${name}`, { externalId })
    const sorted = async (sortOrder: string) => {
      const query = { filter: 'displayName sw "valued"', sortBy: 'externalId', sortOrder }
      const { body } = await site.scim.send('GET', `/Groups?${new URLSearchParams(query)}`)
      return body.Resources.map((one: { externalId?: string }) => one.externalId)
    }
    expect(await sorted('ascending')).toEqual(['B-1', 'b-2', undefined])
    expect(await sorted('descending')).toEqual([undefined, 'b-2', 'B-1'])
  })

  it('is described with the attributes that it can be sorted by, and refuses the others', async () => {
    const { paths } = (await site.world.server.anonymous.send('GET', '/v3/api-docs')).body
    for (const path of ['/Users', '/Groups']) {
      const { parameters } = paths[`/realms/{realm}/scim/v2${path}`].get
      const { description } = parameters.find((one: { name: string }) => one.name === 'sortBy')
      expect(description).toContain('any attribute')
      const type = path === '/Users' ? userSchema : groupSchema
      const { attributes } = (await site.scim.send('GET', `/Schemas/${type}`)).body
      const names: string[] = attributes.map(({ name }: Attribute) => name)
      const refused = ['members', 'password', 'name', 'addresses', 'nothing', 'department']
      for (const sortBy of ['id', 'externalId', 'meta.lastModified', ...names, ...refused])
        expect([sortBy, (await site.scim.send('GET', `${path}?sortBy=${sortBy}`)).status]).toEqual([
          sortBy,
          refused.includes(sortBy) ? 400 : 200,
        ])
    }
  })
})

describe('a search across types', () => {
  it('takes meta.resourceType, which tells users from groups (RFC 7644 §3.4.2.1)', async () => {
    await site.scim.user('of-a-type')
    await site.scim.group('Of A Type')
    const typesFor = async (filter: string): Promise<string[]> => {
      const { body } = await filtered('', filter)
      const types = body.Resources.map((one: { meta: { resourceType: string } }) => one.meta)
      return [...new Set<string>(types.map((meta: { resourceType: string }) => meta.resourceType))]
    }
    expect(await typesFor('meta.resourceType eq "User"')).toEqual(['User'])
    expect(await typesFor('meta.resourceType eq "Group"')).toEqual(['Group'])
    expect(await typesFor('meta.resourceType eq "User" or meta.resourceType eq "Group"')).toEqual([
      'User',
      'Group',
    ])
  })
})

describe('a search across types, by GET and by POST', () => {
  const search = async (asked: Record<string, string | number>) => {
    const text = Object.fromEntries(Object.entries(asked).map(([key, one]) => [key, String(one)]))
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:SearchRequest']
    const answers = [
      await site.scim.send('GET', `?${new URLSearchParams(text)}`),
      await site.scim.send('GET', `/?${new URLSearchParams(text)}`),
      await site.scim.send('POST', '/.search', { schemas, ...asked }),
    ]
    const [first] = answers
    for (const answer of answers) expect(answer.body).toEqual(first?.body)
    return first
  }
  const named = async (asked: Record<string, string | number>): Promise<string[]> => {
    const answer = await search(asked)
    expect(answer?.status, JSON.stringify(answer?.body)).toBe(200)
    return answer?.body.Resources.map(
      (one: { userName?: string; displayName?: string }) => one.userName ?? one.displayName,
    )
  }

  beforeAll(async () => {
    const amy = await site.scim.user('across-amy', { name: { familyName: 'Across' } })
    await site.scim.user('across-bob', { active: false })
    await site.scim.group('Across Staff', { members: [{ value: amy.id }] })
    await site.scim.group('Across Nobody')
  })

  it.each([
    ['userName eq "across-amy" or displayName eq "across staff"', ['across-amy', 'Across Staff']],
    ['displayName eq "across staff" or userName eq "across-amy"', ['across-amy', 'Across Staff']],
    ['userName eq "across-amy" and displayName eq "across staff"', []],
    ['userName eq "across-amy" and displayName ne "across staff"', ['across-amy']],
    [
      'displayName sw "across" and not (userName eq "across-amy")',
      ['Across Nobody', 'Across Staff'],
    ],
    ['userName sw "across" and active ne false', ['across-amy']],
    [
      'active eq false and userName sw "across" or displayName ew "nobody"',
      ['across-bob', 'Across Nobody'],
    ],
    ['(userName pr or displayName pr) and name.familyName eq "across"', ['across-amy']],
    ['displayName sw "across" and userName eq null', ['Across Nobody', 'Across Staff']],
    ['displayName sw "across" and userName ne null', []],
    ['emails[value eq "x@y.example"] or displayName eq "across nobody"', ['Across Nobody']],
    [`${userSchema}:userName eq "across-bob"`, ['across-bob']],
    ['title pr and displayName sw "across"', []],
    [
      `(${enterprise}:department eq "x" or displayName sw "across") and meta.created pr`,
      ['Across Nobody', 'Across Staff'],
    ],
  ])('%s: an attribute of the other type has no value', async (filter, wanted) => {
    expect((await named({ filter })).sort()).toEqual([...wanted].sort())
  })

  it('refuses attributes that no type can be filtered by', async () => {
    for (const filter of [
      'nothing eq "x"',
      'userName eq "across-amy" or password eq "x"',
      'userName eq "across-amy" or members.display eq "x"',
      'userName eq "across-amy" or meta.created gt "soon"',
    ])
      expect((await search({ filter }))?.body, filter).toMatchObject({
        status: '400',
        scimType: 'invalidFilter',
      })
  })

  it('continues its pages from users to groups', async () => {
    const filter = 'userName sw "across" or displayName sw "across"'
    const all = await named({ filter })
    expect(all).toHaveLength(4)
    const pages = [
      await named({ filter, startIndex: 1, count: 1 }),
      await named({ filter, startIndex: 2, count: 2 }),
      await named({ filter, startIndex: 4, count: 2 }),
    ]
    expect(pages.flat()).toEqual(all)
    expect((await search({ filter, count: 0 }))?.body).toMatchObject({
      totalResults: 4,
      Resources: [],
    })
  })

  it('is sorted by an attribute of one type; the others come last, in descending order first', async () => {
    const filter = 'userName sw "across" or displayName sw "across"'
    const users = ['across-amy', 'across-bob']
    const sorted = await named({ filter, sortBy: 'userName' })
    expect(sorted.slice(0, 2)).toEqual(users)
    const turned = await named({ filter, sortBy: 'userName', sortOrder: 'descending' })
    expect(turned.slice(2)).toEqual(users.toReversed())
    for (const sortBy of ['id', 'externalId', 'meta.created', 'displayName', 'nothing'])
      expect((await search({ filter, sortBy }))?.body, sortBy).toMatchObject({
        status: '400',
        scimType: 'invalidPath',
      })
  })
})

describe('discovery', () => {
  it('finds schemas and types by their ids in any case (RFC 8141 §3.1)', async () => {
    for (const path of ['/Schemas', '/ResourceTypes'])
      for (const one of (await site.scim.send('GET', path)).body.Resources)
        for (const id of [one.id.toLowerCase(), one.id.toUpperCase()]) {
          const answer = await site.scim.send('GET', `${path}/${id}`)
          expect([id, answer.status, answer.body]).toEqual([id, 200, one])
        }
  })

  it('refuses a filter with 403 and ignores the parameters of lists (RFC 7644 §4)', async () => {
    for (const path of ['/ServiceProviderConfig', '/Schemas', '/ResourceTypes']) {
      const refused = await site.scim.send('GET', `${path}?filter=id%20pr`)
      expect([path, refused.status, refused.body.status]).toEqual([path, 403, '403'])
      const all = await site.scim.send('GET', path)
      const asked = await site.scim.send('GET', `${path}?sortBy=id&startIndex=2&count=1`)
      expect(asked.body).toEqual(all.body)
    }
  })

  it('describes every attribute in full, and no attribute that is not taken', async () => {
    const { Resources } = (await site.scim.send('GET', '/Schemas')).body
    const { schema, schemaExtensions } = (await site.scim.send('GET', '/ResourceTypes/User')).body
    const ids = Resources.map(({ id }: { id: string }) => id)
    expect(ids).toEqual(
      expect.arrayContaining([
        schema,
        ...schemaExtensions.map((one: typeof Resources) => one.schema),
      ]),
    )
    for (const { attributes } of Resources)
      for (const one of attributes)
        expect(Object.keys(one)).toEqual(
          expect.arrayContaining(['name', 'type', 'multiValued', 'mutability', 'returned']),
        )
  })

  it('says which values are unique, and refuses a second one with 409 uniqueness', async () => {
    const { Resources } = (await site.scim.send('GET', '/Schemas')).body
    const unique = (attributes: readonly Attribute[], path = ''): string[] =>
      attributes.flatMap(({ name, uniqueness, subAttributes = [] }) => [
        ...(uniqueness === 'server' ? [`${path}${name}`] : []),
        ...unique(subAttributes, `${name}.`),
      ])
    expect(Resources.flatMap((one: { attributes: Attribute[] }) => unique(one.attributes))).toEqual(
      ['externalId', 'userName', 'externalId', 'displayName'],
    )
    await site.scim.user('unique', { externalId: 'unique' })
    const inner = await site.scim.group('Unique')
    await site.scim.group('Around', { members: [{ value: inner.id }] })
    const other = await site.scim.group('Other')
    const answers = [
      await site.scim.send('POST', '/Users', { schemas: [userSchema], userName: 'UNIQUE' }),
      await site.scim.send('POST', '/Groups', { schemas: [groupSchema], displayName: 'UNIQUE' }),
      await site.scim.send('POST', '/Users', {
        schemas: [userSchema],
        userName: 'another',
        externalId: 'unique',
      }),
      await site.scim.patch(`/Groups/${other.id}`, {
        op: 'replace',
        path: 'displayName',
        value: 'unique',
      }),
    ]
    for (const { body } of answers)
      expect(body).toMatchObject({ status: '409', scimType: 'uniqueness' })
  })

  it('says in words that the address of the user is unique: other addresses are not', async () => {
    const { attributes } = (await site.scim.send('GET', `/Schemas/${userSchema}`)).body
    const { description } = attributes.find(({ name }: Attribute) => name === 'emails')
    expect(description).toContain('is the address of the user, which no other user has')
    const own = (value: string) => ({ value, type: 'work', primary: true })
    const shared = { value: 'shared@x.example', type: 'other' }
    const post = (userName: string, ...emails: object[]) =>
      site.scim.send('POST', '/Users', { schemas: [userSchema], userName, emails })
    expect((await post('address-1', own('address-1@x.example'), shared)).status).toBe(201)
    expect((await post('address-2', own('address-2@x.example'), shared)).status).toBe(201)
    expect((await post('address-3', own('Address-1@x.example'))).body).toMatchObject({
      status: '409',
      scimType: 'uniqueness',
    })
  })

  it('declares Bulk as unsupported, and answers it with 501', async () => {
    const { bulk } = (await site.scim.send('GET', '/ServiceProviderConfig')).body
    expect(bulk.supported).toBe(false)
    const answer = await site.scim.send('POST', '/Bulk', { Operations: [] })
    expect([answer.status, answer.body.status]).toEqual([501, '501'])
  })

  it('answers an address that is none with 404 in the shape of SCIM', async () => {
    for (const path of ['/users', '/Unknown', '/Unknown/1', '/Users/1/2', '/Schemas/a/b']) {
      const answer = await site.scim.send('GET', path)
      expect(answer.headers['content-type']).toContain('application/scim+json')
      expect([path, answer.status, answer.body.schemas]).toEqual([path, 404, [errorSchema]])
    }
  })
})
