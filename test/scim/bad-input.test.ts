/** Whatever is sent, the answer is one of SCIM and never a failure of the server. */

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { errorSchema, groupSchema, openSite, patchSchema, userSchema } from './sender.ts'

const site = openSite()
let user: string
let group: string

beforeAll(async () => {
  user = (await site.scim.user('target')).id
  group = (await site.scim.group('Target')).id
})

describe('a body', () => {
  it.each([
    ['no JSON', '{', 400, 'invalidSyntax'],
    [
      'a name twice',
      `{"schemas":["${userSchema}"],"userName":"a","userName":"b"}`,
      400,
      'invalidSyntax',
    ],
    [
      'a name twice in another case',
      `{"schemas":["${userSchema}"],"userName":"a","USERNAME":"b"}`,
      400,
      'invalidSyntax',
    ],
    [
      '__proto__',
      `{"schemas":["${userSchema}"],"userName":"a","__proto__":{"active":true}}`,
      400,
      'invalidSyntax',
    ],
    ['a list', '[]', 400, 'invalidSyntax'],
    ['nothing', '', 400, 'invalidSyntax'],
    ['no schemas', '{"userName":"a"}', 400, 'invalidSyntax'],
    ['another schema', `{"schemas":["${groupSchema}"],"userName":"a"}`, 400, 'invalidSyntax'],
    ['no userName', `{"schemas":["${userSchema}"]}`, 400, 'invalidValue'],
    ['an empty userName', `{"schemas":["${userSchema}"],"userName":" "}`, 400, 'invalidValue'],
    ['a number as userName', `{"schemas":["${userSchema}"],"userName":7}`, 400, 'invalidValue'],
    ['0 as active', `{"schemas":["${userSchema}"],"userName":"a","active":0}`, 400, 'invalidValue'],
    [
      'a text as name',
      `{"schemas":["${userSchema}"],"userName":"a","name":"A"}`,
      400,
      'invalidValue',
    ],
    [
      'two primary addresses',
      `{"schemas":["${userSchema}"],"userName":"a","emails":[{"value":"a@x.example","primary":true},{"value":"b@x.example","primary":true}]}`,
      400,
      'invalidValue',
    ],
    [
      'an address that is none',
      `{"schemas":["${userSchema}"],"userName":"a","emails":[{"value":"x"}]}`,
      400,
      'invalidValue',
    ],
    [
      'NUL in a text',
      `{"schemas":["${userSchema}"],"userName":"a","title":"\\u0000"}`,
      400,
      'invalidValue',
    ],
    [
      'half a character',
      `{"schemas":["${userSchema}"],"userName":"a","title":"\\ud800"}`,
      400,
      'invalidValue',
    ],
  ])('with %s is refused', async (_name, body, status, scimType) => {
    const answer = await site.scim.send('POST', '/Users', body)
    expect(answer.body).toMatchObject({ schemas: [errorSchema], status: String(status), scimType })
    expect(answer.status).toBe(status)
    expect(answer.headers['content-type']).toContain('application/scim+json')
  })

  it('of another type is refused with 415, one of more than 1 MiB with 413', async () => {
    const body = JSON.stringify({ schemas: [userSchema], userName: 'type' })
    const xml = await site.scim.send('POST', '/Users', body, { 'content-type': 'text/xml' })
    expect([xml.status, xml.body.schemas]).toEqual([415, [errorSchema]])
    const json = await site.scim.send('POST', '/Users', body, {
      'content-type': 'application/json',
    })
    expect(json.status).toBe(201)
    for (const charset of ['iso-8859-1', '"ISO-8859-1"', 'utf-16', 'latin1', 'utf-7'])
      for (const type of ['application/scim+json', 'application/json']) {
        const sent = await site.scim.send('POST', '/Users', body, {
          'content-type': `${type}; charset=${charset}`,
        })
        expect([charset, sent.status, sent.body.schemas]).toEqual([charset, 415, [errorSchema]])
      }
    for (const charset of ['utf-8', 'UTF-8', '"utf-8"', 'utf8']) {
      const userName = `charset-${charset.replaceAll('"', 'q')}`
      const sent = await site.scim.send(
        'POST',
        '/Users',
        { schemas: [userSchema], userName },
        { 'content-type': `application/scim+json;charset=${charset}` },
      )
      expect([charset, sent.status]).toEqual([charset, charset === 'UTF-8' ? 409 : 201])
    }
    const large = JSON.stringify({
      schemas: [userSchema],
      userName: 'a',
      title: 'x'.repeat(1024 * 1024),
    })
    const answer = await site.scim.send('POST', '/Users', large)
    expect([answer.status, answer.body.schemas]).toEqual([413, [errorSchema]])
  })
})

