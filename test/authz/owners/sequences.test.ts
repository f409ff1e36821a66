/**
 * Whatever administrators, owners and the resource server change, and in whatever order: an RPT has the scopes that the policies and
 * shares of this moment permit, and no others, also where its ticket, or the RPT that it upgrades, is of a moment before.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addUser } from '../../oidc/users.ts'
import { anyBackend } from '../../support/backends.ts'
import { amount, randomFrom, seed } from '../../support/run/chance.ts'
import { type AuthzSite, openAuthzSite } from '../site.ts'

const scopes = ['read', 'write', 'remove'] as const
const owners = ['alice', 'carol'] as const
const random = randomFrom(seed)
const oneOf = <Value>(values: readonly Value[]): Value =>
  values[Math.floor(random() * values.length)] as Value
const someOf = <Value>(values: readonly Value[]): Value[] => values.filter(() => random() < 0.7)

/** What the site was told. */
interface Told {
  isReader: boolean
  isStaff: boolean
  isManaged: boolean
  owner: (typeof owners)[number]
  scopes: string[]
  /** The id of the resource; undefined while it is deleted. */
  resource: string | undefined
  /** By scope, with the owner who shared it. */
  readonly shares: Map<string, { readonly id: string; readonly owner: string }>
  readonly policies: Map<
    string,
    { readonly owner: string; readonly scopes: readonly string[]; readonly of: string }
  >
}

const permitted = (told: Told): string[] =>
  told.scopes.filter((scope) => {
    if ((scope === 'read' && told.isReader) || (scope === 'write' && told.isStaff)) return true
    if (!told.isManaged) return false
    const isShared = told.shares.get(scope)?.owner === told.owner
    const isOpened = [...told.policies.values()].some(
      (policy) =>
        policy.owner === told.owner &&
        (policy.scopes.length === 0 || policy.scopes.includes(scope)) &&
        (policy.of !== 'reader' || told.isReader),
    )
    return isShared || isOpened
  })

