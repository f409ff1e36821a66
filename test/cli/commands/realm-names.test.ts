/** A realm that was moved here with a name that has upper case, "_" and "." (its issuer must stay). */
import { describe, expect, it } from 'vitest'
import { signIn } from '../../support/processes/browserless.ts'
import { newEstate, newRealm } from './fixture/estate.ts'
import { sharedWorld } from './fixture/fixture.ts'

const world = sharedWorld()

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
