/** What `iamctl doctor` is told of a SCIM target: whether it can be reached, and which compatibility fits what it says of itself. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyBackend } from '../support/backends.ts'
import type { Fault } from './scim-peer.ts'
import { openWorld, type World } from './world.ts'

interface Finding {
  readonly status: string
  readonly check: string
  readonly message: string
  readonly hint?: string
}

describe.each(anyBackend)('the check of a SCIM target on $name', (backend) => {
  let world: World

  beforeEach(async () => {
    world = await openWorld(backend)
  })
  afterEach(() => world.close())

  /** By what the target answers about itself. */
  const check = async (compatibility: string, config: Fault | undefined): Promise<Finding[]> => {
    const target = await world.target({ compatibility })
    world.peer.fail(({ path }) => (path === '/ServiceProviderConfig' ? config : undefined))
    world.peer.asked.length = 0
    const { status, body } = await world.send('POST', `/scim-targets/${target}/check`)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(world.peer.writes()).toEqual([])
    return body
  }
  const saying = (config: object): Fault => ({ status: 200, body: config })
  const profileOf = (findings: readonly Finding[]) =>
    findings.find((one) => one.check === 'scim-profile')

  it.each([
    ['default', { patch: { supported: true } }, 'ok', 'compatibility default fits'],
    ['put', { patch: { supported: false } }, 'ok', 'compatibility put fits'],
    ['default', { patch: { supported: false } }, 'warning', 'put fits: the target has no PATCH'],
    ['put', { patch: { supported: true } }, 'warning', 'default fits its address'],
    // A GitLab of one's own, and a proxy before a service, have any address.
    ['gitlab', { patch: { supported: true } }, 'ok', 'compatibility gitlab fits'],
    ['aws', { patch: { supported: true } }, 'ok', 'compatibility aws fits'],
    ['slack', { patch: { supported: false } }, 'warning', 'put fits: the target has no PATCH'],
  ])('of %s that says %j is %s: %s', async (compatibility, config, status, message) => {
    const found = profileOf(await check(compatibility, saying(config)))
    expect(found?.status).toBe(status)
    expect(found?.message).toContain(message)
  })

  it('warns of a target that does not filter', async () => {
    const findings = await check('default', saying({ filter: { supported: false } }))
    const [found] = findings.filter((one) => one.check === 'scim-filter')
    expect(found).toMatchObject({ status: 'warning' })
  })

  it('reports a target without ServiceProviderConfig', async () => {
    const found = profileOf(await check('default', { status: 404 }))
    expect(found).toMatchObject({ status: 'warning' })
    expect(found?.message).toContain('does not say what it can do')
  })
})
