/** Mappers of an identity provider at work in a sign-in, from the claim to the roles of the account. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyBackend } from '../../support/backends.ts'
import { type BrokerWorld, openBrokerWorld } from './broker-world.ts'

describe.each(anyBackend)('a sign-in through a provider with mappers', (backend) => {
  let world: BrokerWorld
  beforeAll(async () => {
    world = await openBrokerWorld(backend)
    await world.provider('corp', { syncMode: 'FORCE' })
    await world.must('POST', '/roles', { name: 'staff' })
    const add = (mapper: object) => world.must('POST', '/identity-providers/corp/mappers', mapper)
    await add({ name: 'staff', type: 'role', claim: 'groups', value: 'staff', role: 'staff' })
    await add({ name: 'dept', type: 'attribute', claim: 'dept', attribute: 'department' })
  })
  afterAll(() => world.close())

  it('gives what the provider says to a new account, and takes back what it withdraws', async () => {
    const person = { sub: 'nora', email: 'nora@there.example', email_verified: true }
    await world.through(world.browser(), { ...person, groups: ['staff'], dept: 'Lamps' })
    const { id } = (await world.userNamed(person.email)) ?? {}
    const first = await world.must('GET', `/users/${String(id)}`)
    expect(first.roles).toContain('staff')
    expect(first.attributes).toMatchObject({ department: ['Lamps'] })
    const again = world.browser()
    await world.through(again, { ...person, given_name: 'Nora' })
    expect(again.isSignedIn('shop')).toBe(true)
    const later = await world.must('GET', `/users/${String(id)}`)
    expect(later.roles).not.toContain('staff')
    expect(later.attributes).not.toHaveProperty('department')
    expect(later.firstName).toBe('Nora')
  })
})
