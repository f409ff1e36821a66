/** PATCH of the values of a list that a path chooses by a filter (RFC 7644 §3.5.2.1, §3.5.2.3). */

import { describe, expect, it } from 'vitest'
import { openSite } from '../sender.ts'

const site = openSite()

let count = 0
const userWith = async (more: object): Promise<string> => {
  count += 1
  return `/Users/${(await site.scim.user(`chosen-${count}`, more)).id}`
}
const read = async (path: string) => (await site.scim.send('GET', path)).body

describe('a value that a path chooses', () => {
  it('is replaced as a whole, and stays one that the path chooses', async () => {
    const path = await userWith({
      addresses: [
        { type: 'work', streetAddress: 'Old 1', region: 'Old region', primary: true },
        { type: 'home', country: 'NL' },
      ],
      emails: [{ value: 'old@x.example', type: 'work', display: 'Old', primary: true }],
    })
    const operations = [
      {
        op: 'replace',
        path: 'addresses[type eq "work"]',
        value: { type: 'work', streetAddress: 'New 2', locality: 'Utrecht' },
      },
      { op: 'replace', path: 'emails[type eq "work"]', value: { value: 'new@x.example' } },
    ]
    for (let time = 0; time < 2; time += 1) {
      const { status, body } = await site.scim.patch(path, ...operations)
      expect(status).toBe(200)
      expect(body.addresses).toEqual([
        { type: 'work', streetAddress: 'New 2', locality: 'Utrecht' },
        { type: 'home', country: 'NL' },
      ])
      expect(body.emails).toEqual([{ value: 'new@x.example', type: 'work' }])
    }
  })

  it('keeps its other parts where a value is added to it, or one part is replaced', async () => {
    const path = await userWith({ phoneNumbers: [{ value: '1', type: 'work', display: 'One' }] })
    const { body } = await site.scim.patch(
      path,
      { op: 'add', path: 'phoneNumbers[type eq "work"]', value: { primary: true } },
      { op: 'replace', path: 'phoneNumbers[type eq "work"].value', value: '2' },
    )
    expect(body.phoneNumbers).toEqual([{ value: '2', type: 'work', display: 'One', primary: true }])
  })

  it('is not replaced by one without its `value`', async () => {
    const path = await userWith({ phoneNumbers: [{ value: '1', type: 'work' }] })
    const operation = {
      op: 'replace',
      path: 'phoneNumbers[type eq "work"]',
      value: { display: 'x' },
    }
    const { status, body } = await site.scim.patch(path, operation)
    expect([status, body.scimType]).toEqual([400, 'invalidValue'])
    expect(body.detail).toBe('what replaces a value of phoneNumbers needs a "value"')
  })

  it('may get another type than the path chose it by', async () => {
    const path = await userWith({ phoneNumbers: [{ value: '1', type: 'work', display: 'One' }] })
    const value = { value: '2', type: 'home' }
    const operation = { op: 'replace', path: 'phoneNumbers[type eq "work"]', value }
    expect((await site.scim.patch(path, operation)).body.phoneNumbers).toEqual([value])
  })

  it('is the only primary one afterwards', async () => {
    const path = await userWith({
      phoneNumbers: [
        { value: '1', type: 'work', primary: true },
        { value: '2', type: 'home' },
      ],
    })
    const { body } = await site.scim.patch(path, {
      op: 'replace',
      path: 'phoneNumbers[type eq "home"]',
      value: { value: '3', type: 'home', primary: true },
    })
    expect(body.phoneNumbers).toEqual([
      { value: '1', type: 'work', primary: false },
      { value: '3', type: 'home', primary: true },
    ])
  })
})

it('a value that is added as the primary one is, also beside the former one (RFC 7644 §3.5.2)', async () => {
  const path = await userWith({ phoneNumbers: [{ value: '1', type: 'work', primary: true }] })
  const { body } = await site.scim.patch(path, {
    op: 'add',
    path: 'phoneNumbers',
    value: [
      { value: '1', type: 'work', display: 'One' },
      { value: '2', type: 'home', primary: true },
    ],
  })
  expect(body.phoneNumbers).toEqual([
    { value: '1', type: 'work', display: 'One', primary: false },
    { value: '2', type: 'home', primary: true },
  ])
})

it('an address that is added again is one, and primary if either is (RFC 7643 §2.4)', async () => {
  const address = { type: 'work', country: 'NL' }
  const path = await userWith({ addresses: [{ ...address, primary: true }] })
  for (const value of [[address], [{ ...address, primary: true }], [address]]) {
    const { body } = await site.scim.patch(path, { op: 'add', path: 'addresses', value })
    expect(body.addresses).toEqual([{ ...address, primary: true }])
  }
})

describe('a path that no value fits', () => {
  it('makes a value from its parts, in any order, as Entra ID sends them', async () => {
    const path = await userWith({})
    const { status, body } = await site.scim.patch(
      path,
      { op: 'Replace', path: 'phoneNumbers[type eq "mobile"].primary', value: true },
      { op: 'Add', path: 'roles[primary eq "True"].display', value: 'Admins' },
      { op: 'Add', path: 'roles[primary eq "True"].value', value: 'admin' },
      { op: 'Replace', path: 'phoneNumbers[type eq "mobile"].value', value: '06' },
      { op: 'Replace', path: 'addresses[type eq "home"].primary', value: true },
      { op: 'Replace', path: 'addresses[type eq "home"].country', value: 'NL' },
      { op: 'Add', path: 'ims[type eq "xmpp"].value', value: 'gone' },
      { op: 'Remove', path: 'ims[type eq "xmpp"]' },
    )
    expect(status).toBe(200)
    expect(body.phoneNumbers).toEqual([{ type: 'mobile', primary: true, value: '06' }])
    expect(body.roles).toEqual([{ primary: true, display: 'Admins', value: 'admin' }])
    expect(body.addresses).toEqual([{ type: 'home', primary: true, country: 'NL' }])
    expect(body).not.toHaveProperty('ims')
  })

  it.each([
    ['replace', 'emails[type eq "home"].type', 'home', 'noTarget'],
    ['replace', 'emails[type eq "home"].type', 'other', 'noTarget'],
    ['replace', 'phoneNumbers[type eq "mobile"].primary', true, 'noTarget'],
    ['replace', 'phoneNumbers[type eq "mobile"].display', 'x', 'noTarget'],
    ['replace', 'addresses[type eq "home"].primary', true, 'noTarget'],
    ['replace', 'addresses[type eq "home"].type', 'home', 'noTarget'],
    ['replace', 'addresses[type eq "home"]', { country: 'NL' }, 'noTarget'],
    ['add', 'phoneNumbers[type eq "mobile"].primary', true, 'invalidValue'],
    ['add', 'phoneNumbers[type eq "mobile"]', { display: 'x' }, 'invalidValue'],
    ['add', 'phoneNumbers[type ne "work"].value', '06', 'noTarget'],
  ])('refuses to %s %s with %j: no value of the list comes of it', async (op, at, value, type) => {
    const path = await userWith({
      emails: [{ value: `c${count}@x.example`, type: 'work' }],
      addresses: [{ type: 'work', country: 'NL' }],
      phoneNumbers: [{ type: 'work', value: '1' }],
    })
    const before = await read(path)
    const { status, body } = await site.scim.patch(path, { op, path: at, value })
    expect([status, body.scimType]).toEqual([400, type])
    expect(body.detail).toMatch(/ fits the path/)
    expect(await read(path)).toEqual(before)
  })
})
