/** `iamctl rollback` with secrets that a rollback cannot restore. */
import { describe, expect, it } from 'vitest'
import { signIn } from '../../../support/processes/browserless.ts'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const password = 'A long first Password 77!'
const env = { TOKEN: 'a token that is sent to the target', FIRST_PASSWORD: password }

const file = (realm: string, host: string, users: string): string => `realm: ${realm}
scimTargets: [{ name: wiki, baseUrl: https://${host}/scim, token: "\${env:TOKEN}" }]
users: [${users}]
`

const ann = `{ username: ann, initialPassword: "\${env:FIRST_PASSWORD}" }`

const setUp = async () => {
  const realm = newRealm()
  const estate = newEstate(world(), { 'realm.yaml': file(realm, 'one.example', ann) }, env)
  expect((await estate.run('apply realm.yaml --auto-approve')).code).toBe(0)
  estate.write({ 'realm.yaml': file(realm, 'two.example', '') })
  expect((await estate.run('apply realm.yaml --auto-approve')).code).toBe(0)
  estate.write({ 'realm.yaml': file(realm, 'one.example', ann) })
  return { realm, ...estate }
}

describe('a rollback', () => {
  it('names what is missing before it starts, and takes it from files', async () => {
    const { realm, run } = await setUp()
    const shown = await run(`rollback 1 --realm ${realm} --plan`)
    expect(shown.code, shown.stderr).toBe(0)
    expect(shown.stderr).toContain('scim-target "wiki" comes back without token')
    expect(shown.stderr).toContain('user "ann" comes back without a password')
    const refused = await run(`rollback 1 --realm ${realm} --auto-approve`)
    expect(refused.code).toBe(3)
    expect(refused.stderr).toContain('--secrets-from')
    const back = await run(`rollback 1 --realm ${realm} --auto-approve --secrets-from realm.yaml`)
    expect(back.code, back.stderr).toBe(0)
    expect(back.stderr).not.toContain('comes back without')
    const planned = await run('plan realm.yaml --detailed-exitcode')
    expect(planned.code, planned.stdout).toBe(0)
    await signIn(world().server.url, realm, 'ann', password)
  })

  it('goes on without secrets on purpose, and drift tells of it afterwards', async () => {
    const { realm, run } = await setUp()
    const back = await run(`rollback 1 --realm ${realm} --auto-approve --drop-secrets`)
    expect(back.code, back.stderr).toBe(0)
    const drift = await run('drift realm.yaml -o json')
    expect(drift.code).toBe(2)
    const [{ changes, warnings }] = JSON.parse(drift.stdout).realms
    expect(changes).toMatchObject([
      { key: 'wiki', secrets: [{ pointer: '/token', change: 'set' }] },
    ])
    expect(warnings).toMatchObject([
      { code: 'without-credentials', documents: [{ kind: 'user', key: 'ann' }] },
    ])
  })
})