describe.each(anyBackend)('any sequence of changes', (backend) => {
  let site: AuthzSite
  let pat: string
  let bob: string
  const told: Told = {
    isReader: false,
    isStaff: false,
    isManaged: true,
    owner: 'alice',
    scopes: [...scopes],
    resource: undefined,
    shares: new Map(),
    policies: new Map(),
  }

  const protection = async (method: string, path: string, body?: object) => {
    const answer = await site.json(method, `/authz/protection${path}`, pat, body)
    expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300)
    return answer.body
  }
  const described = () => ({
    name: 'diary',
    type: 'note',
    owner: told.owner,
    ownerManagedAccess: told.isManaged,
    resource_scopes: told.scopes,
  })

  beforeAll(async () => {
    site = await openAuthzSite(backend)
    await addUser(site, { username: 'carol' })
    pat = await site.pat()
    bob = await site.tokenOf(site.spa, site.bob)
    told.resource = (await protection('POST', '/resource_set', described()))._id
    const authz = `/clients/${site.api.id}/authz`
    for (const [path, body] of [
      ['policies', { name: 'readers', type: 'role', roles: ['reader'] }],
      ['policies', { name: 'staff', type: 'group', groups: ['/Staff'] }],
      ['permissions', { name: 'reading', scopes: ['read'], policies: ['readers'] }],
      ['permissions', { name: 'writing', scopes: ['write'], policies: ['staff'] }],
    ] as const) {
      const more = path === 'permissions' ? { type: 'scope', resourceType: 'note' } : {}
      const answer = await site.admin('POST', `${authz}/${path}`, { ...body, ...more })
      expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    }
  })
  afterAll(() => site.close())

  const replace = () => protection('PUT', `/resource_set/${told.resource}`, described())
  const changes: Readonly<Record<string, () => Promise<unknown>>> = {
    role: async () => {
      told.isReader = !told.isReader
      const roles = `/users/${site.bob.id}/roles`
      if (told.isReader) await site.admin('POST', roles, { name: 'reader' })
      else await site.admin('DELETE', `${roles}/reader`)
    },
    group: async () => {
      told.isStaff = !told.isStaff
      const member = `/groups/${encodeURIComponent('/Staff')}/members/${site.bob.id}`
      await site.admin(told.isStaff ? 'PUT' : 'DELETE', member)
    },
    managed: async () => {
      told.isManaged = random() < 0.8
      await replace()
    },
    owner: async () => {
      told.owner = told.owner === 'alice' ? 'carol' : 'alice'
      await replace()
    },
    scopes: async () => {
      told.scopes = someOf(scopes)
      await replace()
    },
    share: async () => {
      const scope = oneOf(told.scopes)
      if (!told.isManaged || scope === undefined) return
      const body = { resource: told.resource, requester: 'bob', scope, granted: true }
      const { id } = await protection('POST', '/permission/ticket', body)
      told.shares.set(scope, { id, owner: told.owner })
    },
    unshare: async () => {
      const [scope, share] = oneOf([...told.shares]) ?? []
      if (!told.isManaged || !scope || share?.owner !== told.owner) return
      await protection('DELETE', `/permission/ticket/${share.id}`)
      told.shares.delete(scope)
    },
    policy: async () => {
      if (!told.isManaged) return
      const of = oneOf(['reader', 'bob'])
      const fields = {
        owner: told.owner,
        scopes: someOf(told.scopes),
        of,
      }
      const parties = of === 'bob' ? { users: [of] } : { roles: [of] }
      const body = { name: `policy ${random()}`, scopes: fields.scopes, ...parties }
      const { id } = await protection('POST', `/uma-policy/${told.resource}`, body)
      told.policies.set(id, fields)
    },
    'no policy': async () => {
      const [id, policy] = oneOf([...told.policies]) ?? []
      if (!told.isManaged || !id || policy?.owner !== told.owner) return
      await protection('DELETE', `/uma-policy/${id}`)
      told.policies.delete(id)
    },
    anew: async () => {
      await protection('DELETE', `/resource_set/${told.resource}`)
      told.shares.clear()
      told.policies.clear()
      told.resource = (await protection('POST', '/resource_set', described()))._id
    },
  }

  /** The scopes of the diary in an answer to an RPT request; none where it is refused. */
  const granted = async (fields: Readonly<Record<string, string>>): Promise<string[]> => {
    const asked = { audience: 'api', submit_request: 'false', ...fields }
    const { status, body } = await site.rpt(bob, { ...asked, response_mode: 'permissions' })
    if (status !== 200) expect([400, 403]).toContain(status)
    if (status !== 200) return []
    for (const one of body) expect(one.rsid).toBe(told.resource)
    return (body as { scopes?: string[] }[]).flatMap((one) => one.scopes ?? []).toSorted()
  }

  it('leaves RPTs with what is permitted now', { timeout: 120_000 }, async () => {
    const done: string[] = []
    // What owners do comes more often than what ends all of it.
    const drawn = [
      ...Object.keys(changes),
      'share',
      'share',
      'policy',
      'owner',
      'owner',
      'scopes',
      'scopes',
    ]
    for (let n = 0; n < amount(60, 150, 300); n += 1) {
      const before = { resource_id: told.resource, resource_scopes: someOf(told.scopes) }
      const ticket = await site.ticket(before)
      const rpt = await site.rpt(bob, { audience: 'api', permission: 'diary' })
      const name = oneOf(drawn)
      await changes[name]?.()
      done.push(name)
      const now = permitted(told).toSorted()
      const why = done.slice(-12).join(', ')
      expect(await granted({ permission: 'diary' }), why).toEqual(now)
      expect(await granted({}), why).toEqual(now)
      const isIn = (scope: string) =>
        before.resource_scopes.length === 0 || before.resource_scopes.includes(scope)
      const isSame = before.resource_id === told.resource
      expect(await granted({ ticket }), why).toEqual(isSame ? now.filter(isIn) : [])
      if (rpt.status !== 200 || told.scopes[0] === undefined) continue
      const upgrade = { permission: `diary#${told.scopes[0]}`, rpt: rpt.body.access_token }
      for (const scope of await granted(upgrade)) expect(now, why).toContain(scope)
    }
    expect(new Set(done)).toEqual(new Set(Object.keys(changes)))
  })
})
