/** Lists are lists and single values are single, in resources and in PATCH (RFC 7643 §2.3.8, §2.4), but for what senders are known to send. */

import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { enterprise, groupSchema, openSite, userSchema } from './sender.ts'

interface Attribute {
  readonly name: string
  readonly type: string
  readonly multiValued: boolean
  readonly mutability: string
}

const site = openSite()
let user: string
let group: string
let lists: readonly { readonly path: string; readonly name: string }[]
let singles: readonly { readonly path: string; readonly name: string }[]

const required = (path: string): object =>
  path.startsWith('/Users')
    ? { schemas: [userSchema], userName: 'shapes' }
    : { schemas: [groupSchema], displayName: 'Shapes' }

beforeAll(async () => {
  user = (await site.scim.user('shapes')).id
  group = (await site.scim.group('Shapes')).id
  const writable = async (type: string, path: string) =>
    (await site.scim.send('GET', `/Schemas/${type}`)).body.attributes
      .filter(({ mutability }: Attribute) => mutability !== 'readOnly')
      .map((one: Attribute) => ({ ...one, path }))
  const all = [
    ...(await writable(userSchema, `/Users/${user}`)),
    ...(await writable(groupSchema, `/Groups/${group}`)),
  ]
  lists = all.filter(({ multiValued }) => multiValued)
  singles = all.filter(({ multiValued }) => !multiValued)
})

/** By POST, by PUT, and by PATCH with and without a path. */
const everyWay = async (path: string, name: string, value: unknown) => {
  const body = { ...required(path), [name]: value }
  return [
    await site.scim.send('POST', path.slice(0, path.lastIndexOf('/')), body),
    await site.scim.send('PUT', path, body),
    await site.scim.patch(path, { op: 'replace', path: name, value }),
    await site.scim.patch(path, { op: 'replace', value: { [name]: value } }),
    await site.scim.patch(path, { op: 'add', value: { [name]: value } }),
  ]
}

const expectRefused = (
  answers: readonly { readonly status: number; readonly body: { readonly scimType?: string } }[],
  what: string,
): void => {
  for (const { status, body } of answers)
    expect([what, status, body.scimType]).toEqual([what, 400, 'invalidValue'])
}

describe('a list', () => {
  it('is no text, no object, no number and no flag, whichever attribute it is', async () => {
    expect(lists.map(({ name }) => name)).toContain('emails')
    expect(lists.map(({ name }) => name)).toContain('members')
    for (const { path, name } of lists)
      for (const value of ['a@b.example', { value: 'a@b.example' }, 7, true])
        expectRefused(await everyWay(path, name, value), `${name}: ${JSON.stringify(value)}`)
    expect((await site.scim.send('GET', `/Users/${user}`)).body).not.toHaveProperty('emails')
  })

  it('has objects as values: no texts, and no lists', async () => {
    for (const { path, name } of lists)
      for (const value of [['a@b.example'], [[{ value: 'a@b.example' }]], [7]])
        expectRefused(await everyWay(path, name, value), `${name}: ${JSON.stringify(value)}`)
  })

  it('has values by a filter that are objects', async () => {
    const path = 'emails[type eq "work"]'
    for (const op of ['add', 'replace'])
      expectRefused(
        [await site.scim.patch(`/Users/${user}`, { op, path, value: 'a@b.example' })],
        op,
      )
  })

  it('may be null or empty, which means no values (RFC 7643 §2.5)', async () => {
    for (const { path, name } of lists)
      for (const value of [null, []])
        for (const { status } of (await everyWay(path, name, value)).slice(1))
          expect([name, value, status]).toEqual([name, value, 200])
  })

  it('takes one value by itself where it is added or removed at its path (RFC 7644 §3.5.2.1)', async () => {
    const { id } = await site.scim.user('shapes-one', { emails: [{ value: 'one@x.example' }] })
    const one = { value: 'two@x.example', type: 'home' }
    const added = await site.scim.patch(`/Users/${id}`, { op: 'add', path: 'emails', value: one })
    expect(added.body.emails).toHaveLength(2)
    const value = { VALUE: 'two@x.example' }
    const removed = await site.scim.patch(`/Users/${id}`, { op: 'remove', path: 'emails', value })
    expect(removed.body.emails).toEqual([{ value: 'one@x.example' }])
  })
})

