/** Few documents and short forms that ask for much: the answer comes, and is one of the protocol (CWE-400, CWE-770). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { put } from '../../realm/changesets/changeset.ts'
import { anyBackend } from '../../support/backends.ts'
import { type AuthzSite, openAuthzSite } from '../site.ts'

const resources = 1100

describe.each(anyBackend)('large requests to authorization services ($name)', (backend) => {
  let site: AuthzSite

  const apply = async (operations: readonly object[]) => {
    const { body } = await site.admin('GET', '/revisions')
    const { send } = await site.server.signedIn('master', 'admin')
    return send('POST', '/admin/realms/acme/changesets', {
      source: 'test',
      baseRevision: body[0].revision,
      operations,
    })
  }
  const evaluate = async (body: object) => {
    const { send } = await site.server.signedIn('master', 'admin')
    return send('POST', `/admin/realms/acme/clients/${site.api.id}/authz/evaluate`, body)
  }
  const aggregate = (name: string, policies: readonly string[]) =>
    put('authz-policy', `api/${name}`, { name, type: 'aggregate', policies })
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    const { status } = await apply([
      put('authz-scope', 'api/read', { name: 'read' }),
      put('authz-scope', 'api/write', { name: 'write' }),
      put('authz-policy', 'api/ours', { name: 'ours', type: 'client', clients: ['api'] }),
      ...numbers(resources).map((n) =>
        put('authz-resource', `api/r${n}`, {
          name: `r${n}`,
          uris: [`/r/${n}/*`],
          scopes: ['read', 'write'],
        }),
      ),
      put('authz-permission', 'api/reading', {
        name: 'reading',
        type: 'scope',
        scopes: ['read'],
        policies: ['ours'],
      }),
    ])
    expect(status).toBe(200)
  })
  afterAll(() => site.close())

  const ask = (fields: Readonly<Record<string, string>>, permissions: readonly string[] = []) =>
    site.rpt(site.api, [
      ['audience', 'api'],
      ...Object.entries(fields),
      ...permissions.map((one) => ['permission', one]),
    ])

  it('get a decision where the list of permissions would be too long', async () => {
    const decision = { response_mode: 'decision' }
    expect((await ask(decision)).body).toEqual({ result: true })
    expect((await ask(decision, ['#read'])).body).toEqual({ result: true })
    expect((await ask(decision, ['#read', 'r1#write'])).body.error).toBe('request_denied')
    const list = await ask({ response_mode: 'permissions' })
    expect([list.status, list.body.error]).toEqual([400, 'invalid_request'])
    const some = { response_mode: 'permissions', response_permissions_limit: '3' }
    expect((await ask(some)).body).toHaveLength(3)
  })

  it('evaluate a scope once that the form repeats', async () => {
    const words = numbers(150).map((n) => `#${'read,'.repeat(n % 7)}read${','.repeat(n)}`)
    const mode = { response_mode: 'permissions', response_permissions_limit: '1000' }
    const { status, body } = await ask(mode, words)
    expect([status, body.length]).toEqual([200, 1000])
    expect(body[0].scopes).toEqual(['read'])
  })

  it('are refused beyond 200 parameters', async () => {
    const { status, body } = await ask(
      {},
      Array.from({ length: 3000 }, () => 'r1'),
    )
    expect([status, body.error]).toEqual([400, 'invalid_request'])
  })

  it('are not explained where shared aggregates would repeat a million times', async () => {
    const deep = 40
    const level = (n: number) => (n === deep - 1 ? ['ours'] : [`a${n + 1}`, `b${n + 1}`])
    const { status } = await apply([
      ...numbers(deep).flatMap((n) => [aggregate(`a${n}`, level(n)), aggregate(`b${n}`, level(n))]),
      put('authz-permission', 'api/shared', {
        name: 'shared',
        type: 'scope',
        resources: ['r0'],
        scopes: ['write'],
        policies: ['a0'],
      }),
    ])
    expect(status).toBe(200)
    const answer = await evaluate({ clientId: 'api', resources: ['r0'] })
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, '/resources'])
    expect((await evaluate({ clientId: 'api', resources: ['r1'] })).status).toBe(200)
    expect((await ask({ response_mode: 'decision' }, ['r0#write'])).body).toEqual({ result: true })
  })

  it('make one calendar for all policies of a time zone: each takes 33 kB outside of the heap (CWE-770)', async () => {
    const { DateTimeFormat } = Intl
    let made = 0
    const counting = new Proxy(DateTimeFormat, {
      construct: (format, given) => {
        made += 1
        return new format(...given)
      },
    })
    try {
      Intl.DateTimeFormat = counting
      const names = numbers(200).map((n) => `office-hours-${n}`)
      const hours = { type: 'time', hour: 0, hourEnd: 23, timeZone: 'Europe/Amsterdam' }
      const permission = { type: 'scope', resources: ['r3'], scopes: ['write'], policies: names }
      const { status } = await apply([
        ...names.map((name) => put('authz-policy', `api/${name}`, { name, ...hours })),
        put('authz-permission', 'api/hours', { name: 'hours', ...permission }),
      ])
      expect(status).toBe(200)
      const { body } = await ask({ response_mode: 'decision' }, ['r3#write'])
      expect(body).toEqual({ result: true })
    } finally {
      Intl.DateTimeFormat = DateTimeFormat
    }
    expect(made).toBeLessThan(10)
  })

  it('are not explained where the scopes are too many that no permission is about', async () => {
    const scopes = numbers(30).map((n) => `wide-${n}`)
    const { status } = await apply([
      ...scopes.map((name) => put('authz-scope', `api/${name}`, { name })),
      put('authz-resource', 'api/wide', { name: 'wide', scopes }),
    ])
    expect(status).toBe(200)
    const answer = await evaluate({ clientId: 'api', resources: numbers(700).map(() => 'wide') })
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, '/resources'])
  })

  it('cannot be made by aggregates: more than a hundred levels are refused', async () => {
    const chain = (name: string, length: number, last: string) =>
      numbers(length).map((n) =>
        aggregate(`${name}${n}`, [n === length - 1 ? last : `${name}${n + 1}`]),
      )
    const { status, body } = await apply(chain('long', 8000, 'ours'))
    expect([status, body.errors[0].code]).toEqual([400, 'depth'])
    // Each is within the limit; together they are not.
    expect((await apply(chain('low', 80, 'ours'))).status).toBe(200)
    expect((await apply([...chain('high', 19, 'link'), aggregate('link', ['ours'])])).status).toBe(
      200,
    )
    const permission = { name: 'deep', resources: ['r2'], policies: ['high0'] }
    await apply([put('authz-permission', 'api/deep', permission)])
    const link = await site.admin('GET', `/clients/${site.api.id}/authz/policies/link`)
    await site.admin('PUT', `/clients/${site.api.id}/authz/policies/link`, {
      ...link.body,
      policies: ['low0'],
    })
    const { results } = (await evaluate({ clientId: 'api', resources: ['r2'] })).body
    const deepest = results[0].scopes[0].permissions.find(
      (one: { name: string }) => one.name === 'deep',
    )
    expect(deepest.policies[0]).toMatchObject({
      status: 'DENY',
      why: 'the policy contains others more than 100 deep',
    })
  })
})
