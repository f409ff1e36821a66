/**
 * Comparisons of SCIM filters (RFC 7644 §3.4.2.2) mean the same wherever a filter is evaluated: by the database, by the scan of
 * a search, at the path of a PATCH, and as the scope of a SCIM target.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorld, type World } from '../../scim-out/world.ts'
import { anyBackend } from '../../support/backends.ts'
import { type Sender, senderOf } from '../sender.ts'

const phones = [
  { value: 'ada', display: 'Ärger', primary: true },
  { value: 'bea', display: 'Berg', primary: false },
  { value: 'cid', primary: false },
  { value: 'dot', display: '', primary: false },
]

/** Ada has the text "Ärger", Bea "Berg", Cid none and Dot an empty one. */
const texts: readonly (readonly [string, readonly string[]])[] = [
  ['eq "ÄRGER"', ['ada']],
  ['eq "berg"', ['bea']],
  ['eq ""', []],
  ['eq null', ['cid', 'dot']],
  ['ne "BERG"', ['ada', 'cid', 'dot']],
  ['ne "\\u0000"', ['ada', 'bea', 'cid', 'dot']],
  ['ne ""', ['ada', 'bea', 'cid', 'dot']],
  ['ne null', ['ada', 'bea']],
  ['co "ÄR"', ['ada']],
  ['co ""', ['ada', 'bea']],
  ['co null', []],
  ['sw "b"', ['bea']],
  ['sw ""', ['ada', 'bea']],
  ['ew "ER"', ['ada']],
  ['gt "berg"', ['ada']],
  ['gt null', []],
  ['ge "berg"', ['ada', 'bea']],
  ['ge ""', ['ada', 'bea']],
  ['lt "c"', ['bea']],
  ['lt ""', []],
  ['le "BERG"', ['bea']],
  ['pr', ['ada', 'bea']],
]

/** Ada has the values "a" and "b", Bea "a", and the others none. */
const lists: readonly (readonly [(path: string) => string, readonly string[]])[] = [
  [(path) => `${path} eq "A"`, ['ada', 'bea']],
  [(path) => `${path} eq null`, ['cid', 'dot']],
  [(path) => `${path} ne "a"`, ['ada', 'cid', 'dot']],
  [(path) => `${path} ne "c"`, ['ada', 'bea', 'cid', 'dot']],
  [(path) => `${path} ne null`, ['ada', 'bea']],
  [(path) => `not (${path} eq "a")`, ['cid', 'dot']],
  [(path) => `not (${path} ne "a")`, ['bea']],
  [(path) => `${path} gt "a"`, ['ada']],
  [(path) => `${path} pr`, ['ada', 'bea']],
]