describe('a removal with values', () => {
  it('removes no member but those that it names, in whatever case', async () => {
    const [a, b] = [await site.scim.user('shapes-a'), await site.scim.user('shapes-b')]
    const { id } = await site.scim.group('Shapes Two', {
      members: [{ value: a.id }, { value: b.id }],
    })
    const remove = (value: unknown) =>
      site.scim.patch(`/Groups/${id}`, { op: 'remove', path: 'members', value })
    for (const value of [{}, [{}], [{ display: 'x' }], 'x', 7])
      expectRefused([await remove(value)], JSON.stringify(value))
    const { body } = await remove({ Value: a.id })
    expect(body.members).toMatchObject([{ value: b.id }])
  })

  it('removes values without a `value` by the parts that it names', async () => {
    const work = { type: 'work', locality: 'Utrecht' }
    const { id } = await site.scim.user('shapes-addresses', {
      addresses: [work, { type: 'home', locality: 'Delft' }],
    })
    const remove = (value: unknown) =>
      site.scim.patch(`/Users/${id}`, { op: 'remove', path: 'addresses', value })
    expectRefused([await remove([{ nothing: 'work' }])], 'nothing')
    const { body } = await remove([{ type: 'home' }])
    expect(body.addresses).toEqual([work])
  })
})

describe('a single value', () => {
  it('is no list, in a resource and in an object without a path', async () => {
    for (const { path, name } of singles)
      for (const value of [['x'], [{ value: 'x' }], [{ givenName: 'x' }]]) {
        const [made, replaced, , ...patched] = await everyWay(path, name, value)
        for (const answer of [made, replaced, ...patched])
          expect([name, answer?.status, answer?.body.scimType]).toEqual([name, 400, 'invalidValue'])
      }
  })

  it('that is required has a value after a PATCH (RFC 7643 §2.2, §2.5)', async () => {
    const { id } = await site.scim.user('shapes-required')
    for (const path of ['active', 'userName'])
      for (const operation of [{ path, value: null }, { value: { [path]: null } }]) {
        const answer = await site.scim.patch(`/Users/${id}`, { op: 'replace', ...operation })
        expect([path, answer.status, answer.body.scimType]).toEqual([path, 400, 'invalidValue'])
      }
  })

  it('may be wrapped at a path, as Entra ID sends it, and a manager be a text', async () => {
    const { id } = await site.scim.user('shapes-entra')
    const answer = await site.scim.patch(
      `/Users/${id}`,
      { op: 'Replace', path: 'title', value: [{ value: 'Engineer' }] },
      { op: 'Replace', path: 'nickName', value: ['Nick'] },
      { op: 'Add', path: `${enterprise}:manager`, value: user },
    )
    expect(answer.body).toMatchObject({
      title: 'Engineer',
      nickName: 'Nick',
      [enterprise]: { manager: { value: user } },
    })
  })
})

describe('a part that is given as none (RFC 7643 §2.5)', () => {
  const work = { value: '+1', type: 'work', display: 'desk' }
  const home = { value: '+2', type: 'home' }
  const name = { givenName: 'Ada', familyName: 'Lovelace' }

  it.each([
    [
      'empties the part alone',
      { path: 'name', value: { givenName: '' } },
      { name: { familyName: 'Lovelace' } },
    ],
    [
      'empties it beside others',
      { value: { name: { givenName: null, familyName: 'King' } } },
      { name: { familyName: 'King' } },
    ],
    [
      'empties it in a list',
      { path: 'phoneNumbers[type eq "work"]', value: { display: null } },
      { phoneNumbers: [{ value: '+1', type: 'work' }, home] },
    ],
    [
      'removes a value of a list',
      { path: 'phoneNumbers[type eq "work"]', value: null },
      { phoneNumbers: [home] },
    ],
    [
      'removes it by its `value`',
      { path: 'phoneNumbers[type eq "work"]', value: { value: '', type: 'work' } },
      { phoneNumbers: [home] },
    ],
    [
      'adds none',
      { op: 'add', path: 'phoneNumbers[type eq "fax"]', value: { value: '' } },
      { phoneNumbers: [work, home] },
    ],
    [
      'makes no value',
      { path: 'addresses[type eq "work"].country', value: '' },
      { addresses: undefined },
    ],
    [
      'makes no address without its `value`',
      { path: 'emails[type eq "work"].display', value: null },
      {},
    ],
    ['finds no value', { path: 'addresses[type eq "work"]', value: { country: null } }, {}],
    ['removes an extension', { path: enterprise, value: null }, { [enterprise]: undefined }],
    [
      'leaves what the server sets',
      { path: `${enterprise}:manager`, value: { displayName: 'x' } },
      { [enterprise]: { manager: { value: 'boss' } } },
    ],
  ])('%s', async (_what, operation, want) => {
    const given = { name, phoneNumbers: [work, home], [enterprise]: { manager: { value: 'boss' } } }
    const { id } = await site.scim.user(`none-${newId()}`, given)
    const answer = await site.scim.patch(`/Users/${id}`, { op: 'replace', ...operation })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const { body } = await site.scim.send('GET', `/Users/${id}`)
    expect(body).toEqual({ ...body, ...given, ...want })
  })
})