describe('a refused value', () => {
  it('is named as the sender knows it', async () => {
    const send = (more: object) =>
      site.scim.send('POST', '/Users', { schemas: [userSchema], userName: 'named', ...more })
    const emails = [{ value: 'named@acme.example' }]
    await site.scim.user('holder', { emails })
    const cycle = await site.scim.group('Cycle', { members: [{ value: group }] })
    const join = { op: 'add', path: 'members', value: [{ value: cycle.id }] }
    const answers = [
      await send({ userName: 'a b', emails: [{ value: 'none' }] }),
      await send({ emails }),
      await send({ userName: 'HOLDER' }),
      await site.scim.patch(`/Groups/${group}`, join),
    ]
    expect(answers.map(({ body }) => body.detail)).toEqual([
      expect.stringMatching(/^userName: .*; emails: must be an email address$/),
      'emails: another user has it already',
      'userName: another user has it already',
      'members: it would be below itself',
    ])
  })
})

describe('a PATCH', () => {
  it.each([
    [{ op: 'remove' }, 'noTarget'],
    [{ op: 'remove', path: 'userName' }, 'mutability'],
    [{ op: 'remove', path: 'password' }, 'mutability'],
    [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
    [{ op: 'add', path: 'groups', value: [{ value: 'x' }] }, 'mutability'],
    [{ op: 'replace', path: 'meta.version', value: 'x' }, 'mutability'],
    [{ op: 'replace', path: 'nothing', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: 'name.nothing', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: '__proto__', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: 'constructor.prototype', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: 'emails[', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: 'emails[type eq "work"]x', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: 'emails[nothing eq "work"].value', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: "title'; drop table users", value: 'x' }, 'invalidPath'],
    [
      { op: 'replace', path: 'emails[type eq "home"]', value: { value: 'x@x.example' } },
      'noTarget',
    ],
    [{ op: 'replace', path: 'active', value: 'maybe' }, 'invalidValue'],
    [{ op: 'replace', path: 'userName', value: '' }, 'invalidValue'],
    [{ op: 'replace', path: 'title' }, 'invalidValue'],
    [{ op: 'replace', value: 'x' }, 'invalidValue'],
    [{ op: 'move', path: 'title', value: 'x' }, 'invalidSyntax'],
    [{ path: 'title', value: 'x' }, 'invalidSyntax'],
  ])('%j is refused as %s', async (operation, scimType) => {
    const answer = await site.scim.patch(`/Users/${user}`, operation)
    expect([answer.status, answer.body.scimType]).toEqual([400, scimType])
  })

  it('has at most a thousand operations, and at least one', async () => {
    const operation = { op: 'replace', path: 'title', value: 'x' }
    const many = await site.scim.patch(
      `/Users/${user}`,
      ...Array.from({ length: 10_000 }, () => operation),
    )
    expect([many.status, many.body.scimType]).toEqual([400, 'tooMany'])
    expect((await site.scim.patch(`/Users/${user}`)).body.scimType).toBe('invalidSyntax')
    const bare = await site.scim.send('PATCH', `/Users/${user}`, { Operations: [operation] })
    expect(bare.body.scimType).toBe('invalidSyntax')
  })
})

describe('any request', () => {
  const attributes = [
    'userName',
    'name',
    'name.givenName',
    'emails',
    'emails[type eq "work"].value',
    'active',
    'members',
    `members[value eq "x"]`,
    'displayName',
    'externalId',
    'addresses.country',
    'password',
    'roles',
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager',
    'meta',
    'schemas',
    '',
    '[',
    'a[b',
  ]
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, true, 'False', '', 'x', 'a@b.example', 0, -1, 1e308),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(...attributes, 'value', 'type', 'primary', '$ref'),
        tie('any'),
        { maxKeys: 4 },
      ),
    ),
  })).any
  const path = fc.oneof(
    fc.constantFrom(...attributes),
    fc.string({ unit: 'binary', maxLength: 30 }),
  )
  const operation = fc.record(
    { op: fc.constantFrom('add', 'Replace', 'remove', 'x'), path, value },
    { requiredKeys: ['op'] },
  )
  const resource = fc.dictionary(fc.constantFrom(...attributes), value, { maxKeys: 6 })

  it('is answered by SCIM and never with 500', async () => {
    const body = fc.oneof(
      fc
        .array(operation, { maxLength: 4 })
        .map((Operations) => ({ schemas: [patchSchema], Operations })),
      resource.map((fields) => ({
        userName: 'fuzz',
        displayName: 'fuzz',
        ...fields,
        schemas: [userSchema, groupSchema],
      })),
      value,
    )
    const where = fc.constantFrom(
      '/Users',
      '/Groups',
      '/Users/{user}',
      '/Groups/{group}',
      '/.search',
      '/Me',
    )
    const method = fc.constantFrom('POST', 'PUT', 'PATCH')
    await fc.assert(
      fc.asyncProperty(method, where, body, async (verb, at, given) => {
        const url = at.replace('{user}', user).replace('{group}', group)
        const answer = await site.scim.send(verb, url, JSON.stringify(given))
        expect([answer.status, JSON.stringify(given)].join(' ')).not.toMatch(/^50[^1]/)
        if (answer.status >= 400)
          expect(answer.body).toMatchObject({
            schemas: [errorSchema],
            status: String(answer.status),
          })
      }),
      { numRuns: 300 },
    )
  })

  it('by a query of any text is answered too', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom(...attributes),
    )
    const query = fc.record(
      {
        filter: text,
        sortBy: text,
        startIndex: text,
        count: text,
        attributes: text,
        excludedAttributes: text,
        cursor: text,
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('/Users', '/Groups'), query, async (at, asked) => {
        const answer = await site.scim.send(
          'GET',
          `${at}?${new URLSearchParams(asked as Record<string, string>)}`,
        )
        expect([200, 400]).toContain(answer.status)
      }),
      { numRuns: 200 },
    )
  })
})