describe.each(anyBackend)('comparisons of SCIM filters on $name', (backend) => {
  let world: World
  let scim: Sender
  let target: string
  let moment: number
  const groups: Record<string, string> = {}
  const users: Record<string, string> = {}

  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await world.send(method, path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return answer.body
  }

  beforeAll(async () => {
    world = await openWorld(backend)
    moment = world.clock.now
    await ok('PUT', '/provisioning', { scimEnabled: true })
    const token = await ok('POST', '/provisioning/scim-tokens', {})
    scim = senderOf(world.server, world.realm, token)
    for (const name of ['a', 'b']) groups[name] = (await ok('POST', '/groups', { name })).groupId
    const hired = [new Date(moment).toISOString()]
    const people = {
      ada: { lastName: 'Ärger', values: ['a', 'b'], enabled: true },
      bea: { lastName: 'Berg', values: ['a'], enabled: false },
      cid: { values: [], enabled: true },
      dot: { lastName: '', values: [], enabled: true },
    }
    for (const [username, { values, enabled, ...more }] of Object.entries(people)) {
      const { lastName: word } = { lastName: undefined, ...more }
      const { userId } = await ok('POST', '/users', {
        username,
        enabled,
        ...more,
        attributes: {
          hired,
          ...(word === undefined ? {} : { word: [word], title: [word] }),
          ...(values.length > 0 ? { tags: values, roles: values } : {}),
        },
      })
      users[username] = userId
      for (const name of values) await ok('PUT', `/groups/${groups[name]}/members/${userId}`)
    }
    target = await world.target({ deprovision: 'delete' })
  })
  afterAll(() => world.close())

  const searched = async (filter: string): Promise<string[]> => {
    const { status, body } = await scim.send('GET', `/Users?${new URLSearchParams({ filter })}`)
    expect(status, `${filter}: ${JSON.stringify(body)}`).toBe(200)
    return body.Resources.map(({ userName }: { userName: string }) => userName).sort()
  }
  /** No column has `schemas`, which everyone has. */
  const scanned = (filter: string) => searched(`(${filter}) and schemas pr`)

  /** Users that the target has; a user who may not sign in is made nowhere. */
  const inScope = async (filter: string): Promise<string[]> => {
    await world.change(target, { filter })
    return [...world.peer.users.values()].map(({ userName }) => userName).sort()
  }

  const removedBy = async (condition: string): Promise<string[]> => {
    const { id } = await scim.user('phones', { phoneNumbers: phones })
    const path = `phoneNumbers[${condition}]`
    const { status, body } = await scim.patch(`/Users/${id}`, { op: 'remove', path })
    expect(status, JSON.stringify(body)).toBe(200)
    await scim.send('DELETE', `/Users/${id}`)
    const left = (body.phoneNumbers ?? []).map(({ value }: { value: string }) => value)
    return phones.map(({ value }) => value).filter((value) => !left.includes(value))
  }

  describe.each(texts)('of a text: %s', (condition, wanted) => {
    it('in a search by the database', async () => {
      expect(await searched(`name.familyName ${condition}`)).toEqual(wanted)
    })
    it('in a search by the scan', async () => {
      expect(await scanned(`name.familyName ${condition}`)).toEqual(wanted)
      expect(await searched(`title ${condition}`)).toEqual(wanted)
    })
    it('at the path of a PATCH', async () => {
      expect(await removedBy(`display ${condition}`)).toEqual(wanted)
    })
  })

  describe.each(lists)('of a list (%#)', (filter, wanted) => {
    it('in a search by the scan', async () => {
      expect(await searched(filter('roles'))).toEqual(wanted)
      expect(await searched(filter('roles.value'))).toEqual(wanted)
      expect(await searched(filter('groups.display'))).toEqual(wanted)
    })
    it('in a search by groups', async () => {
      const byId = filter('groups.value').replace(/"(\w)"/, (_, name: string) =>
        JSON.stringify(groups[name.toLowerCase()]?.toUpperCase() ?? name),
      )
      // Ids have another order than names.
      if (byId.includes(' gt ')) return
      expect(await searched(byId)).toEqual(wanted)
      expect(await scanned(byId)).toEqual(wanted)
    })
  })

  it.each([
    ['eq "True"', ['ada', 'cid', 'dot'], ['ada']],
    ['ne true', ['bea'], ['bea', 'cid', 'dot']],
    ['eq null', [], []],
    ['ne null', ['ada', 'bea', 'cid', 'dot'], ['ada', 'bea', 'cid', 'dot']],
    ['pr', ['ada', 'bea', 'cid', 'dot'], ['ada', 'bea', 'cid', 'dot']],
  ])('of a flag: %s', async (condition, active, primary) => {
    expect(await searched(`active ${condition}`)).toEqual(active)
    expect(await scanned(`active ${condition}`)).toEqual(active)
    expect(await removedBy(`primary ${condition}`)).toEqual(primary)
  })

  const zoned = (ms: number): string =>
    new Date(ms + 7_200_000).toISOString().replace('Z', '+02:00')
  const plain = (ms: number): string => new Date(ms).toISOString().replace('Z', '')
  it.each([
    ['eq', zoned, 0, true],
    ['eq', plain, 0, true],
    ['ne', zoned, 0, false],
    ['ne', zoned, 1, true],
    ['gt', zoned, -1, true],
    ['gt', plain, 0, false],
    ['ge', plain, 0, true],
    ['lt', zoned, 1, true],
    ['le', zoned, -1, false],
  ] as const)('of a time: %s (%#)', async (op, written, distance, holds) => {
    const condition = `${op} "${written(moment + distance)}"`
    const wanted = holds ? ['ada', 'bea', 'cid', 'dot'] : []
    expect(await searched(`meta.created ${condition}`)).toEqual(wanted)
    expect(await scanned(`meta.created ${condition}`)).toEqual(wanted)
    expect(await inScope(`attributes.hired ${condition}`)).toEqual(wanted.filter(isMade))
  })

  const isMade = (name: string): boolean => name !== 'bea'

  it('refuses times that are no dateTime', async () => {
    for (const text of ['3', 'soon', '2026-13-01T00:00:00Z', 'Jan 2026']) {
      const query = new URLSearchParams({ filter: `meta.created gt "${text}"` })
      expect((await scim.send('GET', `/Users?${query}`)).body, text).toMatchObject({
        scimType: 'invalidFilter',
      })
    }
  })

  describe('as the scope of a target', () => {
    beforeAll(() => world.changeUser(users['bea'] ?? '', { enabled: true }))
    it.each(texts)('of a text: %s', async (condition, wanted) => {
      expect(await inScope(`attributes.word ${condition}`)).toEqual(wanted)
      expect(await inScope(`name.familyName ${condition}`)).toEqual(wanted)
    })
    it.each(lists)('of a list (%#)', async (filter, wanted) => {
      expect(await inScope(filter('attributes.tags'))).toEqual(wanted)
      expect(await inScope(filter('groups.display'))).toEqual(wanted)
    })
    it('compares groups by their id or their name', async () => {
      expect(await inScope('groups ne "a"')).toEqual(['ada', 'cid', 'dot'])
      expect(await inScope('not (groups eq "a")')).toEqual(['cid', 'dot'])
      expect(await inScope(`groups eq "${groups['b']}"`)).toEqual(['ada'])
    })
    it('compares the case of identifiers (RFC 7643 §3.1)', async () => {
      const id = users['ada'] ?? ''
      expect(await inScope(`externalId eq "${id}"`)).toEqual(['ada'])
      expect(await inScope(`externalId eq "${id.toUpperCase()}"`)).toEqual([])
    })
  })
})