it('PATCH without a path accepts attributes below the URN of the core schema', async () => {
  const { id } = await site.scim.user('core-urn', { displayName: 'before', title: 'T' })
  const replace = (value: unknown) => site.scim.patch(`/Users/${id}`, { op: 'replace', value })
  const { status, body } = await replace({
    [userSchema.toUpperCase()]: { displayName: 'after', name: { givenName: 'C' } },
    [enterprise]: { department: 'D' },
  })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    displayName: 'after',
    title: 'T',
    name: { givenName: 'C' },
    [enterprise]: { department: 'D' },
  })
  expect((await replace({ [userSchema]: 'text' })).body).toMatchObject({ scimType: 'invalidValue' })
})

it('POST and PUT accept attributes below the URN of the core schema', async () => {
  const schemas = [userSchema]
  const made = await site.scim.send('POST', '/Users', {
    schemas,
    [userSchema]: { userName: 'below-urn', displayName: 'D' },
  })
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({ userName: 'below-urn', displayName: 'D' })
  const put = await site.scim.send('PUT', `/Users/${made.body.id}`, {
    schemas,
    userName: 'below-urn',
    [userSchema]: { title: 'T' },
  })
  expect(put.body).toMatchObject({ userName: 'below-urn', title: 'T' })
  const twice = { schemas, userName: 'a', [userSchema]: { userName: 'b' } }
  const refused = await site.scim.send('POST', '/Users', twice)
  expect([refused.status, refused.body.scimType]).toEqual([400, 'invalidSyntax'])
})

it.each([
  ['replace', ''],
  ['replace', null],
  ['add', ''],
  ['remove', undefined],
])(
  '%s of the value of an address by %j takes the address away (RFC 7643 §2.5)',
  async (op, value) => {
    const emails = [
      { value: 'work@cleared.example', type: 'work', primary: true },
      { value: 'home@cleared.example', type: 'home' },
    ]
    const { id } = await site.scim.user(`cleared-${op}-${value}`, { emails, title: 'before' })
    const clear = {
      op,
      path: 'emails[type eq "work"].value',
      ...(value === undefined ? {} : { value }),
    }
    const title = { op: 'replace', path: 'title', value: 'after' }
    const answer = await site.scim.patch(`/Users/${id}`, clear, title)
    expect([answer.status, answer.body.title]).toEqual([200, 'after'])
    expect(answer.body.emails).toEqual([expect.objectContaining({ value: 'home@cleared.example' })])
    // It is gone already.
    expect((await site.scim.patch(`/Users/${id}`, clear)).status).toBe(200)
    await site.scim.send('DELETE', `/Users/${id}`)
  },
)

it.each([userSchema, groupSchema])('%s lists externalId among its attributes', async (id) => {
  const { attributes } = (await site.scim.send('GET', `/Schemas/${id}`)).body
  expect(attributes.map(({ name }: Attribute) => name)).toContain('externalId')
})

it('answers have the media type of SCIM, without a charset', async () => {
  for (const path of ['/Users', '/Users/nobody', '/Schemas']) {
    const { headers } = await site.scim.send('GET', path)
    expect(headers['content-type']).toBe('application/scim+json')
  }
})
