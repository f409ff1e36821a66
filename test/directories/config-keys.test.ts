/** Every key of a directory's config that nothing else shows does what its description says. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import { base, secretOf, uuidOf } from './people.ts'
import {
  counts,
  dnOf,
  group,
  groupBase,
  many,
  openSyncWorld,
  type SyncWorld,
} from './sync-world.ts'

describe.each(anyBackend)('the config of a directory', (backend) => {
  let world: SyncWorld
  beforeAll(async () => {
    world = await openSyncWorld(backend)
  })
  afterAll(() => world?.close())
  beforeEach(() => world.next())

  it('names the attributes of users', async () => {
    const name = world.named('odd')
    world.ldap.entries.push({
      dn: `cn=${name},${base}`,
      password: secretOf(name),
      attributes: {
        objectClass: ['account'],
        login: [name],
        address: [`${name}@odd.example`],
        called: ['Odd'],
        family: ['Names'],
        number: [uuidOf(name)],
      },
    })
    const keys = {
      userSearchFilter: '(&(objectClass=account)(login={0}))',
      uidAttribute: 'login',
      emailAttribute: 'address',
      firstNameAttribute: 'called',
      lastNameAttribute: 'family',
      uuidAttribute: 'number',
    }
    const profile = { email: `${name}@odd.example`, firstName: 'Odd', lastName: 'Names' }
    expect((await world.provide(keys)).status).toBe(201)
    expect((await world.site.grant(name, secretOf(name))).status).toBe(200)
    expect(await world.user('odd')).toMatchObject(profile)
    const report = await world.sync()
    expect(counts(report)).toEqual([0, 0, 0, 0])
  })

  it('has the defaults of the interface: uid, mail, givenName, sn, and the filter (uid={0})', async () => {
    world.add('plain')
    await world.provide()
    await world.sync()
    expect(await world.user('plain')).toMatchObject({
      email: `${world.named('plain')}@corp.example`,
      lastName: 'Doe',
    })
    const asked = JSON.stringify(world.ldap.searches)
    for (const name of ['uid', 'mail', 'givenName', 'sn', 'entryUUID'])
      expect(asked).toContain(name)
  })

  it('finds groups by groupFilter and their members by membershipAttribute', async () => {
    world.add('ada')
    const dn = dnOf(world.named('ada'))
    const [team, other] = [world.named('team'), world.named('other')]
    world.ldap.entries.push(
      group(team, [], { uniqueMember: [dn], businessCategory: ['team'] }),
      group(other, [dn], { uniqueMember: [dn] }),
    )
    await world.provide({
      groupSearchBase: groupBase,
      groupFilter: '(businessCategory=team)',
      membershipAttribute: 'uniqueMember',
    })
    await world.sync()
    const { body } = await world.admin('GET', '/groups')
    const named = (cn: string) => body.find((one: { name: string }) => one.name === cn)
    expect(named(team)).toMatchObject({ memberCount: 1 })
    expect(named(other)).toBeUndefined()
  })

  it('stops at maxRemovalPercent, 10 if unset', async () => {
    world.add(...many)
    await world.provide({ maxRemovalPercent: 50 })
    expect(counts(await world.sync())).toEqual([many.length, 0, 0, 0])
    for (const uid of many.slice(0, 12)) world.remove(uid)
    expect(counts(await world.sync('?full=true'))).toEqual([0, 0, 12, 0])
    await world.provide()
    for (const uid of many.slice(12, 18)) world.remove(uid)
    expect((await world.sync('?full=true')).status).not.toBe(200)
  })

  it('stops at 100 removals, whatever maxRemovalPercent allows', async () => {
    const crowd = Array.from({ length: 120 }, (_, i) => `crowd-${i}`)
    world.add(...crowd)
    await world.provide({ maxRemovalPercent: 90 })
    expect(counts(await world.sync())).toEqual([crowd.length, 0, 0, 0])
    for (const uid of crowd.slice(0, 101)) world.remove(uid)
    const stopped = await world.sync()
    expect(stopped.status).toBe(409)
    expect(stopped.body.detail).toContain(
      'would disable 101 and delete 0 of 120 users, and 100 are',
    )
    world.add(crowd[0] ?? '')
    expect(counts(await world.sync())).toEqual([0, 0, 100, 0])
  })
})
