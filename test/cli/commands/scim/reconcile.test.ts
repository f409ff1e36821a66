/** `iamctl scim reconcile` and `iamctl doctor` with a SCIM target that other software runs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorld, type World } from '../../../scim-out/world.ts'
import { anyBackend } from '../../../support/backends.ts'
import { type Home, newHome } from '../../../support/processes/cli.ts'
import { adminPassword } from '../../../support/server.ts'

const [backend] = anyBackend
if (!backend) throw new Error('no database')

describe('a SCIM target from the terminal', () => {
  let world: World
  let home: Home

  beforeAll(async () => {
    world = await openWorld(backend, { listen: true })
    home = newHome({ IAMCTL_SERVER: world.server.baseUrl, IAMCTL_REALM: world.realm })
    const env = { IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: adminPassword }
    expect(await home.run(['login'], { env })).toMatchObject({ code: 0 })
    await world.addUser('ada')
    await world.addUser('grace')
    world.peer.users.set('r-own', { id: 'r-own', userName: 'stranger', active: true })
    world.peer.users.set('r-ada', {
      id: 'r-ada',
      userName: 'ada',
      active: true,
      displayName: 'ada',
    })
    await world.target({ enabled: false })
  })
  afterAll(async () => {
    home.remove()
    await world.close()
  })

  it('is compared as a plan, and nothing is sent', async () => {
    const shown = await home.run(['scim', 'reconcile', 'chat', '--dry-run'])
    expect(shown.code, shown.stderr).toBe(0)
    expect(shown.stdout).toContain('~ user ada (adopt)')
    expect(shown.stdout).toContain('displayName: "ada" -> "First ada"')
    expect(shown.stdout).toContain('+ user grace (create)')
    expect(shown.stderr).toContain('1 created, 1 adopted, 0 updated, 0 removed')
    expect(shown.stderr).toContain('left alone: 1')
    expect(world.peer.writes()).toEqual([])
  })

  it('that is disabled is sent nothing', async () => {
    const refused = await home.run(['scim', 'reconcile', 'chat'])
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('disabled')
  })

  it('gets the differences, and the command waits for them', async () => {
    const { body } = await world.send('GET', '/scim-targets/chat')
    await world.change(body.id, { enabled: true })
    world.peer.users.delete(world.peer.user('grace')?.id ?? '')
    const done = await home.run(['scim', 'reconcile', 'chat', '-o', 'json'])
    expect(done.code, done.stderr).toBe(0)
    const report = JSON.parse(done.stdout)
    expect(report).toMatchObject({ created: 1, dryRun: false, standing: { lastError: null } })
    expect(world.active()).toEqual(['ada', 'grace', 'stranger'])
  })

  it('shows how far it is, and what failed', async () => {
    const fine = await home.run(['scim', 'status'])
    expect(fine.code, fine.stderr).toBe(0)
    expect(fine.stdout).toMatch(/chat +in step +2 +0 +0 +0/)
    world.peer.fail(({ method }) => (method === 'POST' ? { status: 400, detail: 'no' } : undefined))
    await world.addUser('refused')
    await world.settled()
    const failing = await home.run(['scim', 'status', 'chat'])
    expect(failing.stdout).toMatch(/chat +failing +2 +1 +1/)
    expect(failing.stdout).toContain('! chat: user refused: POST /Users is answered 400: no')
    world.peer.fail(() => undefined)
    const retried = await home.run(['scim', 'reconcile', 'chat'])
    expect(retried.code, retried.stderr).toBe(0)
    expect(world.active()).toContain('refused')
    const missing = await home.run(['scim', 'status', 'none'])
    expect(missing.stderr).toContain('there is no scim-target "none"')
  })

  it('is examined by the doctor, which says which compatibility fits', async () => {
    const told = await home.run(['doctor'])
    expect(told.stdout + told.stderr).toContain('chat: compatibility default fits')
    world.peer.fail(({ path }) => (path === '/Users' ? { status: 401 } : undefined))
    const wrong = await home.run(['doctor'])
    expect(wrong.code).toBe(1)
    expect(wrong.stdout + wrong.stderr).toContain('check token')
    world.peer.fail(() => undefined)
  })

  it('with a guard that refuses ends with exit code 7', async () => {
    for (let i = 0; i < 12; i += 1) await world.addUser(`temp-${i}`)
    await world.settled()
    const { body } = await world.send('GET', '/scim-targets/chat')
    await world.change(body.id, { filter: 'userName eq "ada"' })
    const refused = await home.run(['scim', 'reconcile', 'chat'])
    expect(refused.code, refused.stderr).toBe(7)
    const allowed = await home.run(['scim', 'reconcile', 'chat', '--allow-removals', '14'])
    expect(allowed.code, allowed.stderr).toBe(0)
    expect(world.active()).toEqual(['ada', 'stranger'])
  })
})