describe('what is not offered', () => {
  it('answers 501, 404 and 405 as SCIM does', async () => {
    const statusOf = async (method: string, path: string) => {
      const answer = await site.scim.send(method, path)
      expect(answer.body).toMatchObject({ schemas: [errorSchema], status: String(answer.status) })
      return answer.status
    }
    expect(await statusOf('GET', '/Me')).toBe(501)
    expect(await statusOf('PATCH', '/Me')).toBe(501)
    expect(await statusOf('POST', '/Bulk')).toBe(501)
    expect(await statusOf('GET', '/Nothing')).toBe(404)
    expect(await statusOf('OPTIONS', '/Nothing')).toBe(404)
    expect(await statusOf('OPTIONS', '/Me')).toBe(501)
    expect(await statusOf('GET', '/Schemas/urn:nothing')).toBe(404)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      for (const path of ['/Schemas', '/ResourceTypes', '/ServiceProviderConfig'])
        expect(await statusOf(method, path)).toBe(405)
    expect(await statusOf('PUT', '/Users')).toBe(405)
    const allowed: readonly (readonly [string, string, string])[] = [
      ['/Users', 'PUT', 'GET, POST'],
      ['/Users', 'DELETE', 'GET, POST'],
      ['/Groups', 'PATCH', 'GET, POST'],
      ['/Users/x', 'POST', 'DELETE, GET, PATCH, PUT'],
      ['/Schemas/x', 'PUT', 'GET'],
      ['/ServiceProviderConfig', 'POST', 'GET'],
      ['/Users', 'OPTIONS', 'GET, POST'],
      ['/Users', 'TRACE', 'GET, POST'],
      ['/Groups/x', 'OPTIONS', 'DELETE, GET, PATCH, PUT'],
      ['/Schemas', 'OPTIONS', 'GET'],
      ['', 'DELETE', 'GET'],
      ['/.search', 'OPTIONS', 'POST'],
      ...['/.search', '/Users/.search', '/Groups/.search'].flatMap((path) =>
        ['GET', 'PUT', 'PATCH', 'DELETE'].map((method) => [path, method, 'POST'] as const),
      ),
    ]
    for (const [path, method, methods] of allowed) {
      expect([path, method, await statusOf(method, path)]).toEqual([path, method, 405])
      expect((await site.scim.send(method, path)).headers['allow']).toBe(methods)
    }
  })
})

describe('discovery (RFC 7644 §4)', () => {
  it('answers 405 without a token, as it is read without one', async () => {
    const answer = await site.world.server.anonymous.send('PUT', '/realms/acme/scim/v2/Schemas')
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'GET'])
  })

  it('tells what works, without nulls, and every schema and type by its id', async () => {
    const config = await site.scim.send('GET', '/ServiceProviderConfig')
    expect(config.body).toMatchObject({
      patch: { supported: true },
      bulk: { supported: false },
      filter: { supported: true, maxResults: 200 },
      changePassword: { supported: true },
      sort: { supported: true },
      etag: { supported: true },
      authenticationSchemes: [{ type: 'oauthbearertoken' }],
    })
    for (const path of ['/Schemas', '/ResourceTypes']) {
      const { body } = await site.scim.send('GET', path)
      expect(body.totalResults).toBe(body.Resources.length)
      expect(JSON.stringify(body)).not.toContain('null')
      for (const one of body.Resources) {
        const read = await site.scim.send('GET', `${path}/${one.id}`)
        expect(read.body).toEqual(one)
        expect(one.meta.location.endsWith(`${path}/${one.id}`)).toBe(true)
      }
      expect((await site.scim.send('GET', `${path}?filter=name%20pr`)).status).toBe(403)
    }
  })
})
