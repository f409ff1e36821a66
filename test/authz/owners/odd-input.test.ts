/** Whatever is sent to the APIs of owners, the answer is one of OAuth and never a failure of the server. */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type AuthzSite, openAuthzSite } from '../site.ts'

const policies = '/authz/protection/uma-policy'
const shares = '/authz/protection/permission/ticket'

const text = fc.oneof(
  fc.constantFrom('photo', 'view', 'api', 'bob', 'reader', '/Staff', 'spa', 'true', 'false', '1'),
  fc.constantFrom(
    '\u0000',
    'a\u0000b',
    '\ud800',
    '',
    ' ',
    '..',
    '__proto__',
    'x'.repeat(300),
    '-1',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
)
const odd = fc.oneof(text, fc.constantFrom(null, true, 0, 1e308, [], {}), fc.array(text))

const policy = fc.record(
  {
    name: text,
    description: odd,
    scopes: odd,
    roles: odd,
    groups: odd,
    clients: odd,
    users: odd,
    decisionStrategy: odd,
    logic: odd,
    condition: odd,
    strange: odd,
  },
  { requiredKeys: ['name'] },
)

const share = fc.record(
  { resource: text, requester: odd, scope: odd, granted: odd, id: odd, strange: odd },
  { requiredKeys: [] },
)

const names = ['resource', 'name', 'scope', 'first', 'max', 'resourceId', 'scopeId'] as const
const more = ['owner', 'requester', 'granted', 'returnNames'] as const
const query = fc.dictionary(fc.constantFrom(...names, ...more), text, { maxKeys: 5 })

describe.each(backends)('the APIs of owners on $name', (backend) => {
  let site: AuthzSite
  let pat: string
  beforeAll(async () => {
    site = await openAuthzSite(backend)
    pat = await site.pat()
    await site.register({
      name: 'photo',
      owner: 'alice',
      ownerManagedAccess: true,
      resource_scopes: ['view'],
    })
  })
  afterAll(() => site.close())

  const answered = ({ status }: { status: number }, given: unknown) =>
    expect(status, JSON.stringify(given)).toBeLessThan(500)

  it('answer any policy, at any address', async () => {
    await fc.assert(
      fc.asyncProperty(policy, text, fc.boolean(), async (given, id, isNamed) => {
        const at = `${policies}/${isNamed ? 'photo' : encodeURIComponent(id.toWellFormed())}`
        for (const method of ['POST', 'PUT'])
          answered(await site.json(method, at, pat, given), [method, at, given])
        for (const method of ['GET', 'DELETE'])
          answered(await site.json(method, at, pat), [method, at])
      }),
      { numRuns: 80 },
    )
  })

  it('answer any share', async () => {
    await fc.assert(
      fc.asyncProperty(share, text, async (given, id) => {
        answered(await site.json('POST', shares, pat, given), given)
        answered(await site.json('PUT', shares, pat, given), given)
        const at = `${shares}/${encodeURIComponent(id.toWellFormed())}`
        answered(await site.json('DELETE', at, pat), at)
      }),
      { numRuns: 80 },
    )
  })

  it('answer any search', async () => {
    await fc.assert(
      fc.asyncProperty(query, async (asked) => {
        const text = new URLSearchParams(
          Object.fromEntries(
            Object.entries(asked).map(([name, value]) => [name, value.toWellFormed()]),
          ),
        ).toString()
        for (const path of [policies, shares])
          answered(await site.json('GET', `${path}?${text}`, pat), text)
      }),
      { numRuns: 80 },
    )
  })
})
