/** Realms as a command tells them apart: by their names, and one that the server refuses from the others, which are planned and applied. */
import { describe, expect, it } from 'vitest'
import { signIn } from '../../../support/processes/browserless.ts'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const good = (realm: string, role = 'a'): string => `realm: ${realm}\nroles: [{ name: ${role} }]\n`
/** Its list is not in the file: only the server knows that there is no such role. */
const bad = (realm: string): string => `realm: ${realm}\ngroups: [{ name: g, roles: [nowhere] }]\n`

const setUp = () => {
  const realms = [newRealm(), newRealm(), newRealm()] as const
  const [one, two, three] = realms
  const estate = newEstate(world(), {
    'a.yaml': good(one),
    'b.yaml': bad(two),
    'c.yaml': good(three),
  })
  return { ...estate, realms }
}

describe('a realm that the server refuses', () => {
  it('is named by plan, which shows the others', async () => {
    const { run, realms } = setUp()
    const [one, two, three] = realms
    const planned = await run('plan a.yaml b.yaml c.yaml')
    expect(planned.code).toBe(3)
    expect(planned.stdout).toContain(one)
    expect(planned.stdout).toContain(three)
    expect(planned.stderr).toContain(`1 of 3 realms failed`)
    expect(planned.stderr).toContain(`${two}: the server refuses realm ${two}`)
    expect(planned.stderr).toContain('there is no role "nowhere"')
    expect(planned.stderr.match(/not changed|nothing was changed/g)).toEqual(['not changed'])
    const json = await run('plan a.yaml b.yaml c.yaml -o json --out saved.plan')
    expect(json.code).toBe(3)
    expect(JSON.parse(json.stdout).realms).toMatchObject([{ realm: one }, { realm: three }])
    expect(JSON.parse(json.stderr).error.diagnostics).toMatchObject([
      { code: 'missing-reference', place: { file: 'b.yaml', line: 2 } },
    ])
    expect((await run('apply --plan saved.plan')).code).toBe(1)
  })

  it('is named by apply in the same words, which applies the others', async () => {
    const { run, realms, write } = setUp()
    const [one, two, three] = realms
    const applied = await run('apply a.yaml b.yaml c.yaml --auto-approve')
    expect(applied.code).toBe(3)
    expect(applied.stderr).toContain(`1 of 3 realms failed; the others are applied`)
    expect(applied.stderr).toContain(`${two}: the server refuses realm ${two}`)
    expect(applied.stderr).toContain(`realm ${two} was not changed`)
    expect(applied.stderr).not.toContain('nothing was changed')
    for (const [name, status] of [
      [one, 200],
      [two, 404],
      [three, 200],
    ] as const)
      expect((await world().admin.send('GET', `/admin/realms/${name}`)).status).toBe(status)
    // Where something is destroyed the server is asked before: that is no reason to stop either.
    await world().admin.send('POST', '/admin/realms', { realm: two })
    await run('apply b.yaml --auto-approve')
    write({ 'b.yaml': good(two) })
    expect((await run('apply b.yaml --auto-approve')).code).toBe(0)
    write({ 'b.yaml': `realm: ${two}\nroles: []\nsettings: { browserFlow: nowhere }\n` })
    write({ 'a.yaml': good(one, 'other') })
    const again = await run('apply a.yaml b.yaml c.yaml --auto-approve')
    expect(again.code).toBe(3)
    expect(again.stderr).toContain(`${two}: the server refuses realm ${two}`)
    const path = `/admin/realms/${one}/roles/other`
    expect((await world().admin.send('GET', path)).status).toBe(200)
  })
})

describe('two realms that the server refuses', () => {
  it.each(['plan', 'apply --auto-approve'])(
    'are both told by %s, each with its lines',
    async (command) => {
      const realms = [newRealm(), newRealm()] as const
      const { run } = newEstate(world(), { 'a.yaml': bad(realms[0]), 'b.yaml': bad(realms[1]) })
      const { code, stderr } = await run(`${command} a.yaml b.yaml -o json`)
      expect(code).toBe(3)
      const { message, hint, diagnostics } = JSON.parse(stderr).error
      for (const realm of realms) {
        expect(message).toContain(`${realm}: the server refuses realm ${realm}`)
        expect(hint).toContain(`realm ${realm} was not changed`)
      }
      expect(diagnostics).toMatchObject([
        { code: 'missing-reference', place: { file: 'a.yaml', line: 2 } },
        { code: 'missing-reference', place: { file: 'b.yaml', line: 2 } },
      ])
    },
  )
})

describe('more users than a realm can manage', () => {
  const users = (count: number): string =>
    Array.from({ length: count }, (_, i) => `  - { username: u${i} }`).join('\n')

  it('are told by validate, with the limit and what to do', async () => {
    const { run } = newEstate(world(), {
      'realm.yaml': `realm: ${newRealm()}\nusers:\n${users(20_001)}\n`,
    })
    const { code, stdout, stderr } = await run('validate realm.yaml -o json')
    expect(code).toBe(3)
    expect(stdout + stderr).toContain('at most 20000 managed users')
  })

  it('are refused by the server with the reason, also where two estates share the realm', async () => {
    const realm = newRealm()
    const first = newEstate(world(), {
      'iamctl.yaml': 'source: first\n',
      'realm.yaml': `realm: ${realm}\nusers:\n${users(20_000)}\n`,
    })
    const made = await first.run('apply realm.yaml --auto-approve')
    expect(made.code, made.stderr).toBe(0)
    const second = newEstate(world(), {
      'iamctl.yaml': 'source: second\n',
      'realm.yaml': `realm: ${realm}\nusers: [{ username: more }]\n`,
    })
    const refused = await second.run('apply realm.yaml --auto-approve -o json')
    expect(refused.code).toBe(3)
    const { message, diagnostics } = JSON.parse(refused.stderr).error
    expect(message).toContain('at most 20000 managed users')
    expect(diagnostics).toMatchObject([{ code: 'realm-users' }])
  })
})

describe('a realm with upper case in its name', () => {
  it('is applied, exported, planned and signed in to by that name alone', async () => {
    const realm = `My_${newRealm()}.v1`
    const { run } = newEstate(world(), { 'a.yaml': `realm: ${realm}\nroles: [{ name: a }]\n` })
    const applied = await run('apply a.yaml --auto-approve')
    expect(applied.code, applied.stderr).toBe(0)
    expect(applied.stdout + applied.stderr).toContain('realm-name-form')
    expect((await run(`export --realm ${realm} --out exported`)).code).toBe(0)
    const planned = await run('plan exported')
    expect(planned.code, planned.stderr).toBe(0)
    expect(planned.stdout).toContain('No changes')

    const base = `/admin/realms/${realm}`
    const password = 'quite a long password 7'
    await world().admin.send('POST', `${base}/users`, { username: 'alice', enabled: true })
    await world().admin.send('PUT', `${base}/users/alice/password`, { newPassword: password })
    const alice = await signIn(world().server.url, realm, 'alice', password)
    expect((await alice.send('GET', `/realms/${realm}/account/agents`)).status).toBe(200)

    const lower = newEstate(world(), { 'a.yaml': `realm: ${realm.toLowerCase()}\n` })
    const refused = await lower.run('plan a.yaml')
    expect(refused.code).toBe(6)
    expect(refused.stderr).toContain(`differs from "${realm}" in case alone`)
  })
})
