/** Which attributes a response has: `attributes` and `excludedAttributes` (RFC 7644 §3.9). */

import { describe, expect, it } from 'vitest'
import { enterprise, openSite, userSchema } from '../sender.ts'

const site = openSite()

describe('a response', () => {
  it('takes attributes with their schema, and leaves out what is excluded', async () => {
    const { id } = await site.scim.user('with-urn', {
      title: 'T',
      [enterprise]: { department: 'D', costCenter: 'C' },
    })
    const read = async (query: Record<string, string>) =>
      (await site.scim.send('GET', `/Users/${id}?${new URLSearchParams(query)}`)).body
    const asked = await read({ attributes: `${userSchema}:userName,${enterprise}:department` })
    expect(Object.keys(asked).sort()).toEqual(['id', 'schemas', enterprise, 'userName'].sort())
    expect(asked[enterprise]).toEqual({ department: 'D' })
    const core = await read({ attributes: userSchema.toUpperCase() })
    expect([core.title, core.userName, core[enterprise], core.meta]).toEqual([
      'T',
      'with-urn',
      undefined,
      undefined,
    ])
    const without = await read({ excludedAttributes: userSchema })
    expect(Object.keys(without).sort()).toEqual(['id', 'meta', 'schemas', enterprise].sort())
    const rest = await read({ excludedAttributes: `title,${enterprise}` })
    expect([rest.title, rest[enterprise], rest.userName]).toEqual([
      undefined,
      undefined,
      'with-urn',
    ])
  })

  it('has what is always returned, and never a password, in every form that is asked for', async () => {
    const { id } = await site.scim.user('forms', {
      password: 'Correct-horse-battery-9',
      name: { givenName: 'F', familyName: 'S' },
      emails: [
        { value: 'f@x.example', type: 'work', primary: true },
        { value: 'g@x.example', type: 'home' },
      ],
      [enterprise]: { department: 'D', manager: { value: 'm' } },
    })
    const keys = async (query: string): Promise<string[]> => {
      const { body, headers } = await site.scim.send('GET', `/Users/${id}?${query}`)
      expect(headers['location']).toMatch(new RegExp(`/Users/${id}$`))
      expect(headers['etag']).toMatch(/^W\/"/)
      const { schemas, id: own, ...rest } = body
      expect([schemas[0], own]).toEqual([userSchema, id])
      return Object.entries(rest).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    }
    for (const [query, wanted] of [
      ['attributes=password', []],
      ['attributes=nothing', []],
      ['attributes=ID', []],
      ['attributes=USERNAME', ['userName="forms"']],
      ['attributes=Name.GIVENNAME', ['name={"givenName":"F"}']],
      [`attributes=${userSchema}:name.familyName`, ['name={"familyName":"S"}']],
      ['attributes=emails.type', ['emails=[{"type":"work"},{"type":"home"}]']],
      [`attributes=${enterprise}:manager.value`, [`${enterprise}={"manager":{"value":"m"}}`]],
      [`attributes=${enterprise}:MANAGER`, [`${enterprise}={"manager":{"value":"m"}}`]],
      [
        `excludedAttributes=id,schemas,meta,active,name,emails.value,${enterprise}:manager`,
        [
          'userName="forms"',
          'emails=[{"type":"work","primary":true},{"type":"home"}]',
          `${enterprise}={"department":"D"}`,
        ],
      ],
    ] as const)
      expect((await keys(query)).sort(), query).toEqual([...wanted].sort())
  })

  it('leaves out values without any of the parts that are asked for', async () => {
    const { id } = await site.scim.user('parts', {
      name: { givenName: 'P' },
      emails: [
        { value: 'p@x.example', type: 'work', display: 'Work' },
        { value: 'q@x.example', type: 'home' },
      ],
      entitlements: [{ value: 'e' }],
      [enterprise]: { manager: { value: 'm' } },
    })
    const shown = async (query: string) => {
      const { body } = await site.scim.send('GET', `/Users/${id}?${query}`)
      const { schemas: _, id: _id, ...rest } = body
      return rest
    }
    expect(await shown('attributes=emails.display')).toEqual({ emails: [{ display: 'Work' }] })
    expect(await shown('attributes=emails.primary,name.familyName')).toEqual({})
    const without = await shown(
      `excludedAttributes=entitlements.value,name.givenName,${enterprise}:manager.value`,
    )
    expect(without).not.toHaveProperty('entitlements')
    expect(without).not.toHaveProperty('name')
    expect(Object.keys(without)).not.toContain(enterprise)
  })
})
