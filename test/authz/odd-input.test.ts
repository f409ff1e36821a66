/** Whatever is sent to the protection API or asked of the token endpoint, the answer is one of UMA and never a failure of the server. */

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { type AuthzSite, openAuthzSite } from './site.ts'

const resources = '/authz/protection/resource_set'
const permissions = '/authz/protection/permission'

const text = fc.oneof(
  fc.constantFrom('photo', 'view', 'api', 'alice', '\u0000', 'a\u0000b', '\ud800', '', ' ', 'a/b'),
  fc.constantFrom('#view', 'photo#view,edit', '#', '..', '__proto__', 'x'.repeat(300), '-1', '1e9'),
  fc.string({ unit: 'binary', maxLength: 20 }),
)
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.constantFrom(null, true, 0, 1e308),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('id', 'name', 'value'), tie('any'), { maxKeys: 3 }),
  ),
})).any
const odd = fc.oneof(text, value)

const resource = fc
  .record(
    {
      type: odd,
      uri: odd,
      uris: fc.oneof(odd, fc.array(text)),
      resource_scopes: fc.oneof(odd, fc.array(text)),
      scopes: odd,
      owner: odd,
      ownerManagedAccess: odd,
      attributes: fc.oneof(odd, fc.dictionary(text, fc.array(text))),
      description: odd,
      strange: odd,
    },
    { requiredKeys: [] },
  )
  .chain((fields) => odd.map((name) => ({ name, ...fields })))

const request = fc.record(
  { resource_id: odd, resource_scopes: fc.oneof(odd, fc.array(text)) },
  { requiredKeys: [] },
)

const form = fc.dictionary(
  fc.constantFrom(
    'ticket',
    'permission',
    'permission_resource_format',
    'permission_resource_matching_uri',
    'audience',
    'rpt',
    'claim_token',
    'claim_token_format',
    'subject_token',
    'scope',
    'submit_request',
    'response_mode',
    'response_permissions_limit',
  ),
  fc.oneof(text, fc.constantFrom('uri', 'true', 'decision', 'permissions')),
  { maxKeys: 5 },
)

describe.each(anyBackend)('authorization services on $name', (backend) => {
  let site: AuthzSite
  let pat: string
  let id: string
  beforeAll(async () => {
    site = await openAuthzSite(backend)
    pat = await site.pat()
    id = await site.register({ name: 'photo', resource_scopes: ['view', 'edit'] }, pat)
  })
  afterAll(() => site.close())

  const answered = (status: number, given: unknown) =>
    expect(status, JSON.stringify(given)).toBeLessThan(500)

  it('answer any description of a resource', async () => {
    await fc.assert(
      fc.asyncProperty(resource, fc.boolean(), async (given, isNew) => {
        const path = isNew ? resources : `${resources}/${id}`
        const { status } = await site.json(isNew ? 'POST' : 'PUT', path, pat, given)
        answered(status, given)
      }),
      { numRuns: 80 },
    )
  })

  it('answer any permission request', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(request, fc.array(request), odd), async (given) => {
        answered((await site.json('POST', permissions, pat, given)).status, given)
      }),
      { numRuns: 60 },
    )
  })

  it('answer any question for an RPT, and any search', async () => {
    await fc.assert(
      fc.asyncProperty(form, fc.boolean(), async (fields, isNamed) => {
        const given = { ...(isNamed ? { audience: 'api' } : {}), ...fields }
        answered((await site.rpt(site.api, given)).status, given)
        const query = new URLSearchParams({
          name: fields['permission'] ?? '',
          uri: fields['ticket'] ?? '',
          matchingUri: 'true',
        })
        answered((await site.json('GET', `${resources}?${query}`, pat)).status, given)
      }),
      { numRuns: 80 },
    )
  })
})
